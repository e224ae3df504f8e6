#include "agent/sync/restart.h"

#include <algorithm>

namespace podwright::sync {
namespace {

bool matches(const core::ContainerRestartRule& rule, int32_t exit_code) {
  if (!rule.has_exitcodes()) return false;
  const auto& codes = rule.exitcodes();
  const bool listed = std::find(codes.values().begin(), codes.values().end(), exit_code) != codes.values().end();
  if (codes.operator_() == "In") return listed;
  if (codes.operator_() == "NotIn") return !listed;
  return false;
}

// The policy that holds where no rule matched.
std::string policy_of(const core::Pod& pod, const pods::ContainerRef& container) {
  if (container.kind == pods::ContainerKind::kSidecar) return "Always";
  if (!container.spec->restartpolicy().empty()) return container.spec->restartpolicy();
  return pod.spec().restartpolicy();
}

}  // namespace

Restart restart_after(const core::Pod& pod, const pods::ContainerRef& container, int32_t exit_code) {
  if (pod.metadata().has_deletiontimestamp()) return Restart::kNo;
  if (container.kind == pods::ContainerKind::kEphemeral) return Restart::kNo;
  for (const auto& rule : container.spec->restartpolicyrules()) {
    if (!matches(rule, exit_code)) continue;
    return rule.action() == "RestartAllContainers" ? Restart::kAllContainers : Restart::kYes;
  }
  if (container.kind == pods::ContainerKind::kInit && exit_code == 0) return Restart::kNo;
  const std::string policy = policy_of(pod, container);
  if (policy == "Never") return Restart::kNo;
  if (policy == "OnFailure") return exit_code == 0 ? Restart::kNo : Restart::kYes;
  return Restart::kYes;
}

bool restarts_after_probe_kill(const core::Pod& pod, const pods::ContainerRef& container) {
  return !pod.metadata().has_deletiontimestamp() && policy_of(pod, container) != "Never";
}

bool always_restarts(const core::Pod& pod, const pods::ContainerRef& container) {
  return container.kind != pods::ContainerKind::kInit && container.kind != pods::ContainerKind::kEphemeral &&
         policy_of(pod, container) == "Always" && container.spec->restartpolicyrules().empty();
}

}  // namespace podwright::sync
