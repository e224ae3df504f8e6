// A small working device plugin on real unix sockets: devices that are only names, an environment variable that says
// which a container got. For the tests of the adapter and for trying a node without hardware.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/co/bell.h"
#include "base/rpc/server.h"
#include "kubelet/deviceplugin/v1beta1.pb.h"

namespace podwright::devices {

struct FakePluginOptions {
  std::string dir = "/var/lib/kubelet/device-plugins";
  std::string socket = "podwright-fake.sock";
  std::string resource = "podwright.test/device";
  // The variable that lists a container's devices, separated by commas.
  std::string variable = "PODWRIGHT_DEVICES";
  // A path of the host that is given as /dev/<file name> for each container; empty: none.
  std::string device_node;
  bool pre_start_required = false;
  bool preferred_allocation = false;
};

class FakeDevicePlugin {
 public:
  FakeDevicePlugin(Loop& loop, rpc::Poller& poller, FakePluginOptions options);

  // The complete list, from now on.
  void set_devices(std::vector<v1beta1::Device> devices);
  absl::Status start();
  // Registers at the agent that serves kubelet.sock in the folder.
  Co<absl::Status> register_now(Instant deadline);
  Co<void> close();

  // Calls that came, for tests.
  std::vector<std::vector<std::string>> allocated, pre_started;
  // Answers Allocate with this where it is an error.
  absl::Status allocate_error;

 private:
  Co<absl::StatusOr<v1beta1::DevicePluginOptions>> options(v1beta1::Empty request);
  Co<absl::Status> list(v1beta1::Empty request, rpc::Writer<v1beta1::ListAndWatchResponse> out);
  Co<absl::StatusOr<v1beta1::PreferredAllocationResponse>> prefer(v1beta1::PreferredAllocationRequest request);
  Co<absl::StatusOr<v1beta1::AllocateResponse>> allocate(v1beta1::AllocateRequest request);
  Co<absl::StatusOr<v1beta1::PreStartContainerResponse>> pre_start(v1beta1::PreStartContainerRequest request);

  rpc::Poller& poller_;
  FakePluginOptions options_;
  v1beta1::ListAndWatchResponse list_;
  uint64_t version_ = 1;
  Notice news_;
  std::unique_ptr<rpc::Server> server_;
};

}  // namespace podwright::devices
