#include "devices/grpc/grpc_plugin.h"

#include "base/rpc/channel.h"
#include "base/status/annotate.h"
#include "kubelet/deviceplugin/v1beta1.pb.h"

namespace podwright::devices {
namespace {

constexpr char kService[] = "/v1beta1.DevicePlugin/";

Device device_from(const v1beta1::Device& wire) {
  Device device;
  device.id = wire.id();
  device.healthy = wire.health() == "Healthy";  // exactly this word
  for (const auto& node : wire.topology().nodes()) {
    if (node.id() >= 0) device.nodes.push_back(node.id());
  }
  return device;
}

ContainerSetup setup_from(const v1beta1::ContainerAllocateResponse& wire) {
  ContainerSetup setup;
  setup.envs.insert(wire.envs().begin(), wire.envs().end());
  for (const auto& mount : wire.mounts()) {
    setup.mounts.push_back({mount.container_path(), mount.host_path(), mount.read_only()});
  }
  for (const auto& device : wire.devices()) {
    setup.devices.push_back({device.container_path(), device.host_path(), device.permissions()});
  }
  setup.annotations.insert(wire.annotations().begin(), wire.annotations().end());
  for (const auto& device : wire.cdi_devices()) setup.cdi_devices.push_back(device.name());
  return setup;
}

class GrpcLists final : public DeviceLists {
 public:
  explicit GrpcLists(rpc::Reader<v1beta1::ListAndWatchResponse> reader) : reader_(std::move(reader)) {}

  Co<absl::StatusOr<std::optional<std::vector<Device>>>> next() override {
    auto message = co_await reader_.next();
    if (!message.ok()) co_return message.status();
    if (!*message) co_return std::nullopt;
    std::vector<Device> devices;
    devices.reserve(static_cast<std::size_t>((*message)->devices_size()));
    for (const auto& device : (*message)->devices()) devices.push_back(device_from(device));
    co_return std::optional<std::vector<Device>>(std::move(devices));
  }

 private:
  rpc::Reader<v1beta1::ListAndWatchResponse> reader_;
};

class GrpcPlugin final : public Plugin {
 public:
  GrpcPlugin(rpc::Poller& poller, const std::string& socket) : channel_(poller, "unix://" + socket) {}

  Co<absl::StatusOr<PluginOptions>> options(Instant deadline) override {
    v1beta1::Empty request;
    auto answer =
        co_await channel_.unary<v1beta1::DevicePluginOptions>(method("GetDevicePluginOptions"), request, deadline);
    if (!answer.ok()) co_return answer.status();
    co_return PluginOptions{answer->pre_start_required(), answer->get_preferred_allocation_available()};
  }

  std::unique_ptr<DeviceLists> list_and_watch() override {
    return std::make_unique<GrpcLists>(
        channel_.read<v1beta1::ListAndWatchResponse>(method("ListAndWatch"), v1beta1::Empty()));
  }

  Co<absl::StatusOr<std::vector<std::string>>> preferred(std::vector<std::string> available,
                                                         std::vector<std::string> must, int32_t size,
                                                         Instant deadline) override {
    v1beta1::PreferredAllocationRequest request;
    auto& container = *request.add_container_requests();
    for (auto& id : available) container.add_available_deviceids(std::move(id));
    for (auto& id : must) container.add_must_include_deviceids(std::move(id));
    container.set_allocation_size(size);
    auto answer = co_await channel_.unary<v1beta1::PreferredAllocationResponse>(method("GetPreferredAllocation"),
                                                                                std::move(request), deadline);
    if (!answer.ok()) co_return answer.status();
    std::vector<std::string> ids;
    if (answer->container_responses_size() > 0) {
      const auto& given = answer->container_responses(0).deviceids();
      ids.assign(given.begin(), given.end());
    }
    co_return ids;
  }

  Co<absl::StatusOr<ContainerSetup>> allocate(std::vector<std::string> ids, Instant deadline) override {
    v1beta1::AllocateRequest request;
    auto& container = *request.add_container_requests();
    for (auto& id : ids) container.add_devices_ids(std::move(id));
    auto answer = co_await channel_.unary<v1beta1::AllocateResponse>(method("Allocate"), std::move(request), deadline);
    if (!answer.ok()) co_return answer.status();
    if (answer->container_responses_size() == 0) {
      co_return make_status(absl::StatusCode::kInvalidArgument, "no containers return in allocation response");
    }
    co_return setup_from(answer->container_responses(0));
  }

  Co<absl::Status> pre_start(std::vector<std::string> ids, Instant deadline) override {
    v1beta1::PreStartContainerRequest request;
    for (auto& id : ids) request.add_devices_ids(std::move(id));
    auto answer = co_await channel_.unary<v1beta1::PreStartContainerResponse>(method("PreStartContainer"),
                                                                              std::move(request), deadline);
    co_return answer.status();
  }

 private:
  static std::string method(const char* name) { return std::string(kService) + name; }

  rpc::Channel channel_;
};

}  // namespace

Dial grpc_dial(rpc::Poller& poller) {
  return [&poller](const std::string& socket) -> std::unique_ptr<Plugin> {
    return std::make_unique<GrpcPlugin>(poller, socket);
  };
}

}  // namespace podwright::devices
