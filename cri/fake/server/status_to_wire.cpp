#include <cstdlib>

#include "cri/fake/server/convert.h"

namespace podwright::cri {
namespace {

int64_t nanos_of(WallTime time) {
  return time.time_since_epoch().count();
}

wire::ContainerState to_wire(ContainerState state) {
  switch (state) {
    case ContainerState::kCreated: return wire::CONTAINER_CREATED;
    case ContainerState::kRunning: return wire::CONTAINER_RUNNING;
    case ContainerState::kExited: return wire::CONTAINER_EXITED;
    case ContainerState::kUnknown: return wire::CONTAINER_UNKNOWN;
  }
  std::abort();  // not one of the enumerators: memory is broken
}

wire::PodSandboxState to_wire(SandboxState state) {
  return state == SandboxState::kReady ? wire::SANDBOX_READY : wire::SANDBOX_NOTREADY;
}

template <class Message>
void set_common(const SandboxStatus& from, Message& to) {
  to.set_id(from.id.value);
  to.mutable_metadata()->set_name(from.pod.name);
  to.mutable_metadata()->set_namespace_(from.pod.ns);
  to.mutable_metadata()->set_uid(from.uid.value);
  to.mutable_metadata()->set_attempt(from.attempt);
  to.set_state(to_wire(from.state));
  to.set_created_at(nanos_of(from.created_at));
  for (const auto& [key, value] : from.labels) (*to.mutable_labels())[key] = value;
  for (const auto& [key, value] : from.annotations) (*to.mutable_annotations())[key] = value;
  to.set_runtime_handler(from.runtime_handler);
}

template <class Message>
void set_common(const ContainerStatus& from, Message& to) {
  to.set_id(from.id.value);
  to.mutable_metadata()->set_name(from.name.value);
  to.mutable_metadata()->set_attempt(from.attempt);
  to.set_state(to_wire(from.state));
  to.set_created_at(nanos_of(from.created_at));
  to.mutable_image()->set_image(from.image);
  to.set_image_ref(from.image_ref);
  to.set_image_id(from.image_id);
  for (const auto& [key, value] : from.labels) (*to.mutable_labels())[key] = value;
  for (const auto& [key, value] : from.annotations) (*to.mutable_annotations())[key] = value;
}

}  // namespace

wire::PodSandbox list_item(const SandboxStatus& from) {
  wire::PodSandbox to;
  set_common(from, to);
  return to;
}

wire::PodSandboxStatus status_message(const SandboxStatus& from) {
  wire::PodSandboxStatus to;
  set_common(from, to);
  if (!from.ips.empty()) to.mutable_network()->set_ip(from.ips.front());
  for (std::size_t i = 1; i < from.ips.size(); ++i) to.mutable_network()->add_additional_ips()->set_ip(from.ips[i]);
  auto* options = to.mutable_linux()->mutable_namespaces()->mutable_options();
  options->set_network(from.network == NamespaceMode::kNode ? wire::NODE : wire::POD);
  return to;
}

wire::Container list_item(const ContainerStatus& from) {
  wire::Container to;
  set_common(from, to);
  to.set_pod_sandbox_id(from.sandbox.value);
  return to;
}

wire::ContainerStatus status_message(const ContainerStatus& from) {
  wire::ContainerStatus to;
  set_common(from, to);
  to.set_started_at(nanos_of(from.started_at));
  to.set_finished_at(nanos_of(from.finished_at));
  to.set_exit_code(from.exit_code);
  to.set_reason(from.reason);
  to.set_message(from.message);
  to.set_log_path(from.log_path);
  for (const auto& mount : from.mounts) {
    auto* one = to.add_mounts();
    one->set_container_path(mount.container_path);
    one->set_host_path(mount.host_path);
    one->set_readonly(mount.readonly);
  }
  if (from.resources) *to.mutable_resources()->mutable_linux() = to_wire(*from.resources);
  if (from.user) {
    auto* user = to.mutable_user()->mutable_linux();
    user->set_uid(from.user->uid);
    user->set_gid(from.user->gid);
    for (const int64_t group : from.user->supplemental_groups) user->add_supplemental_groups(group);
  }
  return to;
}

wire::Image image_message(const Image& from) {
  wire::Image to;
  to.set_id(from.id);
  for (const auto& tag : from.repo_tags) to.add_repo_tags(tag);
  for (const auto& digest : from.repo_digests) to.add_repo_digests(digest);
  to.set_size(from.size_bytes);
  if (from.uid) to.mutable_uid()->set_value(*from.uid);
  to.set_username(from.username);
  to.set_pinned(from.pinned);
  return to;
}

wire::StatusResponse status_message(const RuntimeStatus& from) {
  wire::StatusResponse to;
  for (const auto& condition : from.conditions) {
    auto* one = to.mutable_status()->add_conditions();
    one->set_type(condition.type);
    one->set_status(condition.status);
    one->set_reason(condition.reason);
    one->set_message(condition.message);
  }
  for (const auto& handler : from.handlers) {
    auto* one = to.add_runtime_handlers();
    one->set_name(handler.name);
    one->mutable_features()->set_recursive_read_only_mounts(handler.recursive_readonly_mounts);
    one->mutable_features()->set_user_namespaces(handler.user_namespaces);
  }
  to.mutable_features()->set_supplemental_groups_policy(from.supplemental_groups_policy);
  to.mutable_features()->set_user_namespaces_host_network(from.user_namespaces_host_network);
  for (const auto& [key, value] : from.info) (*to.mutable_info())[key] = value;
  return to;
}

std::optional<wire::ContainerEventResponse> event_message(const Event& event) {
  wire::ContainerEventResponse to;
  to.set_container_id(event.id);
  if (event.at) to.set_created_at(nanos_of(*event.at));
  switch (event.kind) {
    case Event::Kind::kCreated: to.set_container_event_type(wire::CONTAINER_CREATED_EVENT); break;
    case Event::Kind::kStarted: to.set_container_event_type(wire::CONTAINER_STARTED_EVENT); break;
    case Event::Kind::kStopped: to.set_container_event_type(wire::CONTAINER_STOPPED_EVENT); break;
    case Event::Kind::kDeleted: to.set_container_event_type(wire::CONTAINER_DELETED_EVENT); break;
    case Event::Kind::kOom:
    case Event::Kind::kResync: return std::nullopt;
  }
  if (event.kind == Event::Kind::kStopped && event.exit_code) {
    auto* status = to.add_containers_statuses();
    status->set_id(event.id);
    status->set_state(wire::CONTAINER_EXITED);
    status->set_exit_code(*event.exit_code);
    if (event.at) status->set_finished_at(nanos_of(*event.at));
  }
  return to;
}

}  // namespace podwright::cri
