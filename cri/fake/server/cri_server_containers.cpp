#include "cri/fake/server/cri_server.h"
#include "cri/grpc/convert.h"

namespace podwright::cri {
namespace {

template <class Response>
absl::StatusOr<Response> url_answer(const absl::StatusOr<std::string>& url) {
  if (!url.ok()) return url.status();
  Response response;
  response.set_url(*url);
  return response;
}

template <class From>
Filter filter_of(const From& from) {
  Filter filter;
  filter.id = from.id();
  filter.sandbox = SandboxId(from.pod_sandbox_id());
  filter.labels = {from.label_selector().begin(), from.label_selector().end()};
  return filter;
}

}  // namespace

void CriServer::add_container_services(rpc::Services& to) {
  add(to, "CreateContainer", &CriServer::create);
  add(to, "StartContainer", &CriServer::start);
  add(to, "StopContainer", &CriServer::stop);
  add(to, "RemoveContainer", &CriServer::remove);
  add(to, "ContainerStatus", &CriServer::container_status);
  add(to, "ListContainers", &CriServer::list_containers);
  add(to, "UpdateContainerResources", &CriServer::update);
  add(to, "ReopenContainerLog", &CriServer::reopen);
  add(to, "ExecSync", &CriServer::exec_sync);
  add(to, "Exec", &CriServer::exec);
  add(to, "Attach", &CriServer::attach);
  add(to, "PortForward", &CriServer::port_forward);
  add(to, "ListContainerStats", &CriServer::list_stats);
}

Co<absl::StatusOr<wire::CreateContainerResponse>> CriServer::create(wire::CreateContainerRequest request) {
  const SandboxId sandbox(request.pod_sandbox_id());
  ContainerConfig config = config_from_wire(request.config());
  SandboxConfig sandbox_config = config_from_wire(request.sandbox_config(), "");
  const auto id =
      co_await runtime_.create_container(sandbox, std::move(config), std::move(sandbox_config), Instant::max());
  if (!id.ok()) co_return id.status();
  wire::CreateContainerResponse response;
  response.set_container_id(id->value);
  co_return response;
}

Co<absl::StatusOr<wire::StartContainerResponse>> CriServer::start(wire::StartContainerRequest request) {
  const ContainerId id(request.container_id());
  co_return answer<wire::StartContainerResponse>(co_await runtime_.start_container(id, Instant::max()));
}

Co<absl::StatusOr<wire::StopContainerResponse>> CriServer::stop(wire::StopContainerRequest request) {
  const ContainerId id(request.container_id());
  const std::chrono::seconds grace(request.timeout());
  co_return answer<wire::StopContainerResponse>(co_await runtime_.stop_container(id, grace, Instant::max()));
}

Co<absl::StatusOr<wire::RemoveContainerResponse>> CriServer::remove(wire::RemoveContainerRequest request) {
  const ContainerId id(request.container_id());
  co_return answer<wire::RemoveContainerResponse>(co_await runtime_.remove_container(id, Instant::max()));
}

Co<absl::StatusOr<wire::ContainerStatusResponse>> CriServer::container_status(wire::ContainerStatusRequest request) {
  const ContainerId id(request.container_id());
  const auto status = co_await runtime_.container_status(id, Instant::max());
  if (!status.ok()) co_return status.status();
  wire::ContainerStatusResponse response;
  *response.mutable_status() = status_message(*status);
  co_return response;
}

Co<absl::StatusOr<wire::ListContainersResponse>> CriServer::list_containers(wire::ListContainersRequest request) {
  const auto all = co_await runtime_.list_containers(filter_of(request.filter()), Instant::max());
  if (!all.ok()) co_return all.status();
  wire::ListContainersResponse response;
  for (const auto& one : *all) {
    wire::Container item = list_item(one);
    const bool matches = !request.filter().has_state() || request.filter().state().state() == item.state();
    if (matches) *response.add_containers() = std::move(item);
  }
  co_return response;
}

Co<absl::StatusOr<wire::UpdateContainerResourcesResponse>> CriServer::update(
    wire::UpdateContainerResourcesRequest request) {
  const ContainerId id(request.container_id());
  Resources resources = from_wire(request.linux());
  co_return answer<wire::UpdateContainerResourcesResponse>(
      co_await runtime_.update_resources(id, std::move(resources), Instant::max()));
}

Co<absl::StatusOr<wire::ReopenContainerLogResponse>> CriServer::reopen(wire::ReopenContainerLogRequest request) {
  const ContainerId id(request.container_id());
  co_return answer<wire::ReopenContainerLogResponse>(co_await runtime_.reopen_log(id, Instant::max()));
}

Co<absl::StatusOr<wire::ExecSyncResponse>> CriServer::exec_sync(wire::ExecSyncRequest request) {
  const ContainerId id(request.container_id());
  std::vector<std::string> command(request.cmd().begin(), request.cmd().end());
  const std::chrono::seconds timeout(request.timeout());
  const auto result = co_await runtime_.exec_sync(id, std::move(command), timeout, Instant::max());
  if (!result.ok()) co_return result.status();
  wire::ExecSyncResponse response;
  response.set_stdout(result->stdout_bytes);
  response.set_stderr(result->stderr_bytes);
  response.set_exit_code(result->exit_code);
  co_return response;
}

Co<absl::StatusOr<wire::ExecResponse>> CriServer::exec(wire::ExecRequest request) {
  ExecRequest to{ContainerId(request.container_id()),
                 {request.cmd().begin(), request.cmd().end()},
                 request.tty(),
                 request.stdin(),
                 request.stdout(),
                 request.stderr()};
  co_return url_answer<wire::ExecResponse>(co_await runtime_.exec_url(std::move(to), Instant::max()));
}

Co<absl::StatusOr<wire::AttachResponse>> CriServer::attach(wire::AttachRequest request) {
  AttachRequest to{ContainerId(request.container_id()), request.tty(), request.stdin(), request.stdout(),
                   request.stderr()};
  co_return url_answer<wire::AttachResponse>(co_await runtime_.attach_url(std::move(to), Instant::max()));
}

Co<absl::StatusOr<wire::PortForwardResponse>> CriServer::port_forward(wire::PortForwardRequest request) {
  const SandboxId sandbox(request.pod_sandbox_id());
  std::vector<int32_t> ports(request.port().begin(), request.port().end());
  co_return url_answer<wire::PortForwardResponse>(
      co_await runtime_.port_forward_url(sandbox, std::move(ports), Instant::max()));
}

Co<absl::StatusOr<wire::ListContainerStatsResponse>> CriServer::list_stats(wire::ListContainerStatsRequest request) {
  const auto all = co_await runtime_.list_stats(filter_of(request.filter()), Instant::max());
  if (!all.ok()) co_return all.status();
  wire::ListContainerStatsResponse response;
  for (const auto& one : *all) {
    auto* to = response.add_stats();
    to->mutable_attributes()->set_id(one.id.value);
    to->mutable_attributes()->mutable_metadata()->set_name(one.name.value);
    for (const auto& [key, value] : one.labels) (*to->mutable_attributes()->mutable_labels())[key] = value;
    to->mutable_cpu()->mutable_usage_core_nano_seconds()->set_value(one.cpu_usage_core_ns);
    to->mutable_memory()->mutable_working_set_bytes()->set_value(one.memory_working_set_bytes);
    to->mutable_writable_layer()->mutable_used_bytes()->set_value(one.writable_layer_bytes);
    to->mutable_writable_layer()->mutable_inodes_used()->set_value(one.writable_layer_inodes);
  }
  co_return response;
}

}  // namespace podwright::cri
