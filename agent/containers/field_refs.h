// The downward API: fields and resources of a pod as text (behaviours 24). For environments and volumes.
#pragma once

#include "agent/containers/config.h"

namespace podwright::containers {

// The value of "metadata.name", "metadata.labels['k']", "status.podIP" and their like; InvalidArgument for a path that
// is not offered.
absl::StatusOr<std::string> field_value(const core::Pod& pod, const std::string& path, const NodeFacts& node,
                                        const std::vector<std::string>& pod_ips);

// limits.* or requests.* of a container over the divisor, rounded up; a missing limit is the node's allocatable.
absl::StatusOr<std::string> resource_value(const core::Pod& pod, const core::Container& container,
                                           const core::ResourceFieldSelector& ref, const NodeFacts& node);

}  // namespace podwright::containers
