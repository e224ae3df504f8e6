// PodContext: what a worker and its plan runner share about one pod. Owned by the worker; the loop thread only.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>

#include "agent/pods/record.h"
#include "agent/status/compute.h"
#include "base/step/step.h"

namespace podwright::sync {

struct PodContext {
  PodUid uid;
  // Null for an orphan that only the runtime knows.
  pods::PodPtr pod;
  pods::PodRecord record;
  Flow flow;
  std::map<ContainerName, status::WaitingReason> waiting;
  std::map<ContainerId, std::string> termination_messages;
  // Containers whose preStop hook has begun: it is not run twice.
  std::set<ContainerId> pre_stop_begun;
  // Sandbox or pod-level trouble, for people: "volume v: configmap x not found".
  std::string trouble;
};

}  // namespace podwright::sync
