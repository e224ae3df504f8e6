// The conditions that the agent owns (behaviours 15); those of others are carried over untouched.
#pragma once

#include "agent/status/compute.h"

namespace podwright::status {

// Adds the conditions to `status`, whose phase and container statuses stand. A condition whose status does not change
// keeps its lastTransitionTime from `inputs.previous`.
void set_conditions(const Inputs& inputs, core::PodStatus& status);

}  // namespace podwright::status
