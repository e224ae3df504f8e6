// Pods that use more local storage than they may: a pod is stopped for it whether or not the node is under pressure.
// Pure. Source: pkg/kubelet/eviction/eviction_manager.go, localStorageEviction.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "agent/eviction/rank.h"

namespace podwright::eviction {

// What a pod is over, as the metrics name it, and what is said of it.
struct OverLimit {
  std::string_view signal;
  std::string message;
};

// Nothing where the pod keeps within its limits.
std::optional<OverLimit> over_local_storage(const Candidate& candidate, const usage::NodeUsage& node);

}  // namespace podwright::eviction
