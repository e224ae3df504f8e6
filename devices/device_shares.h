// The books of the node's devices: which there are, which are healthy, which pod holds which. Pure and synchronous:
// book() gives a pod all that its containers ask for, or nothing, before anything is awaited, so that two pods cannot
// get one device. Owned by DevicePlugins; used on the loop thread.
//
//   unknown --open()--> registered --list--> listed --close()--> stopped --5 min--> gone (capacity 0)
//                           ^------------------open()----------------------'
//
// Each registration has a generation; a list or an end of an older one changes nothing.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "api/ids.h"
#include "base/time/time.h"
#include "devices/plugin.h"

namespace podwright::devices {

enum class ContainerOrder { kInit, kSidecar, kApp };

struct ContainerNeeds {
  ContainerName name;
  ContainerOrder order = ContainerOrder::kApp;
  std::map<ResourceName, int64_t> amounts;
};

// What a pod asks for: init containers first, in the order of the spec.
struct PodNeeds {
  PodUid uid;
  int32_t priority = 0;
  std::vector<ContainerNeeds> containers;
  bool any() const;
};

// Device IDs by container and resource.
using Held = std::map<ContainerName, std::map<ResourceName, std::vector<std::string>>>;

struct Booking {
  enum class Answer { kYes, kNever, kNotYet };
  Answer answer = Answer::kYes;
  std::string reason, message;
};

struct Counts {
  int64_t capacity = 0;     // healthy or not
  int64_t allocatable = 0;  // healthy, whether held or not
  int64_t held = 0;
  bool operator==(const Counts&) const = default;
};

class DeviceShares {
 public:
  // Whether a pod may still use what it holds: its containers are not confirmed gone.
  using Lives = std::function<bool(const PodUid&)>;

  // A plugin registered for the resource; the answer is the generation of that registration.
  uint64_t open(const ResourceName& resource);
  // Its complete list. Of an ID that comes twice the last counts. True where anything changed.
  bool put_list(const ResourceName& resource, uint64_t generation, const std::vector<Device>& list);
  // Its stream ended: all its devices are unhealthy from now on. True where that was the newest registration.
  bool close(const ResourceName& resource, uint64_t generation, Instant now);

  // Books everything the pod asks for; twice gives the same. "Not yet" takes the pod into the line of those who wait
  // for devices: first come first served within a priority, and no gap for who comes later.
  Booking book(const PodNeeds& pod, const Lives& lives);
  // Other devices of the same number for one container and resource. False, with nothing changed, where one of them is
  // not there, not healthy or another's, or where the container shares its devices with an init container.
  bool exchange(const PodUid& uid, const ContainerName& container, const ResourceName& resource,
                const std::vector<std::string>& ids);
  // What a pod holds from before the agent's start.
  void adopt(const PodUid& uid, const Held& held);
  void release(const PodUid& uid);

  // Empty where the pod holds nothing.
  const Held& held_by(const PodUid& uid) const;
  // Healthy and nobody's, sorted.
  std::vector<std::string> free_of(const ResourceName& resource) const;
  std::map<ResourceName, Counts> counts(Instant now) const;
  // Every device of the resource as last listed, by ID.
  const std::map<std::string, Device>& devices_of(const ResourceName& resource) const;
  const std::map<PodUid, Held>& books() const { return books_; }

 private:
  struct Resource {
    uint64_t generation = 0;
    bool listed = false;  // by the newest registration
    std::optional<Instant> stopped;
    std::map<std::string, Device> devices;
    std::map<std::string, PodUid> owners;
  };
  struct Waiter {
    PodUid uid;
    int32_t priority = 0;
    std::map<ResourceName, int64_t> amounts;
  };

  std::optional<Booking> check_plugins(const PodNeeds& pod) const;
  std::optional<Booking> check_line(const PodNeeds& pod, const Lives& lives);
  std::optional<Booking> choose(const PodNeeds& pod, const ResourceName& resource, Held& held) const;
  void wait_in_line(const PodNeeds& pod);
  void release_dead(const ResourceName& resource, const Lives& lives);
  void enter(const PodUid& uid, const Held& held);

  std::map<ResourceName, Resource> resources_;
  std::map<PodUid, Held> books_;
  std::vector<Waiter> line_;  // in the order of coming
  uint64_t last_generation_ = 0;
};

}  // namespace podwright::devices
