// A container's resources as cgroup values (behaviours 26); pure.
#pragma once

#include "agent/containers/config.h"

namespace podwright::containers {

// shares, quota and period, memory limit, huge pages, oom_score_adj, cgroup v2 keys.
cri::Resources container_resources(const core::Pod& pod, const core::Container& container, const NodeFacts& node);

// -997 for Guaranteed and node-critical pods, 1000 for BestEffort; in between by the share of the node's memory that
// is requested, at least 3 and at most 999.
int64_t oom_score_adj(const core::Pod& pod, const core::Container& container, int64_t memory_capacity_bytes);

int64_t milli_to_shares(int64_t milli);
int64_t milli_to_quota(int64_t milli, int64_t period_us);

}  // namespace podwright::containers
