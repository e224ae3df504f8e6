// From a pod's spec and record to what probes and hooks are handed: defaults applied, port names looked up.
#pragma once

#include "agent/containers/config.h"
#include "agent/sync/pod_context.h"
#include "probes/spec.h"

namespace podwright::sync {

probes::ProbeTarget probe_target(const PodContext& pod, const pods::ContainerRef& container, ContainerId id,
                                 const containers::NodeFacts& node);

probes::ProbeSpecs probe_specs(const pods::ContainerRef& container);

// InvalidArgument where the handler names nothing that can be run.
absl::StatusOr<probes::HookAction> hook_action(const core::LifecycleHandler& handler,
                                               const pods::ContainerRef& container);

}  // namespace podwright::sync
