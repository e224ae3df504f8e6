#include "agent/usage/snapshot.h"

namespace podwright::usage {
namespace {

// The pod's own number, or the sum of its containers' where it has no cgroup.
template <class Of>
std::optional<uint64_t> total(const PodUsage& pod, Of of) {
  if (pod.cgroup) return of(*pod.cgroup);
  std::optional<uint64_t> sum;
  for (const ContainerUsage& container : pod.containers) {
    if (const auto value = of(container.cgroup)) sum = sum.value_or(0) + *value;
  }
  return sum;
}

}  // namespace

std::optional<uint64_t> PodUsage::cpu_usage_ns() const {
  return total(*this,
               [](const CgroupUsage& from) { return from.cpu ? std::optional(from.cpu->usage_ns) : std::nullopt; });
}

std::optional<uint64_t> PodUsage::working_set_bytes() const {
  return total(*this, [](const CgroupUsage& from) {
    return from.memory ? std::optional(from.memory->working_set_bytes) : std::nullopt;
  });
}

std::optional<uint64_t> PodUsage::swap_bytes() const {
  return total(*this, [](const CgroupUsage& from) { return from.memory ? from.memory->swap_bytes : std::nullopt; });
}

uint64_t PodUsage::processes() const {
  uint64_t sum = 0;
  const auto add = [&sum](const CgroupUsage& from) { sum += from.processes ? from.processes->processes : 0; };
  if (sandbox) add(*sandbox);
  for (const ContainerUsage& container : containers) add(container.cgroup);
  return sum;
}

WallTime PodUsage::at() const {
  if (cgroup) return cgroup->at;
  return containers.empty() ? WallTime() : containers.front().cgroup.at;
}

}  // namespace podwright::usage
