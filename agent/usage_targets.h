// What agent/usage and the probes look at, gathered from what the agent knows of its pods.
#pragma once

#include <optional>
#include <vector>

#include "agent/cgroups/pod_cgroups.h"
#include "agent/config/config.h"
#include "agent/containers/config.h"
#include "agent/pods/node_view.h"
#include "agent/usage/node_reader.h"
#include "agent/usage/pod_reader.h"
#include "pleg/runtime_cache.h"

namespace podwright {

// The pods that have something at the runtime, with their running containers.
std::vector<usage::PodTarget> usage_targets(const pods::NodeView& view, const pleg::RuntimeCache& cache,
                                            const cgroups::PodCgroups& cgroups, const containers::NodeFacts& node);

// `driver` is the one in use.
usage::NodeTarget usage_node(const config::Config& config, cgroups::DriverKind driver);

// How many processes run in a container's cgroup and below; nothing where it has none of its own.
std::optional<uint32_t> container_processes(Tree& tree, const cgroups::PodCgroups& cgroups, const PodUid& uid,
                                            const ContainerId& id);

}  // namespace podwright
