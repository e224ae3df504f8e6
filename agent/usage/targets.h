// What of a pod's spec the readers need to know. Pure.
#pragma once

#include <string>
#include <vector>

#include "agent/usage/pod_reader.h"
#include "api/types.h"

namespace podwright::usage {

// Volumes whose size is found by walking: those that are directories below the pod's own.
// Source: pkg/volume, the kinds whose metrics are of type du.
std::vector<VolumeTarget> volume_targets(const core::Pod& pod, const std::string& pod_dir);

// Whether any volume or container has a bound of local storage, so that its size is looked at often.
bool has_storage_bound(const core::Pod& pod);

}  // namespace podwright::usage
