// generate_events(): what happened between two full lists; pure (behaviours 17).
#pragma once

#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "cri/types.h"

namespace podwright::pleg {

struct PodEvent {
  enum class Kind { kStarted, kDied, kRemoved, kChanged, kSandboxChanged, kSync };
  PodUid uid;
  Kind kind = Kind::kSync;
  // Of the container or sandbox; empty for kSync.
  std::string id;
  bool operator==(const PodEvent&) const = default;
};

enum class Seen { kRunning, kExited, kUnknown, kGone };

// The states of one pod's containers and sandboxes by ID.
struct PodStates {
  std::map<std::string, Seen> containers, sandboxes;
  bool operator==(const PodStates&) const = default;
};
using AllStates = std::map<PodUid, PodStates>;

// Of one pod.
PodStates states_of_pod(const std::vector<cri::SandboxStatus>& sandboxes,
                        const std::vector<cri::ContainerStatus>& containers);

// Of all pods in full lists; what is no pod's is left out.
AllStates states_of(const std::vector<cri::SandboxStatus>& sandboxes,
                    const std::vector<cri::ContainerStatus>& containers);

std::vector<PodEvent> generate_events(const AllStates& before, const AllStates& now);

// The UID and the full name that the labels of a container or sandbox tell; nothing where it is not a pod's.
std::optional<std::pair<PodUid, PodKey>> pod_of(const cri::Labels& labels);

}  // namespace podwright::pleg
