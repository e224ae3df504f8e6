// In which order pods are stopped for one signal, and what is said of the one that is. Pure.
// Source: pkg/kubelet/eviction/helpers.go (rankMemoryPressure, rankDiskPressureFunc, rankPIDPressure, evictionMessage).
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "agent/eviction/decide.h"
#include "agent/usage/snapshot.h"

namespace podwright::eviction {

// A pod that runs, with what it uses; null where that is not known.
struct Candidate {
  pods::PodPtr pod;
  usage::PodUsagePtr usage;
};

// Which parts of a pod's local storage are on the file system of a signal.
struct DiskParts {
  bool layers = true, logs = true, volumes = true;
};
DiskParts parts_on(Signal signal, const usage::NodeUsage& node);
// What the pod has there: bytes, or inodes.
uint64_t disk_used(const usage::PodUsage& pod, DiskParts parts, bool inodes);

// First the one to stop first: unknown use, then use above request, then lower priority, then most above request.
std::vector<Candidate> rank(std::vector<Candidate> candidates, Signal signal, const usage::NodeUsage& node);

// "The node was low on resource: memory. Threshold quantity: 100Mi, available: 50Mi. Container c was using ... "
std::string eviction_message(const Candidate& victim, const Threshold& threshold, const Level& level);

// Whether a status' message says that the pod was stopped, or was not let in, for the node's pressure: then the pod
// itself did nothing wrong. The message is all of an eviction that outlives a restart.
bool tells_of_pressure(std::string_view status_message);

}  // namespace podwright::eviction
