// Pods with what they use, and levels of a node, for tests of eviction.
#pragma once

#include "agent/eviction/rank.h"
#include "tests/agent/sample_pods.h"

namespace podwright::eviction {

constexpr int64_t kMi = 1 << 20;
constexpr int64_t kGi = 1 << 30;

inline Amount bytes(int64_t value) {
  return {.percent = {}, .value = value};
}
inline Amount percent(double value) {
  return {.percent = value, .value = 0};
}

// A pod of one container `c`; `resources` is the YAML of its resources.
inline pods::PodPtr a_named_pod(const std::string& name, const std::string& resources = "{}", int32_t priority = 0,
                                const std::string& more = "") {
  auto pod = std::make_shared<core::Pod>(*a_pod("{priority: " + std::to_string(priority) +
                                                ", containers: [{name: c, image: i:1, resources: " + resources + "}]" +
                                                more + "}"));
  pod->mutable_metadata()->set_name(name);
  pod->mutable_metadata()->set_uid(name);
  return pod;
}

struct Used {
  int64_t memory = 0;
  int64_t layer = 0, logs = 0, volume = 0;
  uint64_t processes = 1;
};

inline usage::PodUsagePtr uses(const pods::PodPtr& pod, Used used) {
  auto found = std::make_shared<usage::PodUsage>();
  found->key = pods::key_of(*pod);
  found->uid = pods::uid_of(*pod);
  found->pod = pod;
  usage::CgroupUsage cgroup;
  cgroup.memory.emplace();
  cgroup.memory->working_set_bytes = static_cast<uint64_t>(used.memory);
  cgroup.processes.emplace();
  cgroup.processes->processes = used.processes;
  found->cgroup = cgroup;
  usage::ContainerUsage container;
  container.name = ContainerName("c");
  container.cgroup = cgroup;
  container.rootfs = usage::DiskUsage{.bytes = static_cast<uint64_t>(used.layer), .inodes = 1, .at = {}};
  container.logs = usage::DiskUsage{.bytes = static_cast<uint64_t>(used.logs), .inodes = 1, .at = {}};
  found->containers.push_back(container);
  if (used.volume > 0) {
    usage::VolumeUsage volume;
    volume.name = "data";
    volume.local = true;
    volume.used = {.bytes = static_cast<uint64_t>(used.volume), .inodes = 10, .at = {}};
    found->volumes.push_back(volume);
  }
  return found;
}

inline Candidate a_candidate(const std::string& name, const std::string& resources, int32_t priority, Used used) {
  const pods::PodPtr pod = a_named_pod(name, resources, priority);
  return {pod, uses(pod, used)};
}

inline std::vector<std::string> names_of(const std::vector<Candidate>& candidates) {
  std::vector<std::string> names;
  for (const Candidate& candidate : candidates) names.push_back(candidate.pod->metadata().name());
  return names;
}

}  // namespace podwright::eviction
