// The machine under the agent, looked at once at start, and the duties that a node agent has towards it before it
// begins (behaviours 35).
#pragma once

#include <absl/status/statusor.h>

#include <string>
#include <vector>

#include "agent/agent.h"
#include "agent/config/config.h"
#include "agent/config/load.h"
#include "base/files/tree.h"

namespace podwright {

// Name and cgroup version, for defaults and validation of the configuration.
config::Host look_at_host(Tree& tree);

// Boot, cores, memory, addresses, cgroups. An error names what is missing and how to mend it.
absl::StatusOr<Machine> look_at_machine(Tree& tree);

// Root, cgroup version, swap: what must hold, else the start is refused with the remedy. Limits, oom_score_adj and the
// shared root mount: set where it is allowed, warned about where not.
absl::Status prepare_host(const config::Config& config, Machine& machine, Tree& tree);

// kubeletCgroups and systemCgroups: the agent, and the processes in the root cgroup that are no kernel threads and not
// process 1, move where the configuration says. Nothing else is ever moved.
void take_places(const config::CgroupSettings& settings, const cgroups::Hierarchy& hierarchy, Tree& tree);

}  // namespace podwright
