// The value of a resourceFieldRef, as environment variables and downwardAPI files have it.
#pragma once

#include <absl/status/statusor.h>

#include <string>

#include "api/types.h"

namespace podwright::volumes {

// What a container without a limit may use at most.
struct NodeShare {
  int64_t cpu_milli = 0;
  int64_t memory_bytes = 0;
};

// "limits.cpu" divided by the divisor (1 unit where there is none) and rounded up. A missing limit is the pod's, or the
// node's; a missing request is 0.
absl::StatusOr<std::string> resource_field(const core::Pod& pod, const core::Container& container,
                                           const core::ResourceFieldSelector& ref, const NodeShare& node);

}  // namespace podwright::volumes
