// PodRuntime: what the runtime has of one pod, as it was last seen; immutable, shared by pointer.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "cri/types.h"

namespace podwright::pleg {

struct PodRuntime {
  PodUid uid;
  PodKey key;
  std::vector<cri::SandboxStatus> sandboxes;     // newest first
  std::vector<cri::ContainerStatus> containers;  // newest first, of all sandboxes
  // When the look began: what happened later may be missing.
  Instant good_at;
  // The last addresses seen, kept once no sandbox is ready, so that a pod that was torn down still shows them.
  std::vector<std::string> ips_kept;

  bool anything_running() const;
  bool any_sandbox_ready() const;
  bool empty() const { return sandboxes.empty() && containers.empty(); }
  // The newest instance of a container; null where there is none.
  const cri::ContainerStatus* newest(const ContainerName& name) const;
  const cri::ContainerStatus* find(const ContainerId& id) const;
};

using PodRuntimePtr = std::shared_ptr<const PodRuntime>;

// Newest first: by attempt, then by creation.
void sort_newest_first(PodRuntime& pod);

}  // namespace podwright::pleg
