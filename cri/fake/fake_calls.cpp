#include "cri/fake/call.h"

namespace podwright::cri {
namespace {

std::string name_of(const SandboxConfig& config) {
  return fmt::format("{}_{}_{}_{}", config.pod.name, config.pod.ns, config.uid, config.attempt);
}

std::string name_of(const ContainerConfig& config, const SandboxConfig& sandbox) {
  return fmt::format("{}_{}_{}_{}_{}", config.name, sandbox.pod.name, sandbox.pod.ns, sandbox.uid, config.attempt);
}

}  // namespace

// ---- the runtime itself ----

Co<absl::StatusOr<Version>> FakeRuntime::version(Instant deadline) {
  using T = absl::StatusOr<Version>;
  return call<T>(call_of(Method::kVersion, ""), deadline, reading<T>(Method::kVersion, [] {
                   return T(Version{"fake", "1.0.0", "v1"});
                 }));
}

Co<absl::StatusOr<RuntimeStatus>> FakeRuntime::status(bool verbose, Instant deadline) {
  using T = absl::StatusOr<RuntimeStatus>;
  const auto look = [this, verbose] {
    RuntimeStatus status;
    status.conditions.push_back({"RuntimeReady", true, "", ""});
    status.conditions.push_back({"NetworkReady", network_ready_, network_ready_ ? "" : "NetworkPluginNotReady",
                                 network_ready_ ? "" : "cni plugin not initialized"});
    status.handlers = options_.handlers;
    status.supplemental_groups_policy = true;
    if (verbose) status.info["config"] = "{}";
    return T(status);
  };
  return call<T>(call_of(Method::kStatus, ""), deadline, reading<T>(Method::kStatus, look));
}

Co<absl::StatusOr<CgroupDriver>> FakeRuntime::cgroup_driver(Instant deadline) {
  using T = absl::StatusOr<CgroupDriver>;
  const auto look = [this] {
    return options_.cgroup_driver ? T(*options_.cgroup_driver)
                                  : T(absl::UnimplementedError("unknown method RuntimeConfig"));
  };
  return call<T>(call_of(Method::kCgroupDriver, ""), deadline, reading<T>(Method::kCgroupDriver, look));
}

// ---- sandboxes ----

Co<absl::StatusOr<SandboxId>> FakeRuntime::run_sandbox(SandboxConfig config, Instant deadline) {
  using T = absl::StatusOr<SandboxId>;
  Call call_record = call_of(Method::kRunSandbox, "");
  call_record.uid = config.uid;
  const Begin<T> begin = [this, config](Answer<T> answer) {
    const std::string name = name_of(config);
    const auto id = world_.reserve(name);
    if (!id.ok()) return answer(T(id.status()));
    later(
        answer.work, takes(Method::kRunSandbox),
        [this, id = *id, name, config, answer] { answer(T(world_.add_sandbox(SandboxId(id), name, config))); },
        [this, name] { world_.release(name); });
  };
  return call<T>(std::move(call_record), deadline, begin);
}

Co<absl::Status> FakeRuntime::stop_sandbox(SandboxId id, Instant deadline) {
  const auto effect = [this, id] {
    world_.stop_sandbox(id);
    return absl::OkStatus();
  };
  return call<absl::Status>(call_of(Method::kStopSandbox, id.value), deadline,
                            acting<absl::Status>(Method::kStopSandbox, effect));
}

Co<absl::Status> FakeRuntime::remove_sandbox(SandboxId id, Instant deadline) {
  const auto effect = [this, id] {
    world_.remove_sandbox(id);
    return absl::OkStatus();
  };
  return call<absl::Status>(call_of(Method::kRemoveSandbox, id.value), deadline,
                            acting<absl::Status>(Method::kRemoveSandbox, effect));
}

Co<absl::StatusOr<SandboxStatus>> FakeRuntime::sandbox_status(SandboxId id, Instant deadline) {
  using T = absl::StatusOr<SandboxStatus>;
  const auto look = [this, id] { return world_.sandbox_status(id); };
  return call<T>(call_of(Method::kSandboxStatus, id.value), deadline, reading<T>(Method::kSandboxStatus, look));
}

Co<absl::StatusOr<std::vector<SandboxStatus>>> FakeRuntime::list_sandboxes(Filter filter, Instant deadline) {
  using T = absl::StatusOr<std::vector<SandboxStatus>>;
  Call call_record = call_of(Method::kListSandboxes, filter.id);
  if (const auto uid = filter.labels.find(kPodUidLabel); uid != filter.labels.end()) {
    call_record.uid = PodUid(uid->second);
  }
  const auto look = [this, filter] { return T(world_.list_sandboxes(filter)); };
  return call<T>(std::move(call_record), deadline, reading<T>(Method::kListSandboxes, look));
}

// ---- containers ----

Co<absl::StatusOr<ContainerId>> FakeRuntime::create_container(SandboxId sandbox, ContainerConfig config,
                                                              SandboxConfig sandbox_config, Instant deadline) {
  using T = absl::StatusOr<ContainerId>;
  Call call_record = call_of(Method::kCreateContainer, sandbox.value);
  call_record.uid = sandbox_config.uid;
  call_record.container = config.name;
  const Begin<T> begin = [this, sandbox, config, sandbox_config](Answer<T> answer) {
    const absl::Status may = world_.may_create(sandbox, config);
    if (!may.ok()) return answer(T(may));
    const std::string name = name_of(config, sandbox_config);
    const auto id = world_.reserve(name);
    if (!id.ok()) return answer(T(id.status()));
    const auto effect = [this, id = ContainerId(*id), name, sandbox, config, sandbox_config, answer] {
      const absl::Status still = world_.may_create(sandbox, config);
      if (!still.ok()) {
        world_.release(name);
        return answer(T(still));
      }
      world_.add_container(id, name, sandbox, config, sandbox_config);
      answer(T(id));
    };
    later(answer.work, takes(Method::kCreateContainer), effect, [this, name] { world_.release(name); });
  };
  return call<T>(std::move(call_record), deadline, begin);
}

Co<absl::Status> FakeRuntime::start_container(ContainerId id, Instant deadline) {
  const auto effect = [this, id] { return world_.start(id); };
  return call<absl::Status>(call_of(Method::kStartContainer, id.value), deadline,
                            acting<absl::Status>(Method::kStartContainer, effect));
}

Co<absl::Status> FakeRuntime::stop_container(ContainerId id, std::chrono::seconds grace, Instant deadline) {
  using T = absl::Status;
  const Begin<T> begin = [this, id, grace](Answer<T> answer) {
    const auto effect = [this, id, grace, answer] {
      // As in containerd, where the KILL after the grace is the call's: without a caller it is not sent.
      const auto wanted = [answer] { return answer.awaited() && !answer.work->dropped; };
      world_.stop(id, grace, wanted, [answer] { answer(absl::OkStatus()); });
    };
    later(answer.work, takes(Method::kStopContainer), effect, [] {});
  };
  return call<T>(call_of(Method::kStopContainer, id.value), deadline, begin);
}

Co<absl::Status> FakeRuntime::remove_container(ContainerId id, Instant deadline) {
  const auto effect = [this, id] {
    world_.remove(id);
    return absl::OkStatus();
  };
  return call<absl::Status>(call_of(Method::kRemoveContainer, id.value), deadline,
                            acting<absl::Status>(Method::kRemoveContainer, effect));
}

Co<absl::StatusOr<ContainerStatus>> FakeRuntime::container_status(ContainerId id, Instant deadline) {
  using T = absl::StatusOr<ContainerStatus>;
  const auto look = [this, id] { return world_.status(id); };
  return call<T>(call_of(Method::kContainerStatus, id.value), deadline, reading<T>(Method::kContainerStatus, look));
}

Co<absl::StatusOr<std::vector<ContainerStatus>>> FakeRuntime::list_containers(Filter filter, Instant deadline) {
  using T = absl::StatusOr<std::vector<ContainerStatus>>;
  Call call_record = call_of(Method::kListContainers, filter.id);
  if (const auto uid = filter.labels.find(kPodUidLabel); uid != filter.labels.end()) {
    call_record.uid = PodUid(uid->second);
  }
  const auto look = [this, filter] { return T(world_.list(filter)); };
  return call<T>(std::move(call_record), deadline, reading<T>(Method::kListContainers, look));
}

Co<absl::Status> FakeRuntime::update_resources(ContainerId id, Resources resources, Instant deadline) {
  const auto effect = [this, id, resources] { return world_.update(id, resources); };
  return call<absl::Status>(call_of(Method::kUpdateResources, id.value), deadline,
                            acting<absl::Status>(Method::kUpdateResources, effect));
}

Co<absl::Status> FakeRuntime::reopen_log(ContainerId id, Instant deadline) {
  const auto effect = [this, id] { return world_.must_run(id); };
  return call<absl::Status>(call_of(Method::kReopenLog, id.value), deadline,
                            acting<absl::Status>(Method::kReopenLog, effect));
}

Co<absl::StatusOr<ExecResult>> FakeRuntime::exec_sync(ContainerId id, std::vector<std::string> command,
                                                      std::chrono::seconds timeout, Instant deadline) {
  using T = absl::StatusOr<ExecResult>;
  const Begin<T> begin = [this, id, command, timeout](Answer<T> answer) {
    const auto effect = [this, id, command, timeout, answer] { world_.exec(id, command, timeout, answer); };
    later(answer.work, takes(Method::kExecSync), effect, [] {});
  };
  return call<T>(call_of(Method::kExecSync, id.value), deadline, begin);
}

// ---- sessions and figures ----

Co<absl::StatusOr<std::string>> FakeRuntime::exec_url(ExecRequest request, Instant deadline) {
  using T = absl::StatusOr<std::string>;
  const auto look = [this, id = request.container] {
    const absl::Status runs = world_.must_run(id);
    return runs.ok() ? T(fmt::format("http://127.0.0.1:1/exec/{}", ++urls_)) : T(runs);
  };
  return call<T>(call_of(Method::kExecUrl, request.container.value), deadline, reading<T>(Method::kExecUrl, look));
}

Co<absl::StatusOr<std::string>> FakeRuntime::attach_url(AttachRequest request, Instant deadline) {
  using T = absl::StatusOr<std::string>;
  const auto look = [this, id = request.container] {
    const absl::Status runs = world_.must_run(id);
    return runs.ok() ? T(fmt::format("http://127.0.0.1:1/attach/{}", ++urls_)) : T(runs);
  };
  return call<T>(call_of(Method::kAttachUrl, request.container.value), deadline, reading<T>(Method::kAttachUrl, look));
}

Co<absl::StatusOr<std::string>> FakeRuntime::port_forward_url(SandboxId sandbox, std::vector<int32_t> ports,
                                                              Instant deadline) {
  using T = absl::StatusOr<std::string>;
  const auto look = [this, sandbox] {
    const auto status = world_.sandbox_status(sandbox);
    if (!status.ok()) return T(status.status());
    if (status->state != SandboxState::kReady) return T(absl::FailedPreconditionError("sandbox is not running"));
    return T(fmt::format("http://127.0.0.1:1/portforward/{}", ++urls_));
  };
  (void)ports;  // the streaming server, which this fake does not have, would open them
  return call<T>(call_of(Method::kPortForwardUrl, sandbox.value), deadline, reading<T>(Method::kPortForwardUrl, look));
}

Co<absl::StatusOr<std::vector<ContainerStats>>> FakeRuntime::list_stats(Filter filter, Instant deadline) {
  using T = absl::StatusOr<std::vector<ContainerStats>>;
  const auto look = [this, filter] { return T(world_.stats(filter)); };
  return call<T>(call_of(Method::kListStats, filter.id), deadline, reading<T>(Method::kListStats, look));
}

// ---- images ----

Co<absl::StatusOr<std::vector<Image>>> FakeRuntime::list(Instant deadline) {
  using T = absl::StatusOr<std::vector<Image>>;
  const auto look = [this] { return T(world_.images()); };
  return call<T>(call_of(Method::kListImages, ""), deadline, reading<T>(Method::kListImages, look));
}

Co<absl::StatusOr<Image>> FakeRuntime::image_status(std::string image, Instant deadline) {
  using T = absl::StatusOr<Image>;
  const auto look = [this, image] {
    const Image* found = world_.find_image(image);
    return found != nullptr ? T(*found) : T(absl::NotFoundError(fmt::format("image \"{}\": not found", image)));
  };
  return call<T>(call_of(Method::kImageStatus, image), deadline, reading<T>(Method::kImageStatus, look));
}

Co<absl::StatusOr<std::string>> FakeRuntime::pull(std::string image, std::optional<Auth> auth,
                                                  SandboxConfig for_sandbox, Instant deadline) {
  using T = absl::StatusOr<std::string>;
  Call call_record = call_of(Method::kPullImage, image);
  call_record.uid = for_sandbox.uid;
  const Begin<T> begin = [this, image, auth](Answer<T> answer) {
    if (auth) {
      auths_[image] = *auth;
    } else {
      auths_.erase(image);
    }
    const auto scripted = world_.image_scripts.find(image);
    const ImageScript script = scripted == world_.image_scripts.end() ? ImageScript() : scripted->second;
    const auto effect = [this, image, answer, error = script.pull_error] {
      if (error) return answer(T(*error));
      const Image& pulled = world_.add_image(image);
      answer(T(pulled.id));
    };
    later(answer.work, script.pull_takes, effect, [] {});
  };
  return call<T>(std::move(call_record), deadline, begin);
}

Co<absl::Status> FakeRuntime::remove(std::string image, Instant deadline) {
  const auto effect = [this, image] {
    world_.remove_image(image);
    return absl::OkStatus();
  };
  return call<absl::Status>(call_of(Method::kRemoveImage, image), deadline,
                            acting<absl::Status>(Method::kRemoveImage, effect));
}

Co<absl::StatusOr<ImageFsInfo>> FakeRuntime::fs_info(Instant deadline) {
  using T = absl::StatusOr<ImageFsInfo>;
  const auto look = [this] {
    FilesystemUsage usage;
    usage.mountpoint = "/var/lib/containerd/io.containerd.snapshotter.v1.overlayfs";
    for (const auto& image : world_.images()) usage.used_bytes += image.size_bytes;
    usage.inodes_used = 100 * world_.images().size();
    return T(ImageFsInfo{{usage}, {}});
  };
  return call<T>(call_of(Method::kImageFsInfo, ""), deadline, reading<T>(Method::kImageFsInfo, look));
}

}  // namespace podwright::cri
