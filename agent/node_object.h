// The Node as this agent knows it, without an API server: what `podwright get nodes` shows.
#pragma once

#include <memory>

#include "agent/agent.h"
#include "api/types.h"

namespace podwright {

std::shared_ptr<const core::Node> node_object(Agent& agent);

}  // namespace podwright
