// DevicePlugins: the life of device plugins on this node, and what a container gets of them. One flow a plugin reads
// its lists; the calls for a pod run in that pod's own worker, each with a deadline, so that a plugin that hangs stops
// only those who wait for it. Errors are returned; what the outside should know is told through `changed`.
//
//   plugin --Register--> register_plugin(): validate, dial back, options --> flow: lists --> DeviceShares
//   pod worker --> give(): book, preferred, Allocate (once), PreStartContainer (each start) --> ContainerSetup
//
// Source: behaviours of pkg/kubelet/cm/devicemanager.
#pragma once

#include <memory>
#include <set>
#include <string>

#include "base/co/loop.h"
#include "base/co/scope.h"
#include "base/files/tree.h"
#include "base/step/step.h"
#include "devices/device_shares.h"
#include "devices/plugin.h"

namespace podwright::devices {

struct PluginsOptions {
  // Where plugins listen. They have the path built in, so that another one is for tests only.
  std::string dir = "/var/lib/kubelet/device-plugins";
  Duration options_limit = std::chrono::seconds(5);
  Duration preferred_limit = std::chrono::seconds(5);
  Duration allocate_limit = std::chrono::seconds(60);
  // Source: kubelet devicemanager, pluginapi.KubeletPreStartContainerRPCTimeoutInSecs.
  Duration pre_start_limit = std::chrono::seconds(30);
  // How long Register waits for a plugin to serve; one that serves only after the answer has the second time.
  Duration dial_in_register = std::chrono::milliseconds(500);
  Duration dial_later = std::chrono::seconds(10);
};

struct Registration {
  std::string version, endpoint, resource;
};

// Whether a plugin may offer this name: "nvidia.com/gpu". Source: kubernetes pkg/apis/core/v1/helper,
// IsExtendedResourceName.
bool is_extended_resource(std::string_view name);

// InvalidArgument with upstream's words; of the endpoint with ours, since upstream looks at nothing there.
absl::Status check(const Registration& registration);

// What came of asking for a container's devices.
struct Given {
  // Set: the container has to wait, and this is why. Nothing is held then.
  std::optional<Booking> wait;
  ContainerSetup setup;
  // Parts of one resource's answer that another's kept out.
  std::vector<std::string> conflicts;
};

class DevicePlugins {
 public:
  DevicePlugins(Loop& loop, Tree& tree, Steps& steps, Dial dial, PluginsOptions options);
  ~DevicePlugins();

  // Told when a count or a device's health changed, and when devices became free.
  void on_change(std::function<void()> listener) { changed_ = std::move(listener); }
  // Which pods may still use devices; until set, all.
  void set_lives(DeviceShares::Lives lives) { lives_ = std::move(lives); }

  // Answers a plugin's Register. Once it returns OK the lists are being read, or the plugin is being dialled for as
  // long as it may take to serve.
  Co<absl::Status> register_plugin(Registration registration);

  // The devices of one container, booked for the whole pod at the first call, in the form that the runtime takes.
  // Called before every start of the container; Allocate is called only once for what it got.
  Co<absl::StatusOr<Given>> give(PodNeeds pod, ContainerName container);

  void adopt(const PodUid& uid, const Held& held) { shares_.adopt(uid, held); }
  // Once the pod's containers are confirmed gone.
  void release(const PodUid& uid);

  const DeviceShares& shares() const { return shares_; }
  const std::string& dir() const { return options_.dir; }
  Co<void> close();

 private:
  struct Connection;
  using ConnectionPtr = std::shared_ptr<Connection>;

  Co<absl::StatusOr<ConnectionPtr>> connect(std::string socket, ResourceName resource, Instant until);
  Co<void> connect_later(std::string socket, ResourceName resource);
  void take_over(ConnectionPtr connection);
  Co<void> read_lists(ConnectionPtr connection);
  static Co<void> end(ConnectionPtr connection);
  Co<void> prefer(PodUid uid, ContainerName container, ResourceName resource);
  Co<absl::StatusOr<ContainerSetup>> allocated(PodUid uid, ContainerName container, ResourceName resource);
  void tell();

  Loop& loop_;
  Tree& tree_;
  Steps& steps_;
  Dial dial_;
  PluginsOptions options_;
  DeviceShares shares_;
  DeviceShares::Lives lives_;
  std::function<void()> changed_;
  std::map<ResourceName, ConnectionPtr> connections_;
  struct Answer {
    std::vector<std::string> ids;
    ContainerSetup setup;
  };
  // By pod, container and resource.
  std::map<PodUid, std::map<std::pair<ContainerName, ResourceName>, Answer>> answers_;
  Scope scope_;
};

}  // namespace podwright::devices
