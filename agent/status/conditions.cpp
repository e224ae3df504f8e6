#include "agent/status/conditions.h"

#include <algorithm>
#include <set>

#include "agent/status/container_status.h"

namespace podwright::status {
namespace {

constexpr char kDisruptionTarget[] = "DisruptionTarget";

struct Verdict {
  bool holds = false;
  std::string reason, message;
};

const std::set<std::string>& owned() {
  static const std::set<std::string> kOwned = {"PodScheduled",
                                               "Ready",
                                               "Initialized",
                                               "ContainersReady",
                                               "PodReadyToStartContainers",
                                               "PodResizePending",
                                               "PodResizeInProgress",
                                               "AllContainersRestarting"};
  return kOwned;
}

// A list as Go prints a slice of strings: "[a b]".
std::string go_list(const std::vector<std::string>& names) {
  std::string text = "[";
  for (const auto& name : names) text += (text.size() > 1 ? " " : "") + name;
  return text + "]";
}

const core::PodCondition* find(const core::PodStatus* status, const std::string& type) {
  if (status == nullptr) return nullptr;
  for (const auto& condition : status->conditions()) {
    if (condition.type() == type) return &condition;
  }
  return nullptr;
}

const core::ContainerStatus* status_of(const google::protobuf::RepeatedPtrField<core::ContainerStatus>& all,
                                       const std::string& name) {
  for (const auto& one : all) {
    if (one.name() == name) return &one;
  }
  return nullptr;
}

std::string two_lists(const std::vector<std::string>& unknown, const char* label,
                      const std::vector<std::string>& rest) {
  std::vector<std::string> parts;
  if (!unknown.empty()) parts.push_back("containers with unknown status: " + go_list(unknown));
  if (!rest.empty()) parts.push_back(std::string(label) + go_list(rest));
  std::string text;
  for (const auto& part : parts) text += (text.empty() ? "" : ", ") + part;
  return text;
}

Verdict initialized(const Inputs& in, const core::PodStatus& status) {
  const auto& spec = in.pod->spec();
  std::vector<std::string> unknown;
  std::vector<std::string> incomplete;
  for (const auto& container : spec.initcontainers()) {
    const auto* one = status_of(status.initcontainerstatuses(), container.name());
    if (one == nullptr) {
      unknown.push_back(container.name());
    } else if (container.restartpolicy() == "Always" ? !one->started() : !one->ready()) {
      incomplete.push_back(container.name());
    }
  }
  if (status.phase() == "Succeeded" && unknown.empty()) return {true, "PodCompleted", ""};
  const auto* before = find(in.previous, "Initialized");
  const bool once = before != nullptr && before->status() == "True";
  const bool begun = std::any_of(status.containerstatuses().begin(), status.containerstatuses().end(),
                                 [](const auto& one) { return one.started() || one.state().has_terminated(); });
  if (once || begun || (unknown.empty() && incomplete.empty())) return {true, "", ""};
  return {false, "ContainersNotInitialized", two_lists(unknown, "containers with incomplete status: ", incomplete)};
}

Verdict containers_ready(const Inputs& in, const core::PodStatus& status) {
  if (status.phase() == "Succeeded") return {false, "PodCompleted", ""};
  if (status.phase() == "Failed") return {false, "PodFailed", ""};
  std::vector<std::string> unknown;
  std::vector<std::string> unready;
  for (const auto& container : in.pod->spec().initcontainers()) {
    if (container.restartpolicy() != "Always") continue;
    const auto* one = status_of(status.initcontainerstatuses(), container.name());
    if (one == nullptr) {
      unknown.push_back(container.name());
    } else if (!one->ready()) {
      unready.push_back(container.name());
    }
  }
  for (const auto& container : in.pod->spec().containers()) {
    const auto* one = status_of(status.containerstatuses(), container.name());
    if (one == nullptr) {
      unknown.push_back(container.name());
    } else if (!one->ready()) {
      unready.push_back(container.name());
    }
  }
  if (unknown.empty() && unready.empty()) return {true, "", ""};
  return {false, "ContainersNotReady", two_lists(unknown, "containers with unready status: ", unready)};
}

Verdict ready(const Inputs& in, const Verdict& containers) {
  if (!containers.holds) return containers;
  std::vector<std::string> problems;
  for (const auto& gate : in.pod->spec().readinessgates()) {
    const auto* condition = find(in.api, gate.conditiontype());
    if (condition == nullptr) {
      problems.push_back(
          fmt::format("corresponding condition of pod readiness gate \"{}\" does not exist.", gate.conditiontype()));
    } else if (condition->status() != "True") {
      problems.push_back(fmt::format("the status of pod readiness gate \"{}\" is not \"True\", but {}",
                                     gate.conditiontype(), condition->status()));
    }
  }
  if (problems.empty()) return {true, "", ""};
  std::string message;
  for (const auto& problem : problems) message += (message.empty() ? "" : ", ") + problem;
  return {false, "ReadinessGatesNotReady", message};
}

bool may_restart_all(const core::Pod& pod) {
  const auto has_rule = [](const core::Container& container) {
    return std::any_of(container.restartpolicyrules().begin(), container.restartpolicyrules().end(),
                       [](const auto& rule) { return rule.action() == "RestartAllContainers"; });
  };
  return std::any_of(pod.spec().initcontainers().begin(), pod.spec().initcontainers().end(), has_rule) ||
         std::any_of(pod.spec().containers().begin(), pod.spec().containers().end(), has_rule);
}

bool is_restarting_all(const Inputs& in) {
  return std::any_of(in.waiting.begin(), in.waiting.end(),
                     [](const auto& entry) { return entry.second.reason == "RestartingAllContainers"; });
}

void add(const Inputs& in, core::PodStatus& status, const std::string& type, const Verdict& verdict) {
  auto* condition = status.add_conditions();
  condition->set_type(type);
  condition->set_status(verdict.holds ? "True" : "False");
  if (!verdict.reason.empty()) condition->set_reason(verdict.reason);
  if (!verdict.message.empty()) condition->set_message(verdict.message);
  if (in.pod->metadata().generation() > 0) condition->set_observedgeneration(in.pod->metadata().generation());
  const auto* before = find(in.previous, type);
  if (before != nullptr && before->status() == condition->status()) {
    *condition->mutable_lasttransitiontime() = before->lasttransitiontime();
  } else {
    condition->mutable_lasttransitiontime()->set_seconds(
        std::chrono::floor<std::chrono::seconds>(in.now.time_since_epoch()).count());
    condition->mutable_lasttransitiontime()->set_nanos(0);
  }
}

// Why the pod was ended though it did nothing wrong; nothing for other ends. A pod that was over its own limit is none.
// Source: behaviours 27; told only with the end itself (behaviours 16).
const pods::StopWish* disruption(const Inputs& in) {
  if (in.record == nullptr || !in.record->terminal || in.record->terminal->succeeded || !in.record->termination) {
    return nullptr;
  }
  const pods::StopWish& wish = in.record->termination->wish;
  const bool disrupted = wish.reason == pods::StopReason::kEvicted || wish.reason == pods::StopReason::kPreempted ||
                         wish.reason == pods::StopReason::kShutdown;
  return disrupted ? &wish : nullptr;
}

}  // namespace

void set_conditions(const Inputs& in, core::PodStatus& status) {
  const pods::StopWish* disrupted = disruption(in);
  if (in.api != nullptr) {
    for (const auto& condition : in.api->conditions()) {
      const bool is_told_here = disrupted != nullptr && condition.type() == kDisruptionTarget;
      if (!owned().contains(condition.type()) && !is_told_here) *status.add_conditions() = condition;
    }
  }
  if (disrupted != nullptr) {
    add(in, status, kDisruptionTarget, {true, "TerminationByKubelet", disrupted->status_message});
  }
  const Verdict containers = containers_ready(in, status);
  add(in, status, "PodReadyToStartContainers", {in.sandbox_ready, "", ""});
  add(in, status, "Initialized", initialized(in, status));
  add(in, status, "Ready", ready(in, containers));
  add(in, status, "ContainersReady", containers);
  add(in, status, "PodScheduled", {true, "", ""});
  if (may_restart_all(*in.pod)) add(in, status, "AllContainersRestarting", {is_restarting_all(in), "", ""});
}

}  // namespace podwright::status
