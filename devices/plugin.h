// The port to one device plugin, in our words: its devices, what it wants done before a container may use them, and
// what of the host it then puts into the container. The real one is devices/grpc; tests call a working fake directly.
#pragma once

#include <absl/status/status.h>
#include <absl/status/statusor.h>

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "api/ids.h"
#include "base/co/co.h"
#include "base/time/time.h"

namespace podwright::devices {

struct Device {
  std::string id;
  bool healthy = false;
  // NUMA nodes it is near to; none: it does not matter. A negative number of a plugin means the same and is left out.
  std::vector<int64_t> nodes;
  bool operator==(const Device&) const = default;
};

struct PluginOptions {
  bool pre_start_required = false;
  bool preferred_allocation = false;
};

struct SetupMount {
  std::string container_path, host_path;
  bool readonly = false;
  bool operator==(const SetupMount&) const = default;
};

struct SetupDevice {
  std::string container_path, host_path, permissions;
  bool operator==(const SetupDevice&) const = default;
};

// What a container gets for its devices.
struct ContainerSetup {
  std::map<std::string, std::string> envs;
  std::vector<SetupMount> mounts;
  std::vector<SetupDevice> devices;
  std::map<std::string, std::string> annotations;
  std::vector<std::string> cdi_devices;
  bool operator==(const ContainerSetup&) const = default;
};

// Adds `more` to `into`. Of two that want the same name or the same place in the container the first stays; the answer
// names what of `more` was left out though it differs. Source: kubelet pod_devices.go, deviceRunContainerOptions.
std::vector<std::string> merge(ContainerSetup& into, const ContainerSetup& more);

// InvalidArgument, naming the part, where the runtime could do nothing with it: an empty name of a variable or one with
// "=" in it, a path that is not absolute, permissions other than of "rwm".
absl::Status check(const ContainerSetup& setup);

// The stream of ListAndWatch. Every list is complete and replaces the one before.
class DeviceLists {
 public:
  virtual ~DeviceLists() = default;
  // The next list; nothing where the plugin ended the stream well. Waits without a deadline.
  virtual Co<absl::StatusOr<std::optional<std::vector<Device>>>> next() = 0;
};

class Plugin {
 public:
  virtual ~Plugin() = default;
  virtual Co<absl::StatusOr<PluginOptions>> options(Instant deadline) = 0;
  virtual std::unique_ptr<DeviceLists> list_and_watch() = 0;
  // Which `size` of `available` go best together, `must` among them. An advice: it may be wrong or empty.
  virtual Co<absl::StatusOr<std::vector<std::string>>> preferred(std::vector<std::string> available,
                                                                 std::vector<std::string> must, int32_t size,
                                                                 Instant deadline) = 0;
  virtual Co<absl::StatusOr<ContainerSetup>> allocate(std::vector<std::string> ids, Instant deadline) = 0;
  virtual Co<absl::Status> pre_start(std::vector<std::string> ids, Instant deadline) = 0;
};

// A connection to the plugin that listens on a socket. Never fails: calls tell when nobody is there.
using Dial = std::function<std::unique_ptr<Plugin>(const std::string& socket)>;

}  // namespace podwright::devices
