#include "cri/fake/server/cri_server.h"

#include "cri/grpc/convert.h"

namespace podwright::cri {
namespace {

// Events that a client has not read: beyond, its stream ends, and it lists.
constexpr std::size_t kUnreadEvents = 10'000;

}  // namespace

CriServer::CriServer(Loop& loop, Runtime& runtime, Images& images, RuntimeEvents& events, bool with_events)
    : loop_(loop), runtime_(runtime), images_(images), events_(events), with_events_(with_events), scope_(loop) {}

absl::Status CriServer::listen(rpc::Poller& poller, const std::string& address) {
  rpc::ServerOptions options;
  options.concurrent = 1024;
  auto server = rpc::Server::listen(poller, address, runtime_services(), options);
  if (!server.ok()) return server.status();
  server_ = std::move(*server);
  scope_.spawn("events", events_.watch([this](Event event) { tell(event); },
                                       [this](bool open) {
                                         if (!open) end_streams();
                                       }));
  return absl::OkStatus();
}

Co<void> CriServer::close() {
  if (server_) co_await server_->close();
  co_await scope_.close();
}

rpc::Services CriServer::runtime_services() {
  rpc::Services all;
  add(all, "Version", &CriServer::version);
  add(all, "Status", &CriServer::status);
  add(all, "RuntimeConfig", &CriServer::runtime_config);
  add(all, "RunPodSandbox", &CriServer::run_sandbox);
  add(all, "StopPodSandbox", &CriServer::stop_sandbox);
  add(all, "RemovePodSandbox", &CriServer::remove_sandbox);
  add(all, "PodSandboxStatus", &CriServer::sandbox_status);
  add(all, "ListPodSandbox", &CriServer::list_sandboxes);
  if (with_events_) {
    all.stream<wire::GetEventsRequest, wire::ContainerEventResponse>(
        "/runtime.v1.RuntimeService/GetContainerEvents",
        [this](wire::GetEventsRequest request, rpc::Writer<wire::ContainerEventResponse> out) {
          return feed_events(std::move(request), std::move(out));
        });
  }
  add_container_services(all);
  add_image_services(all);
  return all;
}

Co<absl::StatusOr<wire::VersionResponse>> CriServer::version(wire::VersionRequest) {
  const auto version = co_await runtime_.version(Instant::max());
  if (!version.ok()) co_return version.status();
  wire::VersionResponse response;
  response.set_version("0.1.0");
  response.set_runtime_name(version->runtime_name);
  response.set_runtime_version(version->runtime_version);
  response.set_runtime_api_version(version->api_version);
  co_return response;
}

Co<absl::StatusOr<wire::StatusResponse>> CriServer::status(wire::StatusRequest request) {
  const auto status = co_await runtime_.status(request.verbose(), Instant::max());
  if (!status.ok()) co_return status.status();
  co_return status_message(*status);
}

Co<absl::StatusOr<wire::RuntimeConfigResponse>> CriServer::runtime_config(wire::RuntimeConfigRequest) {
  const auto driver = co_await runtime_.cgroup_driver(Instant::max());
  if (!driver.ok()) co_return driver.status();
  wire::RuntimeConfigResponse response;
  response.mutable_linux()->set_cgroup_driver(*driver == CgroupDriver::kSystemd ? wire::SYSTEMD : wire::CGROUPFS);
  co_return response;
}

Co<absl::StatusOr<wire::RunPodSandboxResponse>> CriServer::run_sandbox(wire::RunPodSandboxRequest request) {
  SandboxConfig config = config_from_wire(request.config(), request.runtime_handler());
  const auto id = co_await runtime_.run_sandbox(std::move(config), Instant::max());
  if (!id.ok()) co_return id.status();
  wire::RunPodSandboxResponse response;
  response.set_pod_sandbox_id(id->value);
  co_return response;
}

Co<absl::StatusOr<wire::StopPodSandboxResponse>> CriServer::stop_sandbox(wire::StopPodSandboxRequest request) {
  const SandboxId id(request.pod_sandbox_id());
  co_return answer<wire::StopPodSandboxResponse>(co_await runtime_.stop_sandbox(id, Instant::max()));
}

Co<absl::StatusOr<wire::RemovePodSandboxResponse>> CriServer::remove_sandbox(wire::RemovePodSandboxRequest request) {
  const SandboxId id(request.pod_sandbox_id());
  co_return answer<wire::RemovePodSandboxResponse>(co_await runtime_.remove_sandbox(id, Instant::max()));
}

Co<absl::StatusOr<wire::PodSandboxStatusResponse>> CriServer::sandbox_status(wire::PodSandboxStatusRequest request) {
  const SandboxId id(request.pod_sandbox_id());
  const auto status = co_await runtime_.sandbox_status(id, Instant::max());
  if (!status.ok()) co_return status.status();
  wire::PodSandboxStatusResponse response;
  *response.mutable_status() = status_message(*status);
  co_return response;
}

Co<absl::StatusOr<wire::ListPodSandboxResponse>> CriServer::list_sandboxes(wire::ListPodSandboxRequest request) {
  Filter filter;
  filter.id = request.filter().id();
  filter.labels = {request.filter().label_selector().begin(), request.filter().label_selector().end()};
  const auto all = co_await runtime_.list_sandboxes(filter, Instant::max());
  if (!all.ok()) co_return all.status();
  wire::ListPodSandboxResponse response;
  for (const auto& one : *all) {
    const bool matches = !request.filter().has_state() || (request.filter().state().state() == wire::SANDBOX_READY) ==
                                                              (one.state == SandboxState::kReady);
    if (matches) *response.add_items() = list_item(one);
  }
  co_return response;
}

void CriServer::tell(const Event& event) {
  const auto message = event_message(event);
  if (!message) return;
  for (Subscriber* one : subscribers_) {
    if (one->events.size() >= kUnreadEvents) one->ended = true;
    if (!one->ended) one->events.push_back(*message);
    one->bell.ring();
  }
}

void CriServer::end_streams() {
  for (Subscriber* one : subscribers_) {
    one->ended = true;
    one->bell.ring();
  }
}

Co<absl::Status> CriServer::feed_events(wire::GetEventsRequest, rpc::Writer<wire::ContainerEventResponse> out) {
  Subscriber own(loop_);
  subscribers_.insert(&own);
  absl::Status status;
  while (status.ok()) {
    if (own.events.empty()) {
      if (own.ended) {
        status = absl::UnavailableError("the event stream ended");
      } else if (co_await own.bell.wait_until(Instant::max()) == Wait::kCancelled) {
        status = absl::CancelledError("the client is gone");
      }
      continue;
    }
    const wire::ContainerEventResponse next = std::move(own.events.front());
    own.events.pop_front();
    status = co_await out.write(next);
  }
  subscribers_.erase(&own);
  co_return status;
}

}  // namespace podwright::cri
