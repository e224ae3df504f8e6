// plan_pod(): what to do next for a pod that is wanted: a pure function of the spec, of what was seen, of the durable
// record and the time. It does no I/O. The plan is carried out by PlanRunner. Source of the rules: behaviours 5 to 8.
//
//   sandbox wrong or missing --> stop what runs, make one, start the first init container (or all regular ones)
//   sandbox fine             --> ephemeral, then init containers in order, then the regular ones
//
// Containers of an older sandbox never count as progress in this one.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "agent/pods/containers.h"
#include "agent/pods/record.h"
#include "agent/sync/backoff.h"
#include "agent/sync/restart.h"
#include "pleg/pod_runtime.h"

namespace podwright::sync {

// What the probes of the container that runs now say.
struct ProbeVerdict {
  bool liveness_failed = false;
  bool startup_failed = false;
};

struct PlanInput {
  pods::PodPtr pod;
  pleg::PodRuntimePtr seen;
  const pods::PodRecord* record = nullptr;
  std::map<ContainerName, ProbeVerdict> probes;
  Instant now;
  BackoffLimits backoff;
};

struct SandboxPlan {
  bool create = false;
  uint32_t attempt = 0;
  // The one that is replaced; empty: none (then no SandboxChanged event).
  SandboxId replaces;
  // The one to use, where none is created.
  SandboxId use;
  // Others that are ready too (a call whose outcome was unknown came to its end late): stopped and removed.
  std::vector<SandboxId> extras;
  std::string why;
};

struct KillStep {
  pods::ContainerRef container;
  ContainerId id;
  std::string message;  // of the Killing event
  // A probe's own grace; nothing: the pod's.
  std::optional<std::chrono::seconds> grace;
};

struct StartStep {
  pods::ContainerRef container;
  // One that was created and never started: started as it is. Empty: a new one is created.
  ContainerId existing;
};

struct WaitingStep {
  ContainerName container;
  std::string reason, message;
  Instant until;
};

struct PodPlan {
  SandboxPlan sandbox;
  // Everything of the pod is stopped first (a new sandbox is needed, or the pod is over).
  bool kill_all = false;
  // Nothing runs and nothing will: the pod goes on to its end.
  bool finished = false;
  // A restart rule fired: all containers are killed at once and removed, and init starts anew.
  bool reset_all = false;
  std::vector<KillStep> kills;
  std::vector<ContainerId> removals;
  // In order. A failing regular or sidecar start does not stop later ones, a failing init start does.
  std::vector<StartStep> starts;
  std::vector<WaitingStep> waiting;
  std::optional<Instant> wake_at;

  bool is_idle() const {
    return !sandbox.create && !kill_all && !reset_all && kills.empty() && removals.empty() && starts.empty() &&
           sandbox.extras.empty();
  }
};

PodPlan plan_pod(const PlanInput& input);

// Which sandbox the pod needs (behaviours 5), and under which attempt a new one is made.
SandboxPlan plan_sandbox(const core::Pod& pod, const pleg::PodRuntime& seen, const pods::PodRecord& record);

// The text of a crash-loop wait: "back-off 10s restarting failed container=C pod=NAME_NS(UID)".
std::string crash_loop_message(const core::Pod& pod, const ContainerName& container, std::chrono::seconds delay);

}  // namespace podwright::sync
