#include "devices/fake/fake_device_plugin.h"

#include "base/rpc/channel.h"

namespace podwright::devices {
namespace {

std::string file_name(const std::string& path) {
  return path.substr(path.rfind('/') + 1);
}

}  // namespace

FakeDevicePlugin::FakeDevicePlugin(Loop& loop, rpc::Poller& poller, FakePluginOptions options)
    : poller_(poller), options_(std::move(options)), news_(loop) {}

void FakeDevicePlugin::set_devices(std::vector<v1beta1::Device> devices) {
  list_.mutable_devices()->Assign(devices.begin(), devices.end());
  ++version_;
  news_.notify();
}

absl::Status FakeDevicePlugin::start() {
  using namespace v1beta1;
  rpc::Services services;
  const std::string service = "/v1beta1.DevicePlugin/";
  services.unary<Empty, DevicePluginOptions>(service + "GetDevicePluginOptions",
                                             [this](Empty request) { return options(std::move(request)); });
  services.stream<Empty, ListAndWatchResponse>(service + "ListAndWatch",
                                               [this](Empty request, rpc::Writer<ListAndWatchResponse> out) {
                                                 return list(std::move(request), std::move(out));
                                               });
  services.unary<PreferredAllocationRequest, PreferredAllocationResponse>(
      service + "GetPreferredAllocation",
      [this](PreferredAllocationRequest request) { return prefer(std::move(request)); });
  services.unary<AllocateRequest, AllocateResponse>(
      service + "Allocate", [this](AllocateRequest request) { return allocate(std::move(request)); });
  services.unary<PreStartContainerRequest, PreStartContainerResponse>(
      service + "PreStartContainer",
      [this](PreStartContainerRequest request) { return pre_start(std::move(request)); });
  auto server = rpc::Server::listen(poller_, "unix:" + options_.dir + "/" + options_.socket, std::move(services));
  if (!server.ok()) return server.status();
  server_ = *std::move(server);
  return absl::OkStatus();
}

Co<absl::Status> FakeDevicePlugin::register_now(Instant deadline) {
  rpc::Channel agent(poller_, "unix://" + options_.dir + "/kubelet.sock");
  v1beta1::RegisterRequest request;
  request.set_version("v1beta1");
  request.set_endpoint(options_.socket);
  request.set_resource_name(options_.resource);
  const auto answer =
      co_await agent.unary<v1beta1::Empty>("/v1beta1.Registration/Register", std::move(request), deadline);
  co_return answer.status();
}

Co<void> FakeDevicePlugin::close() {
  if (server_) co_await server_->close();
  server_.reset();
}

Co<absl::StatusOr<v1beta1::DevicePluginOptions>> FakeDevicePlugin::options(v1beta1::Empty) {
  v1beta1::DevicePluginOptions answer;
  answer.set_pre_start_required(options_.pre_start_required);
  answer.set_get_preferred_allocation_available(options_.preferred_allocation);
  co_return answer;
}

Co<absl::Status> FakeDevicePlugin::list(v1beta1::Empty, rpc::Writer<v1beta1::ListAndWatchResponse> out) {
  uint64_t sent = 0;
  while (true) {
    if (sent != version_) {
      sent = version_;
      const v1beta1::ListAndWatchResponse now = list_;
      if (const absl::Status written = co_await out.write(now); !written.ok()) co_return written;
      continue;
    }
    if (co_await news_.wait_until(Instant::max()) == Wait::kCancelled) co_return absl::CancelledError("stopping");
  }
}

// The last ones, so that a test sees that it was asked.
Co<absl::StatusOr<v1beta1::PreferredAllocationResponse>> FakeDevicePlugin::prefer(
    v1beta1::PreferredAllocationRequest request) {
  v1beta1::PreferredAllocationResponse answer;
  for (const auto& container : request.container_requests()) {
    auto& to = *answer.add_container_responses();
    const auto& available = container.available_deviceids();
    const int count = std::min(container.allocation_size(), available.size());
    for (int i = 0; i < count; ++i) to.add_deviceids(available.Get(available.size() - 1 - i));
  }
  co_return answer;
}

Co<absl::StatusOr<v1beta1::AllocateResponse>> FakeDevicePlugin::allocate(v1beta1::AllocateRequest request) {
  if (!allocate_error.ok()) co_return allocate_error;
  v1beta1::AllocateResponse answer;
  for (const auto& container : request.container_requests()) {
    std::vector<std::string> ids(container.devices_ids().begin(), container.devices_ids().end());
    auto& to = *answer.add_container_responses();
    (*to.mutable_envs())[options_.variable] = fmt::format("{}", fmt::join(ids, ","));
    if (!options_.device_node.empty()) {
      auto& device = *to.add_devices();
      device.set_host_path(options_.device_node);
      device.set_container_path("/dev/" + file_name(options_.device_node));
      device.set_permissions("rw");
    }
    allocated.push_back(std::move(ids));
  }
  co_return answer;
}

Co<absl::StatusOr<v1beta1::PreStartContainerResponse>> FakeDevicePlugin::pre_start(
    v1beta1::PreStartContainerRequest request) {
  pre_started.emplace_back(request.devices_ids().begin(), request.devices_ids().end());
  co_return v1beta1::PreStartContainerResponse();
}

}  // namespace podwright::devices
