// From a pod's spec and record to what probes and hooks are handed.
#pragma once

#include "agent/containers/config.h"
#include "agent/sync/pod_context.h"
#include "probes/spec.h"

namespace podwright::sync {

probes::ProbeTarget probe_target(const PodContext& pod, const pods::ContainerRef& container, ContainerId id,
                                 const containers::NodeFacts& node);

// The probes that the container has, defaults applied and port names looked up.
probes::ProbeSpecs probe_specs(const pods::ContainerRef& container);

}  // namespace podwright::sync
