#include "agent/sync/container_devices.h"

#include "api/amount.h"
#include "devices/device_plugins.h"

namespace podwright::sync {

devices::PodNeeds device_needs(const PodUid& uid, const pods::PodPtr& pod) {
  devices::PodNeeds needs;
  needs.uid = uid;
  needs.priority = pod->spec().priority();
  for (const auto& container : pods::containers_of(pod)) {
    devices::ContainerNeeds one;
    one.name = container.name;
    switch (container.kind) {
      case pods::ContainerKind::kInit: one.order = devices::ContainerOrder::kInit; break;
      case pods::ContainerKind::kSidecar: one.order = devices::ContainerOrder::kSidecar; break;
      case pods::ContainerKind::kRegular: one.order = devices::ContainerOrder::kApp; break;
      case pods::ContainerKind::kEphemeral: continue;  // has no resources
    }
    for (const auto& [name, quantity] : container.spec->resources().limits()) {
      const int64_t amount = api::units_of(quantity);
      if (amount != 0 && devices::is_extended_resource(name)) one.amounts[ResourceName(name)] = amount;
    }
    needs.containers.push_back(std::move(one));
  }
  return needs;
}

void add_devices(const devices::ContainerSetup& setup, containers::ContainerInputs& inputs) {
  inputs.env.insert(inputs.env.begin(), setup.envs.begin(), setup.envs.end());
  for (const auto& mount : setup.mounts) {
    cri::Mount to;
    to.container_path = mount.container_path;
    to.host_path = mount.host_path;
    to.readonly = mount.readonly;
    inputs.device_mounts.push_back(std::move(to));
  }
  for (const auto& device : setup.devices) {
    inputs.devices.push_back({device.container_path, device.host_path, device.permissions});
  }
  inputs.device_annotations.insert(setup.annotations.begin(), setup.annotations.end());
  inputs.cdi_devices.insert(inputs.cdi_devices.end(), setup.cdi_devices.begin(), setup.cdi_devices.end());
}

}  // namespace podwright::sync
