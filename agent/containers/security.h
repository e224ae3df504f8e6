// Security context of pods and containers in the runtime's terms (behaviours 23). A field that cannot be understood or
// honoured is an error: a container is never started with less protection than was asked for (S10).
#pragma once

#include "agent/containers/config.h"

namespace podwright::containers {

absl::Status set_sandbox_security(const core::Pod& pod, const NodeFacts& node,
                                  const std::optional<uint32_t>& userns_base, cri::SandboxConfig& config);

absl::Status set_container_security(const ContainerInputs& inputs, const NodeFacts& node, cri::ContainerConfig& config);

}  // namespace podwright::containers
