#include "cri/grpc/grpc_runtime.h"

#include <algorithm>

#include "base/limits.h"
#include "base/status/annotate.h"
#include "cri/classify.h"
#include "cri/grpc/convert.h"

namespace podwright::cri {
namespace {

#define PODWRIGHT_CRI_METHOD(name) "/runtime.v1.RuntimeService/" name

std::string cut(const std::string& bytes) {
  return bytes.substr(0, limits::kExecOutputBytes);
}

absl::Status gone_is_ok(const absl::Status& status) {
  return absl::IsNotFound(status) ? absl::OkStatus() : status;
}

}  // namespace

GrpcRuntime::GrpcRuntime(Loop& loop, rpc::Channel& channel, GrpcOptions options)
    : channel_(channel),
      reads_(loop, options.reads),
      writes_(loop, options.writes),
      stops_(loop, options.stops),
      execs_(loop, options.execs),
      stats_(loop, options.stats) {}

template <class Response, class Request>
Co<absl::StatusOr<Response>> GrpcRuntime::call(Slots& kind, const char* method, Request request, Instant deadline,
                                               rpc::CallOptions options) {
  auto slot = co_await kind.acquire(deadline);
  if (!slot.ok()) co_return slot.status();
  absl::StatusOr<Response> answer =
      co_await channel_.unary<Response>(method, std::move(request), deadline, std::move(options));
  if (!answer.ok()) co_return classify(answer.status());
  co_return answer;
}

Co<absl::StatusOr<Version>> GrpcRuntime::ask_version(rpc::CallOptions options, Instant deadline) {
  wire::VersionRequest request;
  // The version of the contract of this call alone, which has stood still since the first.
  request.set_version("0.1.0");
  auto answer = co_await call<wire::VersionResponse>(reads_, PODWRIGHT_CRI_METHOD("Version"), request, deadline,
                                                     std::move(options));
  if (!answer.ok()) co_return answer.status();
  co_return Version{answer->runtime_name(), answer->runtime_version(), answer->runtime_api_version()};
}

Co<absl::StatusOr<Version>> GrpcRuntime::version(Instant deadline) {
  co_return co_await ask_version({}, deadline);
}

Co<absl::StatusOr<Version>> GrpcRuntime::connect(Instant deadline) {
  rpc::CallOptions patient;
  patient.wait_for_ready = true;
  absl::StatusOr<Version> version = co_await ask_version(std::move(patient), deadline);
  if (absl::IsUnimplemented(version.status())) {
    co_return absl::FailedPreconditionError(
        fmt::format("the runtime at {} does not speak CRI v1: is its CRI plugin disabled", channel_.target()));
  }
  co_return version;
}

Co<absl::StatusOr<RuntimeStatus>> GrpcRuntime::status(bool verbose, Instant deadline) {
  wire::StatusRequest request;
  request.set_verbose(verbose);
  auto answer = co_await call<wire::StatusResponse>(reads_, PODWRIGHT_CRI_METHOD("Status"), request, deadline);
  if (!answer.ok()) co_return answer.status();
  co_return from_wire(*answer);
}

Co<absl::StatusOr<CgroupDriver>> GrpcRuntime::cgroup_driver(Instant deadline) {
  auto answer = co_await call<wire::RuntimeConfigResponse>(reads_, PODWRIGHT_CRI_METHOD("RuntimeConfig"),
                                                           wire::RuntimeConfigRequest(), deadline);
  if (!answer.ok()) co_return answer.status();
  if (!answer->has_linux()) co_return absl::UnimplementedError("the runtime does not name its cgroup driver");
  co_return answer->linux().cgroup_driver() == wire::SYSTEMD ? CgroupDriver::kSystemd : CgroupDriver::kCgroupfs;
}

Co<absl::StatusOr<SandboxId>> GrpcRuntime::run_sandbox(SandboxConfig config, Instant deadline) {
  wire::RunPodSandboxRequest request;
  *request.mutable_config() = to_wire(config);
  request.set_runtime_handler(config.runtime_handler);
  auto answer =
      co_await call<wire::RunPodSandboxResponse>(writes_, PODWRIGHT_CRI_METHOD("RunPodSandbox"), request, deadline);
  if (!answer.ok()) co_return answer.status();
  if (answer->pod_sandbox_id().empty()) co_return absl::InternalError("the runtime gave an empty sandbox ID");
  co_return SandboxId(answer->pod_sandbox_id());
}

Co<absl::Status> GrpcRuntime::stop_sandbox(SandboxId id, Instant deadline) {
  wire::StopPodSandboxRequest request;
  request.set_pod_sandbox_id(id.value);
  auto answer =
      co_await call<wire::StopPodSandboxResponse>(stops_, PODWRIGHT_CRI_METHOD("StopPodSandbox"), request, deadline);
  co_return gone_is_ok(answer.status());
}

Co<absl::Status> GrpcRuntime::remove_sandbox(SandboxId id, Instant deadline) {
  wire::RemovePodSandboxRequest request;
  request.set_pod_sandbox_id(id.value);
  auto answer = co_await call<wire::RemovePodSandboxResponse>(writes_, PODWRIGHT_CRI_METHOD("RemovePodSandbox"),
                                                              request, deadline);
  co_return gone_is_ok(answer.status());
}

Co<absl::StatusOr<SandboxStatus>> GrpcRuntime::sandbox_status(SandboxId id, Instant deadline) {
  wire::PodSandboxStatusRequest request;
  request.set_pod_sandbox_id(id.value);
  auto answer = co_await call<wire::PodSandboxStatusResponse>(reads_, PODWRIGHT_CRI_METHOD("PodSandboxStatus"), request,
                                                              deadline);
  if (!answer.ok()) co_return answer.status();
  co_return from_wire(answer->status());
}

Co<absl::StatusOr<std::vector<SandboxStatus>>> GrpcRuntime::list_sandboxes(Filter filter, Instant deadline) {
  wire::ListPodSandboxRequest request;
  if (!filter.id.empty()) request.mutable_filter()->set_id(filter.id);
  for (const auto& [key, value] : filter.labels) (*request.mutable_filter()->mutable_label_selector())[key] = value;
  auto answer =
      co_await call<wire::ListPodSandboxResponse>(reads_, PODWRIGHT_CRI_METHOD("ListPodSandbox"), request, deadline);
  if (!answer.ok()) co_return answer.status();
  std::vector<SandboxStatus> all;
  for (const auto& item : answer->items()) all.push_back(from_wire(item));
  co_return all;
}

Co<absl::StatusOr<ContainerId>> GrpcRuntime::create_container(SandboxId sandbox, ContainerConfig config,
                                                              SandboxConfig sandbox_config, Instant deadline) {
  wire::CreateContainerRequest request;
  request.set_pod_sandbox_id(sandbox.value);
  *request.mutable_config() = to_wire(config);
  *request.mutable_sandbox_config() = to_wire(sandbox_config);
  auto answer =
      co_await call<wire::CreateContainerResponse>(writes_, PODWRIGHT_CRI_METHOD("CreateContainer"), request, deadline);
  if (!answer.ok()) co_return answer.status();
  if (answer->container_id().empty()) co_return absl::InternalError("the runtime gave an empty container ID");
  co_return ContainerId(answer->container_id());
}

Co<absl::Status> GrpcRuntime::start_container(ContainerId id, Instant deadline) {
  wire::StartContainerRequest request;
  request.set_container_id(id.value);
  auto answer =
      co_await call<wire::StartContainerResponse>(writes_, PODWRIGHT_CRI_METHOD("StartContainer"), request, deadline);
  co_return answer.status();
}

Co<absl::Status> GrpcRuntime::stop_container(ContainerId id, std::chrono::seconds grace, Instant deadline) {
  wire::StopContainerRequest request;
  request.set_container_id(id.value);
  request.set_timeout(grace.count());
  auto answer =
      co_await call<wire::StopContainerResponse>(stops_, PODWRIGHT_CRI_METHOD("StopContainer"), request, deadline);
  co_return gone_is_ok(answer.status());
}

Co<absl::Status> GrpcRuntime::remove_container(ContainerId id, Instant deadline) {
  wire::RemoveContainerRequest request;
  request.set_container_id(id.value);
  auto answer =
      co_await call<wire::RemoveContainerResponse>(writes_, PODWRIGHT_CRI_METHOD("RemoveContainer"), request, deadline);
  co_return gone_is_ok(answer.status());
}

Co<absl::StatusOr<ContainerStatus>> GrpcRuntime::container_status(ContainerId id, Instant deadline) {
  wire::ContainerStatusRequest request;
  request.set_container_id(id.value);
  auto answer =
      co_await call<wire::ContainerStatusResponse>(reads_, PODWRIGHT_CRI_METHOD("ContainerStatus"), request, deadline);
  if (!answer.ok()) co_return answer.status();
  co_return from_wire(answer->status());
}

Co<absl::StatusOr<std::vector<ContainerStatus>>> GrpcRuntime::list_containers(Filter filter, Instant deadline) {
  wire::ListContainersRequest request;
  if (!filter.id.empty()) request.mutable_filter()->set_id(filter.id);
  if (!filter.sandbox.empty()) request.mutable_filter()->set_pod_sandbox_id(filter.sandbox.value);
  for (const auto& [key, value] : filter.labels) (*request.mutable_filter()->mutable_label_selector())[key] = value;
  auto answer =
      co_await call<wire::ListContainersResponse>(reads_, PODWRIGHT_CRI_METHOD("ListContainers"), request, deadline);
  if (!answer.ok()) co_return answer.status();
  std::vector<ContainerStatus> all;
  for (const auto& item : answer->containers()) all.push_back(from_wire(item));
  co_return all;
}

Co<absl::Status> GrpcRuntime::update_resources(ContainerId id, Resources resources, Instant deadline) {
  wire::UpdateContainerResourcesRequest request;
  request.set_container_id(id.value);
  *request.mutable_linux() = to_wire(resources);
  auto answer = co_await call<wire::UpdateContainerResourcesResponse>(
      writes_, PODWRIGHT_CRI_METHOD("UpdateContainerResources"), request, deadline);
  co_return answer.status();
}

Co<absl::Status> GrpcRuntime::reopen_log(ContainerId id, Instant deadline) {
  wire::ReopenContainerLogRequest request;
  request.set_container_id(id.value);
  auto answer = co_await call<wire::ReopenContainerLogResponse>(writes_, PODWRIGHT_CRI_METHOD("ReopenContainerLog"),
                                                                request, deadline);
  co_return answer.status();
}

Co<absl::StatusOr<ExecResult>> GrpcRuntime::exec_sync(ContainerId id, std::vector<std::string> command,
                                                      std::chrono::seconds timeout, Instant deadline) {
  wire::ExecSyncRequest request;
  request.set_container_id(id.value);
  for (auto& part : command) request.add_cmd(std::move(part));
  request.set_timeout(timeout.count());
  auto answer = co_await call<wire::ExecSyncResponse>(execs_, PODWRIGHT_CRI_METHOD("ExecSync"), request, deadline);
  if (!answer.ok()) co_return answer.status();
  co_return ExecResult{cut(answer->stdout()), cut(answer->stderr()), answer->exit_code()};
}

Co<absl::StatusOr<std::string>> GrpcRuntime::exec_url(ExecRequest from, Instant deadline) {
  wire::ExecRequest request;
  request.set_container_id(from.container.value);
  for (auto& part : from.command) request.add_cmd(std::move(part));
  request.set_tty(from.tty);
  request.set_stdin(from.stdin);
  request.set_stdout(from.stdout);
  request.set_stderr(from.stderr);
  auto answer = co_await call<wire::ExecResponse>(reads_, PODWRIGHT_CRI_METHOD("Exec"), request, deadline);
  if (!answer.ok()) co_return answer.status();
  co_return answer->url();
}

Co<absl::StatusOr<std::string>> GrpcRuntime::attach_url(AttachRequest from, Instant deadline) {
  wire::AttachRequest request;
  request.set_container_id(from.container.value);
  request.set_tty(from.tty);
  request.set_stdin(from.stdin);
  request.set_stdout(from.stdout);
  request.set_stderr(from.stderr);
  auto answer = co_await call<wire::AttachResponse>(reads_, PODWRIGHT_CRI_METHOD("Attach"), request, deadline);
  if (!answer.ok()) co_return answer.status();
  co_return answer->url();
}

Co<absl::StatusOr<std::string>> GrpcRuntime::port_forward_url(SandboxId sandbox, std::vector<int32_t> ports,
                                                              Instant deadline) {
  wire::PortForwardRequest request;
  request.set_pod_sandbox_id(sandbox.value);
  for (const int32_t port : ports) request.add_port(port);
  auto answer =
      co_await call<wire::PortForwardResponse>(reads_, PODWRIGHT_CRI_METHOD("PortForward"), request, deadline);
  if (!answer.ok()) co_return answer.status();
  co_return answer->url();
}

Co<absl::StatusOr<std::vector<ContainerStats>>> GrpcRuntime::list_stats(Filter filter, Instant deadline) {
  wire::ListContainerStatsRequest request;
  if (!filter.id.empty()) request.mutable_filter()->set_id(filter.id);
  if (!filter.sandbox.empty()) request.mutable_filter()->set_pod_sandbox_id(filter.sandbox.value);
  for (const auto& [key, value] : filter.labels) (*request.mutable_filter()->mutable_label_selector())[key] = value;
  auto answer = co_await call<wire::ListContainerStatsResponse>(stats_, PODWRIGHT_CRI_METHOD("ListContainerStats"),
                                                                request, deadline);
  if (!answer.ok()) co_return answer.status();
  std::vector<ContainerStats> all;
  for (const auto& item : answer->stats()) {
    ContainerStats one;
    one.id = ContainerId(item.attributes().id());
    one.name = ContainerName(item.attributes().metadata().name());
    one.labels = {item.attributes().labels().begin(), item.attributes().labels().end()};
    one.cpu_usage_core_ns = item.cpu().usage_core_nano_seconds().value();
    one.memory_working_set_bytes = item.memory().working_set_bytes().value();
    one.writable_layer_bytes = item.writable_layer().used_bytes().value();
    one.writable_layer_inodes = item.writable_layer().inodes_used().value();
    all.push_back(std::move(one));
  }
  co_return all;
}

}  // namespace podwright::cri
