// absorb(): folds what was seen of a pod into its record: IDs, states, exits. Pure. Facts hold for a container ID: a
// container with a new ID inherits nothing from the one before it.
#pragma once

#include <vector>

#include "agent/pods/containers.h"
#include "agent/pods/record.h"
#include "pleg/pod_runtime.h"

namespace podwright::sync {

struct Absorbed {
  // The record changed and must be kept.
  bool changed = false;
  // What a success may not be told of before it is power-safe (policy not Always, exit 0).
  bool needs_power_safe = false;
  // Containers whose end was learnt in this look.
  std::vector<pods::ExitRecord> ended;
};

// `seen` is a complete look at the pod. A container that the record has as running and that the runtime no longer
// knows ended in a way nobody can tell (137/ContainerStatusUnknown), unless a start is in flight (`in_flight`).
Absorbed absorb(pods::PodRecord& record, const pods::PodPtr& pod, const pleg::PodRuntime& seen, Instant now,
                WallTime wall, bool in_flight);

}  // namespace podwright::sync
