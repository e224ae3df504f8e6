// A pod's status as the API shows it: phase, conditions, container statuses; pure functions of the spec, of what was
// seen, and of the record (behaviours 13 to 15).
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "agent/pods/containers.h"
#include "agent/pods/record.h"
#include "pleg/pod_runtime.h"

namespace podwright::status {

// Why a container waits (CrashLoopBackOff, ErrImagePull, CreateContainerError ...), as the last plan found.
struct WaitingReason {
  std::string reason, message;
  bool operator==(const WaitingReason&) const = default;
};

struct Inputs {
  pods::PodPtr pod;
  // Null: nothing was seen yet.
  pleg::PodRuntimePtr runtime;
  const pods::PodRecord* record = nullptr;
  std::map<ContainerName, WaitingReason> waiting;
  // The pod is known to be over: nothing runs and nothing will (behaviours 14, podIsTerminal).
  bool terminal = false;
  // PodReadyToStartContainers: no new sandbox is needed.
  bool sandbox_ready = false;
  std::string host_ip;
  std::vector<std::string> host_ips;
  // Termination messages read from their files, by container ID.
  std::map<ContainerId, std::string> termination_messages;
  // What was published last; null: nothing.
  const core::PodStatus* previous = nullptr;
  // The API's own copy, for foreign conditions and readiness gates; null without one.
  const core::PodStatus* api = nullptr;
  WallTime now;
};

core::PodStatus compute_status(const Inputs& inputs);

// The phase alone (behaviours 14).
std::string phase_of(const core::Pod& pod, const core::PodStatus& status, bool terminal);

// The status of a pod that admission refused: {qosClass, phase Failed, reason, message}.
core::PodStatus rejected_status(const core::Pod& pod, const std::string& reason, const std::string& message,
                                WallTime now);

// Whether an update may be published over `older`: no terminal phase is left, no ended container lives again
// (behaviours 16). The text says what is illegal; empty where all is well.
std::string illegal_transition(const core::Pod& pod, const core::PodStatus& older, const core::PodStatus& newer);

}  // namespace podwright::status
