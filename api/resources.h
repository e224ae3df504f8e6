// What a pod asks for, computed from its spec; pure. Source: k8s.io/component-helpers/resource (PodRequests, PodLimits)
// and pkg/apis/core/v1/helper/qos.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include "api/types.h"

namespace podwright::api {

enum class Qos { kGuaranteed, kBurstable, kBestEffort };
std::string_view name_of(Qos qos);

// Of cpu and memory, of init containers and sidecars too; pod-level resources decide alone where they are set.
Qos qos_of(const core::Pod& pod);

// An amount of each resource: cpu in thousandths, all others in units.
using Amounts = std::map<std::string, int64_t>;

// max(regular + sidecars, each init with the sidecars before it) + overhead; pod-level values override.
Amounts effective_requests(const core::Pod& pod);
// The same of limits; a resource is listed only where every container that counts declares it.
Amounts effective_limits(const core::Pod& pod);

// A container's own value, in thousandths for cpu; 0 where it has none.
int64_t request_of(const core::Container& container, const std::string& resource);
int64_t limit_of(const core::Container& container, const std::string& resource);
bool has_limit(const core::Container& container, const std::string& resource);
bool has_request(const core::Container& container, const std::string& resource);

}  // namespace podwright::api
