// May a container run again? Pure; behaviours 7 and KEP-5307 (container restart rules).
#pragma once

#include <optional>

#include "agent/pods/containers.h"

namespace podwright::sync {

enum class Restart {
  kNo,
  kYes,
  kAllContainers,  // a rule asks for every container of the pod to start anew
};

// What follows an end with `exit_code`. A sidecar always restarts; an init container never after 0; an ephemeral one
// never. The first matching restartPolicyRules entry decides, then the container's own policy, then the pod's.
// A pod with a deletionTimestamp restarts nothing.
Restart restart_after(const core::Pod& pod, const pods::ContainerRef& container, int32_t exit_code);

// Whether a running container that fails its liveness or startup probe starts again after it was killed.
bool restarts_after_probe_kill(const core::Pod& pod, const pods::ContainerRef& container);

// The policy is Always whatever happens, so that a start waits for no fsync.
bool always_restarts(const core::Pod& pod, const pods::ContainerRef& container);

}  // namespace podwright::sync
