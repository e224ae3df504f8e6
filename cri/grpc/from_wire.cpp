#include "cri/grpc/convert.h"

namespace podwright::cri {
namespace {

WallTime time_of(int64_t nanos) {
  return WallTime(Duration(nanos));
}

Labels labels_of(const google::protobuf::Map<std::string, std::string>& from) {
  return {from.begin(), from.end()};
}

ContainerState from_wire(wire::ContainerState state) {
  switch (state) {
    case wire::CONTAINER_CREATED: return ContainerState::kCreated;
    case wire::CONTAINER_RUNNING: return ContainerState::kRunning;
    case wire::CONTAINER_EXITED: return ContainerState::kExited;
    default: return ContainerState::kUnknown;  // also what a newer runtime may send
  }
}

SandboxState from_wire(wire::PodSandboxState state) {
  return state == wire::SANDBOX_READY ? SandboxState::kReady : SandboxState::kNotReady;
}

Propagation from_wire(wire::MountPropagation propagation) {
  switch (propagation) {
    case wire::PROPAGATION_HOST_TO_CONTAINER: return Propagation::kHostToContainer;
    case wire::PROPAGATION_BIDIRECTIONAL: return Propagation::kBidirectional;
    default: return Propagation::kPrivate;  // also what a newer runtime may send
  }
}

template <class Metadata>
void set_metadata(const Metadata& from, SandboxStatus& to) {
  to.pod = {from.namespace_(), from.name()};
  to.uid = PodUid(from.uid());
  to.attempt = from.attempt();
}

// The annotation is the restart count; it equals the attempt unless the runtime numbers by itself.
ContainerName name_of(const Labels& labels, const std::string& fallback) {
  const auto found = labels.find(kContainerNameLabel);
  return ContainerName(found == labels.end() ? fallback : found->second);
}

}  // namespace

Resources from_wire(const wire::LinuxContainerResources& from) {
  Resources to;
  to.cpu_period_us = from.cpu_period();
  to.cpu_quota_us = from.cpu_quota();
  to.cpu_shares = from.cpu_shares();
  to.memory_bytes = from.memory_limit_in_bytes();
  to.memory_swap_bytes = from.memory_swap_limit_in_bytes();
  to.oom_score_adj = from.oom_score_adj();
  to.cpuset_cpus = from.cpuset_cpus();
  to.cpuset_mems = from.cpuset_mems();
  for (const auto& limit : from.hugepage_limits()) to.hugepages.push_back({limit.page_size(), limit.limit()});
  to.unified = {from.unified().begin(), from.unified().end()};
  return to;
}

SandboxStatus from_wire(const wire::PodSandbox& from) {
  SandboxStatus to;
  to.id = SandboxId(from.id());
  set_metadata(from.metadata(), to);
  to.state = from_wire(from.state());
  to.created_at = time_of(from.created_at());
  to.labels = labels_of(from.labels());
  to.annotations = labels_of(from.annotations());
  to.runtime_handler = from.runtime_handler();
  return to;
}

SandboxStatus from_wire(const wire::PodSandboxStatus& from) {
  SandboxStatus to;
  to.id = SandboxId(from.id());
  set_metadata(from.metadata(), to);
  to.state = from_wire(from.state());
  to.created_at = time_of(from.created_at());
  to.labels = labels_of(from.labels());
  to.annotations = labels_of(from.annotations());
  to.runtime_handler = from.runtime_handler();
  if (!from.network().ip().empty()) to.ips.push_back(from.network().ip());
  for (const auto& ip : from.network().additional_ips()) to.ips.push_back(ip.ip());
  to.network = from.linux().namespaces().options().network() == wire::NODE ? NamespaceMode::kNode : NamespaceMode::kPod;
  return to;
}

ContainerStatus from_wire(const wire::Container& from) {
  ContainerStatus to;
  to.id = ContainerId(from.id());
  to.sandbox = SandboxId(from.pod_sandbox_id());
  to.state = from_wire(from.state());
  to.image = from.image().image();
  to.image_ref = from.image_ref();
  to.image_id = from.image_id();
  to.labels = labels_of(from.labels());
  to.annotations = labels_of(from.annotations());
  to.created_at = time_of(from.created_at());
  to.name = name_of(to.labels, from.metadata().name());
  to.attempt = from.metadata().attempt();
  return to;
}

ContainerStatus from_wire(const wire::ContainerStatus& from) {
  ContainerStatus to;
  to.id = ContainerId(from.id());
  to.state = from_wire(from.state());
  to.image = from.image().image();
  to.image_ref = from.image_ref();
  to.image_id = from.image_id();
  to.labels = labels_of(from.labels());
  to.annotations = labels_of(from.annotations());
  to.created_at = time_of(from.created_at());
  to.name = name_of(to.labels, from.metadata().name());
  to.attempt = from.metadata().attempt();
  if (from.started_at() > 0) to.started_at = time_of(from.started_at());
  if (from.finished_at() > 0) to.finished_at = time_of(from.finished_at());
  to.exit_code = from.exit_code();
  to.reason = from.reason();
  to.message = from.message();
  to.log_path = from.log_path();
  for (const auto& mount : from.mounts()) {
    Mount one;
    one.container_path = mount.container_path();
    one.host_path = mount.host_path();
    one.readonly = mount.readonly();
    one.recursive_readonly = mount.recursive_read_only();
    one.selinux_relabel = mount.selinux_relabel();
    one.propagation = from_wire(mount.propagation());
    one.image = mount.image().image();
    one.image_sub_path = mount.image_sub_path();
    to.mounts.push_back(std::move(one));
  }
  if (from.resources().has_linux()) to.resources = from_wire(from.resources().linux());
  if (from.user().has_linux()) {
    ContainerStatus::User user;
    user.uid = from.user().linux().uid();
    user.gid = from.user().linux().gid();
    for (const int64_t group : from.user().linux().supplemental_groups()) user.supplemental_groups.push_back(group);
    to.user = std::move(user);
  }
  return to;
}

Image from_wire(const wire::Image& from) {
  Image to;
  to.id = from.id();
  to.repo_tags = {from.repo_tags().begin(), from.repo_tags().end()};
  to.repo_digests = {from.repo_digests().begin(), from.repo_digests().end()};
  to.size_bytes = from.size();
  if (from.has_uid()) to.uid = from.uid().value();
  to.username = from.username();
  to.pinned = from.pinned();
  return to;
}

RuntimeStatus from_wire(const wire::StatusResponse& from) {
  RuntimeStatus to;
  for (const auto& condition : from.status().conditions()) {
    to.conditions.push_back({condition.type(), condition.status(), condition.reason(), condition.message()});
  }
  for (const auto& handler : from.runtime_handlers()) {
    to.handlers.push_back(
        {handler.name(), handler.features().recursive_read_only_mounts(), handler.features().user_namespaces()});
  }
  to.supplemental_groups_policy = from.features().supplemental_groups_policy();
  to.user_namespaces_host_network = from.features().user_namespaces_host_network();
  to.info = {from.info().begin(), from.info().end()};
  return to;
}

}  // namespace podwright::cri
