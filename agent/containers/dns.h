// A pod's DNS configuration (behaviours 30); pure.
#pragma once

#include "agent/containers/config.h"

namespace podwright::containers {

// The configuration, and warnings {reason, message} where something was left out.
cri::DnsConfig dns_of(const core::Pod& pod, const NodeFacts& node,
                      std::vector<std::pair<std::string, std::string>>& warnings);

}  // namespace podwright::containers
