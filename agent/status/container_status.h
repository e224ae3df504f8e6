// One container's status as the API shows it (behaviours 13), from what was seen and from the record.
#pragma once

#include "agent/status/compute.h"

namespace podwright::status {

core::ContainerStatus container_status(const Inputs& inputs, const pods::ContainerRef& container);

// Whether every regular init container of the pod is done, or was in this sandbox.
bool is_initialized(const Inputs& inputs);

core::ContainerStateTerminated to_terminated(const pods::ExitRecord& exit);

}  // namespace podwright::status
