// The start of containers: image, configuration, create, start, postStart (behaviours 9).
#include "agent/containers/seccomp_profile.h"
#include "agent/sync/container_devices.h"
#include "agent/sync/plan_runner.h"
#include "agent/sync/probe_targets.h"
#include "agent/sync/restart.h"
#include "base/limits.h"
#include "base/status/annotate.h"

namespace podwright::sync {

using pods::ContainerKind;
using pods::ContainerRef;
using pods::InstanceState;

namespace {

// How long a container that waits for devices lets pass where no news of devices come.
constexpr std::chrono::seconds kDeviceRetry{2};

// The earlier of two times to try again, of which either may be missing.
void soonest(std::optional<Instant>& a, std::optional<Instant> b) {
  if (b && (!a || *b < *a)) a = b;
}

// Source: the API's FallbackToLogsOnError and File policies need a file of mode 0666 on the host.
std::string termination_message_path(const std::string& pod_dir, const ContainerName& name, Rng& rng) {
  return join_path(join_path(join_path(pod_dir, "containers"), name.value), rng.hex(8));
}

}  // namespace

Co<absl::Status> PlanRunner::start_all(PodContext& pod, const PodPlan& plan, RunOutcome& outcome) {
  absl::Status first;
  for (const auto& step : plan.starts) {
    const absl::Status status = co_await start_one(pod, step, plan, outcome);
    if (co_await is_stopping()) co_return absl::CancelledError("the run was told to go on");
    if (status.ok()) continue;
    if (first.ok()) first = status;
    if (step.container.kind == ContainerKind::kInit) break;
  }
  co_return first;
}

Co<absl::Status> PlanRunner::start_one(PodContext& pod, const StartStep& step, const PodPlan& plan,
                                       RunOutcome& outcome) {
  const ContainerRef& container = step.container;
  if (!step.existing.empty()) {
    const absl::Status status = co_await start_created(pod, container, step.existing);
    if (!status.ok() && !absl::IsCancelled(status)) {
      // A container that cannot be started is of no use: away with it, and the next plan makes a new one.
      (void)co_await remove_containers(pod, {step.existing});
    }
    co_return status;
  }
  const SandboxId sandbox = plan.sandbox.create ? pod.record.sandbox.id : plan.sandbox.use;
  absl::StatusOr<ContainerId> id = co_await create(pod, container, sandbox, outcome);
  if (!id.ok()) co_return id.status();
  if (id->empty()) co_return absl::OkStatus();  // it waits, and the outcome says until when
  co_return co_await start_created(pod, container, *id);
}

Co<absl::StatusOr<cri::ContainerConfig>> PlanRunner::make_config(PodContext& pod, const ContainerRef& container,
                                                                 uint32_t attempt, const images::ImageOutcome& image,
                                                                 devices::ContainerSetup setup) {
  std::vector<std::string> ips = pod.record.pod_ips;
  if (ips.empty() && pod.pod->spec().hostnetwork()) ips = parts_.node.host_ips;
  auto env = containers::resolve_environment(pod.pod, *container.spec, parts_.node, ips, parts_.objects);
  if (!env.ok()) co_return env.status();
  auto mounts = co_await parts_.volumes.mounts_for(pod.pod, container, *env);
  if (!mounts.ok()) co_return mounts.status();

  containers::ContainerInputs inputs;
  inputs.pod = pod.pod;
  inputs.container = container;
  inputs.restart_count = attempt;
  inputs.image_ref = image.ref;
  inputs.image = image.image;
  inputs.pod_ips = ips;
  inputs.env = *std::move(env);
  inputs.volume_mounts = *std::move(mounts);
  inputs.userns_base = pod.record.userns_base;
  add_devices(setup, inputs);
  if (!container.target.empty()) {
    const auto found = pod.record.containers.find(container.target);
    if (found == pod.record.containers.end() || found->second.state != InstanceState::kRunning) {
      co_return make_status(absl::StatusCode::kFailedPrecondition, "unable to find target container {}",
                            container.target);
    }
    inputs.target = found->second.id;
  }
  const std::string pod_dir = parts_.volumes.pod_dir(pod.uid);
  inputs.hosts_path = join_path(pod_dir, "etc-hosts");
  auto host_hosts = parts_.tree.read("/etc/hosts", limits::kHostsFileBytes);
  const std::string hosts =
      containers::make_hosts_file(*pod.pod, parts_.node, ips, host_hosts.ok() ? *host_hosts : std::string());
  if (absl::Status s = parts_.tree.write(inputs.hosts_path, hosts, 0644); !s.ok()) co_return s;
  if (!container.spec->terminationmessagepath().empty()) {
    inputs.termination_message_path = termination_message_path(pod_dir, container.name, parts_.loop.rng());
    if (absl::Status s = parts_.tree.make_directories(parent_path(inputs.termination_message_path), 0750); !s.ok()) {
      co_return s;
    }
    if (absl::Status s = parts_.tree.write(inputs.termination_message_path, "", 0666); !s.ok()) co_return s;
  }
  const std::string log_dir = containers::pod_log_dir(parts_.node, pod.record.key, pod.uid);
  if (absl::Status s = parts_.tree.make_directories(join_path(log_dir, container.name.value), 0755); !s.ok()) {
    co_return s;
  }
  pod.record.containers[container.name].termination_message_path = inputs.termination_message_path;
  auto config = containers::make_container_config(inputs, parts_.node);
  if (config.ok() && config->seccomp && config->seccomp->type == cri::SecurityProfile::Type::kLocalhost) {
    // Checked at every start, since the file may have changed: the runtime never sees a profile that does not compile.
    Tree& tree = parts_.tree;
    const std::string root = parts_.node.seccomp_root;
    const std::string name = config->seccomp->localhost.substr(root.size() + 1);
    const absl::Status sound = co_await offload(
        parts_.loop, parts_.offload, [&tree, root, name] { return containers::check_seccomp_file(tree, root, name); });
    if (!sound.ok()) co_return sound;
  }
  co_return config;
}

Co<absl::StatusOr<std::optional<devices::ContainerSetup>>> PlanRunner::take_devices(PodContext& pod,
                                                                                    const ContainerRef& container,
                                                                                    RunOutcome& outcome) {
  if (parts_.devices == nullptr) co_return devices::ContainerSetup();
  devices::PodNeeds needs = device_needs(pod.uid, pod.pod);
  if (!needs.any()) co_return devices::ContainerSetup();
  auto given = co_await parts_.devices->give(std::move(needs), container.name);
  if (absl::IsCancelled(given.status())) co_return given.status();
  devices::Booking wait;
  if (!given.ok()) {
    wait = {devices::Booking::Answer::kNotYet, "CreateContainerConfigError", text_of(given.status())};
  } else if (given->wait) {
    wait = *given->wait;
  } else {
    // Written with the intent to create the container, so before anything can use the devices.
    pod.record.devices = parts_.devices->shares().held_by(pod.uid);
    co_return std::move(given->setup);
  }
  const auto known = pod.waiting.find(container.name);
  if (known == pod.waiting.end() || known->second.message != wait.message) {
    parts_.events.record(*pod.pod, container.field_path, "Warning", wait.reason, wait.message);
    log_info(pod.flow.subject, "container waits for devices",
             {{"container", container.name}, {"reason", wait.reason}, {"error", wait.message}});
  }
  wait_reason(pod, container.name, wait.reason, wait.message);
  soonest(outcome.retry_at, after(parts_.loop.now(), kDeviceRetry));
  co_return std::nullopt;
}

Co<absl::StatusOr<ContainerId>> PlanRunner::create(PodContext& pod, const ContainerRef& container, SandboxId sandbox,
                                                   RunOutcome& outcome) {
  auto sandbox_config = containers::make_sandbox_config(pod.pod, pod.record.sandbox.attempt, parts_.node,
                                                        parts_.cgroups.cri_parent(*pod.pod), pod.record.userns_base);
  if (!sandbox_config.ok()) co_return sandbox_config.status();

  auto image = co_await parts_.images.ensure(pod.pod, container, sandbox_config->config, std::nullopt);
  if (!image.ok()) co_return annotate(image.status(), "get the image of container {}", container.name);
  if (image->wait) {
    wait_reason(pod, container.name, image->wait->reason, image->wait->message);
    soonest(outcome.retry_at, image->wait->retry_at);
    co_return ContainerId();
  }

  auto setup = co_await take_devices(pod, container, outcome);
  if (!setup.ok()) co_return setup.status();
  if (!*setup) co_return ContainerId();

  auto& rec = pod.record.containers[container.name];
  uint32_t attempt = rec.attempt + 1;
  if (rec.state == InstanceState::kCreating) {
    // Nothing came of the last try, so that it counts for no restart.
    attempt = rec.attempt;
  } else if (rec.state == InstanceState::kNone && rec.id.empty() && !rec.exit) {
    attempt = 0;
    // The count survives the loss of every record in the names of the log files.
    const auto logs = parts_.tree.list(
        join_path(containers::pod_log_dir(parts_.node, pod.record.key, pod.uid), container.name.value));
    if (logs.ok()) attempt = containers::restart_count_from_logs(*logs);
  }
  auto config = co_await make_config(pod, container, attempt, *image, **std::move(setup));
  if (!config.ok()) {
    if (absl::IsCancelled(config.status())) co_return config.status();
    wait_reason(pod, container.name, "CreateContainerConfigError", text_of(config.status()));
    parts_.events.record(*pod.pod, container.field_path, "Warning", "Failed",
                         fmt::format("Error: {}", text_of(config.status())));
    co_return annotate(config.status(), "configure container {}", container.name);
  }

  const Instant deadline = after(parts_.loop.now(), parts_.options.runtime_request_timeout);
  auto lease = co_await parts_.governor.acquire(StartGovernor::Rank::kFinishing, deadline);
  if (!lease.ok()) co_return lease.status();

  // The intent, with the promise never to start it a second time where its policy says so: one joint record.
  {
    auto& intent = pod.record.containers[container.name];
    if (intent.exit && !(intent.last_exit && intent.last_exit->container == intent.exit->container)) {
      intent.last_exit = intent.exit;
    }
    if (intent.exit) {
      intent.backoff = next_backoff(intent.backoff, backoff_key(container), intent.exit->learnt_at, parts_.loop.now(),
                                    parts_.options.backoff);
    }
    const std::string message_path = intent.termination_message_path;
    intent.exit.reset();
    intent.state = InstanceState::kCreating;
    intent.id = ContainerId();
    intent.sandbox = sandbox;
    intent.attempt = attempt;
    intent.image_ref = image->ref;
    intent.hash = pods::container_hash(*container.spec);
    intent.started = false;
    intent.ready = false;
    intent.post_start_done = false;
    intent.started_at = WallTime();
    intent.running_since = Instant();
    intent.probes.clear();
    intent.termination_message_path = message_path;
    const bool always = always_restarts(*pod.pod, container);
    const bool first = !always && !intent.start_once;
    if (!always) intent.start_once = true;
    const auto durability = first ? table::Durability::kPowerSafe : table::Durability::kCrashSafe;
    if (absl::Status kept = co_await commit(pod, durability); !kept.ok()) co_return kept;
  }

  Step step(parts_.steps, pod.flow, StepKind::kCreate, fmt::format("container {} attempt {}", container.name, attempt),
            deadline);
  absl::StatusOr<ContainerId> id = co_await parts_.strays.carry(
      pod.uid, "CreateContainer", parts_.runtime.create_container(sandbox, *config, sandbox_config->config, deadline));
  step.end(id.status());
  if (!id.ok()) {
    if (absl::IsCancelled(id.status())) co_return id.status();
    // An earlier try holds the name; where it does not show up it stays reserved, so the next try is another one.
    if (absl::IsAlreadyExists(id.status())) pod.record.containers[container.name].attempt = attempt + 1;
    wait_reason(pod, container.name, "CreateContainerError", text_of(id.status()));
    parts_.events.record(*pod.pod, container.field_path, "Warning", "Failed",
                         fmt::format("Error: {}", text_of(id.status())));
    co_return annotate(id.status(), "create container {}", container.name);
  }
  auto& made = pod.record.containers[container.name];
  made.id = *id;
  made.state = InstanceState::kCreated;
  parts_.events.record(*pod.pod, container.field_path, "Normal", "Created", "Container created");
  co_return *id;
}

Co<absl::Status> PlanRunner::start_created(PodContext& pod, const ContainerRef& container, ContainerId id) {
  const Instant deadline = after(parts_.loop.now(), parts_.options.runtime_request_timeout);
  auto lease = co_await parts_.governor.acquire(StartGovernor::Rank::kFinishing, deadline);
  if (!lease.ok()) co_return lease.status();
  {
    auto& rec = pod.record.containers[container.name];
    rec.id = id;
    rec.state = InstanceState::kStarting;
    if (absl::Status kept = co_await commit(pod, table::Durability::kCrashSafe); !kept.ok()) co_return kept;
  }
  Step step(parts_.steps, pod.flow, StepKind::kStart, fmt::format("container {}", container.name), deadline);
  absl::Status status =
      co_await parts_.strays.carry(pod.uid, "StartContainer", parts_.runtime.start_container(id, deadline));
  step.end(status);
  *lease = StartGovernor::Lease();
  if (!status.ok()) {
    if (absl::IsCancelled(status)) co_return status;
    wait_reason(pod, container.name, "RunContainerError", text_of(status));
    parts_.events.record(*pod.pod, container.field_path, "Warning", "Failed",
                         fmt::format("Error: {}", text_of(status)));
    co_return annotate(status, "start container {}", container.name);
  }
  parts_.cache.believe_started(pod.uid, id);
  pod.waiting.erase(container.name);
  {
    auto& rec = pod.record.containers[container.name];
    if (rec.id == id) {
      rec.running_since = parts_.loop.now();
      rec.started_at = parts_.loop.clock().wall();
      rec.started = !container.spec->has_startupprobe();
      const bool has_hook = container.spec->lifecycle().has_poststart();
      if (!has_hook) {
        rec.state = InstanceState::kRunning;
        rec.post_start_done = true;
      }
    }
  }
  parts_.events.record(*pod.pod, container.field_path, "Normal", "Started", "Container started");
  log_info(pod.flow.subject, "container started", {{"container", container.name}, {"container_id", short_id(id)}});
  const std::string link = containers::container_log_link(parts_.node, pod.record.key, container.name, id);
  const std::string log =
      join_path(containers::pod_log_dir(parts_.node, pod.record.key, pod.uid),
                containers::container_log_path(container.name, pod.record.containers[container.name].attempt));
  if (absl::Status linked = parts_.tree.make_symlink(log, link); !linked.ok() && !absl::IsAlreadyExists(linked)) {
    log_warning(pod.flow.subject, "could not link the log file", {{"path", link}, {"error", text_of(linked)}});
  }
  if (container.spec->lifecycle().has_poststart()) co_return co_await post_start(pod, container, id);
  parts_.table.put(pod.record);
  co_return absl::OkStatus();
}

Co<absl::Status> PlanRunner::post_start(PodContext& pod, const ContainerRef& container, ContainerId id) {
  const Instant deadline =
      parts_.options.post_start_limit ? after(parts_.loop.now(), *parts_.options.post_start_limit) : Instant::max();
  const auto action = hook_action(container.spec->lifecycle().poststart(), container);
  absl::Status status = action.status();
  std::string message = "PostStartHook failed";
  if (action.ok()) {
    Step step(parts_.steps, pod.flow, StepKind::kHook, fmt::format("postStart of {}", container.name), deadline);
    const probes::HookOutcome outcome =
        co_await parts_.hooks.run(probe_target(pod, container, id, parts_.node), *action, deadline);
    step.end(outcome.status);
    status = outcome.status;
    note_fallback(pod, container, outcome);
  }
  auto& rec = pod.record.containers[container.name];
  if (rec.id != id) co_return absl::OkStatus();
  if (absl::IsCancelled(status)) co_return status;
  rec.state = InstanceState::kRunning;
  rec.post_start_done = true;
  parts_.table.put(pod.record);
  if (status.ok()) co_return status;
  parts_.events.record(*pod.pod, container.field_path, "Warning", "FailedPostStartHook", message);
  const std::chrono::seconds grace(pod.pod->spec().terminationgraceperiodseconds());
  (void)co_await kill_container(pod, container, id, "FailedPostStartHook", grace, after(parts_.loop.now(), grace));
  wait_reason(pod, container.name, "PostStartHookError", text_of(status));
  co_return annotate(status, "postStart of container {}", container.name);
}

}  // namespace podwright::sync
