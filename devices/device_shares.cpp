#include "devices/device_shares.h"

#include <algorithm>

namespace podwright::devices {
namespace {

// How long the capacity of a plugin that went away stands. Source: kubelet devicemanager, endpointStopGracePeriod.
constexpr auto kStopGrace = std::chrono::minutes(5);

constexpr char kForPlugin[] = "WaitingForDevicePlugin";
constexpr char kForDevices[] = "WaitingForDevices";

Booking not_yet(std::string reason, std::string message) {
  return {Booking::Answer::kNotYet, std::move(reason), std::move(message)};
}

// What the whole pod needs at once of each resource, at most.
std::map<ResourceName, int64_t> peak_of(const PodNeeds& pod) {
  std::map<ResourceName, int64_t> init, sidecars, peak;
  for (const auto& container : pod.containers) {
    for (const auto& [resource, amount] : container.amounts) {
      switch (container.order) {
        case ContainerOrder::kInit: init[resource] = std::max(init[resource], sidecars[resource] + amount); break;
        case ContainerOrder::kSidecar:
          sidecars[resource] += amount;
          peak[resource] += amount;
          break;
        case ContainerOrder::kApp: peak[resource] += amount; break;
      }
    }
  }
  for (const auto& [resource, amount] : init) peak[resource] = std::max(peak[resource], amount);
  return peak;
}

}  // namespace

bool PodNeeds::any() const {
  return std::any_of(containers.begin(), containers.end(), [](const auto& one) { return !one.amounts.empty(); });
}

uint64_t DeviceShares::open(const ResourceName& resource) {
  Resource& entry = resources_[resource];
  entry.generation = ++last_generation_;
  entry.listed = false;
  return entry.generation;
}

bool DeviceShares::put_list(const ResourceName& resource, uint64_t generation, const std::vector<Device>& list) {
  const auto found = resources_.find(resource);
  if (found == resources_.end() || found->second.generation != generation) return false;
  std::map<std::string, Device> devices;
  for (const auto& device : list) devices.insert_or_assign(device.id, device);
  Resource& entry = found->second;
  const bool changed = !entry.listed || entry.stopped || entry.devices != devices;
  entry.devices = std::move(devices);
  entry.listed = true;
  entry.stopped.reset();
  return changed;
}

bool DeviceShares::close(const ResourceName& resource, uint64_t generation, Instant now) {
  const auto found = resources_.find(resource);
  if (found == resources_.end() || found->second.generation != generation) return false;
  found->second.listed = false;
  found->second.stopped = now;
  for (auto& [id, device] : found->second.devices) device.healthy = false;
  return true;
}

Booking DeviceShares::book(const PodNeeds& pod, const Lives& lives) {
  for (const auto& container : pod.containers) {
    for (const auto& [resource, amount] : container.amounts) {
      if (amount < 0) {
        return {Booking::Answer::kNever, "UnexpectedAdmissionError",
                fmt::format("container {} asks for {} devices of {}", container.name, amount, resource)};
      }
    }
  }
  if (auto no = check_plugins(pod)) return *std::move(no);
  const auto peak = peak_of(pod);
  for (const auto& [resource, amount] : peak) release_dead(resource, lives);
  // A pod that holds its devices already stands in no line.
  if (!books_.contains(pod.uid)) {
    if (auto no = check_line(pod, lives)) {
      wait_in_line(pod);
      return *std::move(no);
    }
  }
  Held held = held_by(pod.uid);
  for (const auto& [resource, amount] : peak) {
    if (auto no = choose(pod, resource, held)) {
      if (no->answer == Booking::Answer::kNotYet) wait_in_line(pod);
      return *std::move(no);
    }
  }
  enter(pod.uid, held);
  std::erase_if(line_, [&](const Waiter& waiter) { return waiter.uid == pod.uid; });
  return {};
}

std::optional<Booking> DeviceShares::check_plugins(const PodNeeds& pod) const {
  for (const auto& [resource, amount] : peak_of(pod)) {
    if (amount == 0) continue;
    const auto found = resources_.find(resource);
    if (found == resources_.end() || found->second.generation == 0) {
      return not_yet(kForPlugin,
                     fmt::format("no device plugin for {} has registered since the agent's start", resource));
    }
    if (found->second.stopped) {
      return not_yet(kForPlugin, fmt::format("the device plugin for {} is gone", resource));
    }
    if (!found->second.listed) {
      return not_yet(kForPlugin, fmt::format("the device plugin for {} has not yet reported devices", resource));
    }
  }
  return std::nullopt;
}

std::optional<Booking> DeviceShares::check_line(const PodNeeds& pod, const Lives& lives) {
  std::erase_if(line_, [&](const Waiter& waiter) { return waiter.uid != pod.uid && !lives(waiter.uid); });
  const auto needs = peak_of(pod);
  for (const auto& waiter : line_) {
    if (waiter.uid == pod.uid) {
      // Who came later goes first only where it weighs more.
      continue;
    }
    const auto own = std::find_if(line_.begin(), line_.end(), [&](const Waiter& one) { return one.uid == pod.uid; });
    const bool came_first = own == line_.end() || &waiter < &*own;
    const bool ahead = waiter.priority > pod.priority || (waiter.priority == pod.priority && came_first);
    if (!ahead) continue;
    bool meets = false;
    bool can_ever = true;  // who asks for more than there is keeps nobody waiting
    for (const auto& [resource, amount] : waiter.amounts) {
      const auto own_need = needs.find(resource);
      meets = meets || (amount > 0 && own_need != needs.end() && own_need->second > 0);
      const auto& all = devices_of(resource);
      const auto healthy = std::count_if(all.begin(), all.end(), [](const auto& one) { return one.second.healthy; });
      can_ever = can_ever && amount <= healthy;
    }
    if (meets && can_ever) {
      return not_yet(kForDevices, "other pods wait in line for the same devices");
    }
  }
  return std::nullopt;
}

std::optional<Booking> DeviceShares::choose(const PodNeeds& pod, const ResourceName& resource, Held& held) const {
  const auto& entry = resources_.find(resource)->second;
  std::set<std::string> reusable, taken;
  for (const auto& [container, resources] : held) {
    if (const auto ids = resources.find(resource); ids != resources.end()) {
      taken.insert(ids->second.begin(), ids->second.end());
    }
  }
  for (const auto& container : pod.containers) {
    const auto amount = container.amounts.find(resource);
    if (amount == container.amounts.end() || amount->second == 0) continue;
    auto& ids = held[container.name][resource];
    if (!ids.empty() && static_cast<int64_t>(ids.size()) != amount->second) {
      return Booking{Booking::Answer::kNever, "UnexpectedAdmissionError",
                     fmt::format("pod \"{}\" container \"{}\" changed request for resource \"{}\" from {} to {}",
                                 pod.uid, container.name, resource, ids.size(), amount->second)};
    }
    if (ids.empty()) {
      for (const auto& id : reusable) {
        if (static_cast<int64_t>(ids.size()) < amount->second) ids.push_back(id);
      }
      int64_t available = static_cast<int64_t>(ids.size());
      for (const auto& [id, device] : entry.devices) {
        if (!device.healthy || entry.owners.contains(id) || taken.contains(id)) continue;
        ++available;
        if (static_cast<int64_t>(ids.size()) < amount->second) ids.push_back(id);
      }
      if (available < amount->second) {
        return not_yet(kForDevices,
                       fmt::format("requested number of devices unavailable for {}. Requested: {}, Available: {}",
                                   resource, amount->second, available));
      }
    } else {
      const bool sound = std::all_of(ids.begin(), ids.end(), [&](const std::string& id) {
        const auto device = entry.devices.find(id);
        return device != entry.devices.end() && device->second.healthy;
      });
      if (!sound) {
        return not_yet(kForDevices, fmt::format("previously allocated devices are no longer healthy; cannot allocate "
                                                "unhealthy devices {}",
                                                resource));
      }
    }
    taken.insert(ids.begin(), ids.end());
    for (const auto& id : ids) {
      if (container.order == ContainerOrder::kInit) {
        reusable.insert(id);
      } else {
        reusable.erase(id);
      }
    }
  }
  return std::nullopt;
}

void DeviceShares::wait_in_line(const PodNeeds& pod) {
  for (const auto& waiter : line_) {
    if (waiter.uid == pod.uid) return;
  }
  line_.push_back({pod.uid, pod.priority, peak_of(pod)});
}

void DeviceShares::release_dead(const ResourceName& resource, const Lives& lives) {
  std::set<PodUid> dead;
  for (const auto& [id, owner] : resources_[resource].owners) {
    if (!lives(owner)) dead.insert(owner);
  }
  for (const auto& uid : dead) release(uid);
}

void DeviceShares::enter(const PodUid& uid, const Held& held) {
  for (const auto& [container, resources] : held) {
    for (const auto& [resource, ids] : resources) {
      for (const auto& id : ids) resources_[resource].owners[id] = uid;
    }
  }
  books_[uid] = held;
}

bool DeviceShares::exchange(const PodUid& uid, const ContainerName& container, const ResourceName& resource,
                            const std::vector<std::string>& ids) {
  const auto book = books_.find(uid);
  if (book == books_.end()) return false;
  const auto found = book->second.find(container);
  if (found == book->second.end() || !found->second.contains(resource)) return false;
  auto& own = found->second[resource];
  const std::set<std::string> wanted(ids.begin(), ids.end());
  if (wanted.size() != own.size()) return false;
  for (const auto& [other, resources] : book->second) {
    const auto theirs = resources.find(resource);
    if (other == container || theirs == resources.end()) continue;
    for (const auto& id : theirs->second) {
      if (wanted.contains(id) || std::find(own.begin(), own.end(), id) != own.end()) return false;
    }
  }
  Resource& entry = resources_[resource];
  for (const auto& id : wanted) {
    const auto device = entry.devices.find(id);
    const auto owner = entry.owners.find(id);
    if (device == entry.devices.end() || !device->second.healthy) return false;
    if (owner != entry.owners.end() && owner->second != uid) return false;
  }
  for (const auto& id : own) entry.owners.erase(id);
  for (const auto& id : wanted) entry.owners[id] = uid;
  own.assign(wanted.begin(), wanted.end());
  return true;
}

void DeviceShares::adopt(const PodUid& uid, const Held& held) {
  if (!held.empty()) enter(uid, held);
}

void DeviceShares::release(const PodUid& uid) {
  std::erase_if(line_, [&](const Waiter& waiter) { return waiter.uid == uid; });
  const auto book = books_.find(uid);
  if (book == books_.end()) return;
  for (const auto& [container, resources] : book->second) {
    for (const auto& [resource, ids] : resources) {
      auto& owners = resources_[resource].owners;
      std::erase_if(owners, [&](const auto& one) { return one.second == uid; });
    }
  }
  books_.erase(book);
}

const Held& DeviceShares::held_by(const PodUid& uid) const {
  static const Held none;
  const auto found = books_.find(uid);
  return found == books_.end() ? none : found->second;
}

std::vector<std::string> DeviceShares::free_of(const ResourceName& resource) const {
  std::vector<std::string> free;
  const auto found = resources_.find(resource);
  if (found == resources_.end()) return free;
  for (const auto& [id, device] : found->second.devices) {
    if (device.healthy && !found->second.owners.contains(id)) free.push_back(id);
  }
  return free;
}

std::map<ResourceName, Counts> DeviceShares::counts(Instant now) const {
  std::map<ResourceName, Counts> counts;
  for (const auto& [resource, entry] : resources_) {
    if (entry.generation == 0) continue;  // known only by what a pod holds
    Counts& count = counts[resource];
    count.held = static_cast<int64_t>(entry.owners.size());
    if (entry.stopped && now - *entry.stopped >= kStopGrace) continue;
    count.capacity = static_cast<int64_t>(entry.devices.size());
    for (const auto& [id, device] : entry.devices) count.allocatable += device.healthy ? 1 : 0;
  }
  return counts;
}

const std::map<std::string, Device>& DeviceShares::devices_of(const ResourceName& resource) const {
  static const std::map<std::string, Device> none;
  const auto found = resources_.find(resource);
  return found == resources_.end() ? none : found->second.devices;
}

}  // namespace podwright::devices
