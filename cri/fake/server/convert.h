// CRI v1 messages as a runtime reads and writes them: the other direction of cri/grpc/convert.h.
#pragma once

#include "cri/grpc/convert.h"

namespace podwright::cri {

SandboxConfig config_from_wire(const wire::PodSandboxConfig& config, const std::string& runtime_handler);
ContainerConfig config_from_wire(const wire::ContainerConfig& config);

wire::PodSandbox list_item(const SandboxStatus& status);
wire::PodSandboxStatus status_message(const SandboxStatus& status);
wire::Container list_item(const ContainerStatus& status);
wire::ContainerStatus status_message(const ContainerStatus& status);
wire::Image image_message(const Image& image);
wire::StatusResponse status_message(const RuntimeStatus& status);

// Nothing where the contract has no such event.
std::optional<wire::ContainerEventResponse> event_message(const Event& event);

}  // namespace podwright::cri
