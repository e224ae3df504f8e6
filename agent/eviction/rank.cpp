#include "agent/eviction/rank.h"

#include <algorithm>

#include "api/resources.h"

namespace podwright::eviction {
namespace {

constexpr std::string_view kLowOnResource = "The node was low on resource: ";
// What agent/admission says of a pod that it did not let in.
constexpr std::string_view kNotLetIn = "Pod was rejected: The node had condition: ";

// What decides a pod's place.
struct Key {
  bool known = false;
  bool above_request = false;
  int32_t priority = 0;
  int64_t above = 0;  // its use beyond its request; negative below it
};

int64_t request_of_pod(const core::Pod& pod, const std::string& resource) {
  const api::Amounts requests = api::effective_requests(pod);
  const auto found = requests.find(resource);
  return found == requests.end() ? 0 : found->second;
}

Key key_of(const Candidate& candidate, Signal signal, const usage::NodeUsage& node) {
  Key key;
  key.priority = candidate.pod->spec().priority();
  if (!candidate.usage) return key;
  std::optional<int64_t> used;
  int64_t request = 0;
  if (is_memory(signal)) {
    if (const auto working_set = candidate.usage->working_set_bytes()) used = static_cast<int64_t>(*working_set);
    request = request_of_pod(*candidate.pod, "memory");
  } else if (is_disk(signal)) {
    used = static_cast<int64_t>(disk_used(*candidate.usage, parts_on(signal, node), is_inodes(signal)));
    // Nobody requests inodes.
    if (!is_inodes(signal)) request = request_of_pod(*candidate.pod, "ephemeral-storage");
  } else {
    used = static_cast<int64_t>(candidate.usage->processes());
  }
  if (!used) return key;
  key.known = true;
  key.above = *used - request;
  // Of processes nothing is requested, and the priority decides first.
  key.above_request = signal != Signal::kPids && key.above > 0;
  return key;
}

// The use of one container, of the resource that is starved; nothing where it is not known.
std::optional<int64_t> used_by(const usage::ContainerUsage& container, Signal signal) {
  if (is_memory(signal)) {
    if (!container.cgroup.memory) return std::nullopt;
    return static_cast<int64_t>(container.cgroup.memory->working_set_bytes);
  }
  if (signal == Signal::kPids || is_inodes(signal)) return std::nullopt;
  return static_cast<int64_t>((container.rootfs ? container.rootfs->bytes : 0) +
                              (container.logs ? container.logs->bytes : 0));
}

const core::Container* find(const core::Pod& pod, const std::string& name) {
  for (const core::Container& container : pod.spec().containers()) {
    if (container.name() == name) return &container;
  }
  for (const core::Container& container : pod.spec().initcontainers()) {
    if (container.name() == name) return &container;
  }
  return nullptr;
}

}  // namespace

DiskParts parts_on(Signal signal, const usage::NodeUsage& node) {
  if (!node.has_image_fs()) return {};
  const bool layers_on_node = node.container_fs && node.container_fs->device_number == node.root_fs->device_number;
  if (signal == Signal::kNodeFs || signal == Signal::kNodeFsInodes) {
    return {.layers = layers_on_node, .logs = true, .volumes = true};
  }
  return {.layers = !layers_on_node, .logs = false, .volumes = false};
}

uint64_t disk_used(const usage::PodUsage& pod, DiskParts parts, bool inodes) {
  uint64_t sum = 0;
  const auto add = [&](const usage::DiskUsage& used) { sum += inodes ? used.inodes : used.bytes; };
  for (const usage::ContainerUsage& container : pod.containers) {
    if (parts.layers && container.rootfs) add(*container.rootfs);
    if (parts.logs && container.logs) add(*container.logs);
  }
  for (const usage::VolumeUsage& volume : pod.volumes) {
    if (parts.volumes && volume.local) add(volume.used);
  }
  return sum;
}

std::vector<Candidate> rank(std::vector<Candidate> candidates, Signal signal, const usage::NodeUsage& node) {
  std::vector<std::pair<Key, Candidate>> keyed;
  keyed.reserve(candidates.size());
  for (Candidate& candidate : candidates) {
    const Key key = key_of(candidate, signal, node);
    keyed.emplace_back(key, std::move(candidate));
  }
  std::stable_sort(keyed.begin(), keyed.end(), [](const auto& left, const auto& right) {
    const Key &a = left.first, &b = right.first;
    if (a.known != b.known) return !a.known;
    if (a.above_request != b.above_request) return a.above_request;
    if (a.priority != b.priority) return a.priority < b.priority;
    return a.above > b.above;
  });
  candidates.clear();
  for (auto& [key, candidate] : keyed) candidates.push_back(std::move(candidate));
  return candidates;
}

std::string eviction_message(const Candidate& victim, const Threshold& threshold, const Level& level) {
  const Signal signal = threshold.signal;
  const std::string resource(resource_of(signal));
  std::string text =
      fmt::format("{}{}. Threshold quantity: {}, available: {}. ", kLowOnResource, resource,
                  amount_text(signal, threshold.amount.of(level.capacity)), amount_text(signal, level.available));
  if (!victim.usage) return text;
  for (const usage::ContainerUsage& container : victim.usage->containers) {
    const core::Container* spec = find(*victim.pod, container.name.value);
    const auto used = used_by(container, signal);
    if (spec == nullptr || !used) continue;
    const int64_t request = api::request_of(*spec, resource);
    if (*used <= request) continue;
    text += fmt::format("Container {} was using {}, request is {}, has larger consumption of {}. ",
                        container.name.value, amount_text(signal, *used), amount_text(signal, request), resource);
  }
  return text;
}

bool tells_of_pressure(std::string_view status_message) {
  return status_message.starts_with(kLowOnResource) || status_message.starts_with(kNotLetIn);
}

}  // namespace podwright::eviction
