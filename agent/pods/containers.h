// A pod's containers of every kind, as one list.
#pragma once

#include <memory>
#include <vector>

#include "agent/pods/pod.h"

namespace podwright::pods {

enum class ContainerKind {
  kInit,     // runs to its end before the next
  kSidecar,  // an init container with restartPolicy Always
  kRegular,
  kEphemeral,  // added for debugging; never restarts
};

// Points into the pod it came from and keeps it alive.
using ContainerPtr = std::shared_ptr<const core::Container>;

struct ContainerRef {
  ContainerKind kind = ContainerKind::kRegular;
  ContainerName name;
  // An ephemeral container's common part in the form of a Container (the wire form is the same).
  ContainerPtr spec;
  // Whose pid namespace an ephemeral container joins; empty: none.
  ContainerName target;
  // "spec.containers{app}": where events about it point.
  std::string field_path;
};

// Init containers and sidecars in spec order, then the regular ones, then the ephemeral ones.
std::vector<ContainerRef> containers_of(const PodPtr& pod);
std::optional<ContainerRef> find_container(const PodPtr& pod, const ContainerName& name);

// Source: pkg/kubelet/container/helpers.go HashContainer: of name and image only, so that no other change of a spec
// (and no new default of a release) restarts a container. Lower-case hexadecimal, no padding.
std::string container_hash(const core::Container& container);

}  // namespace podwright::pods
