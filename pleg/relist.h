// generate_events(): what happened between two full lists; pure (behaviours 17).
#pragma once

#include <map>
#include <string>
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

AllStates states_of(const std::vector<cri::SandboxStatus>& sandboxes,
                    const std::vector<cri::ContainerStatus>& containers);

std::vector<PodEvent> generate_events(const AllStates& before, const AllStates& now);

}  // namespace podwright::pleg
