// Between a pod's extended resources and the devices that plugins give for them. Pure.
#pragma once

#include "agent/containers/config.h"
#include "agent/pods/containers.h"
#include "devices/device_shares.h"

namespace podwright::sync {

// What the pod's containers ask for of resources that device plugins offer.
devices::PodNeeds device_needs(const PodUid& uid, const pods::PodPtr& pod);

// Puts what a container got for its devices into its configuration. The pod's own variables come later and win.
// Source: kubelet kuberuntime, where the plugins' variables stand before the pod's.
void add_devices(const devices::ContainerSetup& setup, containers::ContainerInputs& inputs);

}  // namespace podwright::sync
