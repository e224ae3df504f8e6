#include "pleg/pod_runtime.h"

#include <algorithm>
#include <tuple>

namespace podwright::pleg {

bool PodRuntime::anything_running() const {
  return std::any_of(containers.begin(), containers.end(), [](const auto& container) {
    return container.state == cri::ContainerState::kRunning || container.state == cri::ContainerState::kUnknown;
  });
}

bool PodRuntime::any_sandbox_ready() const {
  return std::any_of(sandboxes.begin(), sandboxes.end(),
                     [](const auto& sandbox) { return sandbox.state == cri::SandboxState::kReady; });
}

const cri::ContainerStatus* PodRuntime::newest(const ContainerName& name) const {
  for (const auto& container : containers) {
    if (container.name == name) return &container;
  }
  return nullptr;
}

const cri::ContainerStatus* PodRuntime::find(const ContainerId& id) const {
  for (const auto& container : containers) {
    if (container.id == id) return &container;
  }
  return nullptr;
}

void sort_newest_first(PodRuntime& pod) {
  // The wall clock may have been stepped back between two attempts, so the time only decides between equal ones.
  const auto newer = [](const auto& a, const auto& b) {
    return std::tie(a.attempt, a.created_at) > std::tie(b.attempt, b.created_at);
  };
  std::stable_sort(pod.sandboxes.begin(), pod.sandboxes.end(), newer);
  std::stable_sort(pod.containers.begin(), pod.containers.end(), newer);
}

}  // namespace podwright::pleg
