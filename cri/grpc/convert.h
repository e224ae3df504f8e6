// Our words to CRI v1 messages and back.
#pragma once

#include "cri/types.h"
#include "cri/v1.pb.h"

namespace podwright::cri {

namespace wire = ::runtime::v1;

wire::PodSandboxConfig to_wire(const SandboxConfig& config);
wire::ContainerConfig to_wire(const ContainerConfig& config);
wire::LinuxContainerResources to_wire(const Resources& resources);

SandboxStatus from_wire(const wire::PodSandbox& sandbox);
SandboxStatus from_wire(const wire::PodSandboxStatus& status);
ContainerStatus from_wire(const wire::Container& container);
ContainerStatus from_wire(const wire::ContainerStatus& status);
Image from_wire(const wire::Image& image);
RuntimeStatus from_wire(const wire::StatusResponse& response);
Resources from_wire(const wire::LinuxContainerResources& resources);

}  // namespace podwright::cri
