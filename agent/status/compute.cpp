#include "agent/status/compute.h"

#include <algorithm>
#include <set>

#include "agent/status/conditions.h"
#include "agent/status/container_status.h"
#include "api/resources.h"

namespace podwright::status {
namespace {

using pods::ContainerKind;

bool matches(const core::ContainerRestartRule& rule, int32_t exit_code) {
  const auto& codes = rule.exitcodes();
  const bool listed = std::find(codes.values().begin(), codes.values().end(), exit_code) != codes.values().end();
  return codes.operator_() == "In" ? listed : codes.operator_() == "NotIn" && !listed;
}

// May this end be followed by another run? The container's rules say so first, then its policy, then the pod's.
bool restartable(const core::Pod& pod, const core::Container& container, int32_t exit_code) {
  for (const auto& rule : container.restartpolicyrules()) {
    if (matches(rule, exit_code)) return true;
  }
  const std::string& policy =
      container.restartpolicy().empty() ? pod.spec().restartpolicy() : container.restartpolicy();
  if (policy == "Never") return false;
  if (policy == "OnFailure") return exit_code != 0;
  return true;
}

const core::ContainerStatus* find(const google::protobuf::RepeatedPtrField<core::ContainerStatus>& all,
                                  const std::string& name) {
  for (const auto& status : all) {
    if (status.name() == name) return &status;
  }
  return nullptr;
}

struct Counts {
  int pending_init = 0, failed_init = 0, pending_sidecar = 0;
  int running = 0, waiting = 0, stopped = 0, stopped_final = 0, succeeded = 0, unknown = 0;
};

void count_init(const core::Pod& pod, const core::PodStatus& status, Counts& counts) {
  for (const auto& container : pod.spec().initcontainers()) {
    const auto* one = find(status.initcontainerstatuses(), container.name());
    if (container.restartpolicy() == "Always") {
      if (one == nullptr) {
        ++counts.unknown;
      } else if (one->state().has_running()) {
        if (!one->started()) ++counts.pending_sidecar;
        ++counts.running;
      } else if (!one->state().has_terminated() && !one->laststate().has_terminated()) {
        ++counts.pending_sidecar;
        ++counts.waiting;
      }
      continue;
    }
    if (one == nullptr || one->state().has_running()) {
      ++counts.pending_init;
    } else if (one->state().has_terminated()) {
      const int32_t code = one->state().terminated().exitcode();
      if (code != 0 && !restartable(pod, container, code)) ++counts.failed_init;
      if (code != 0 && restartable(pod, container, code)) ++counts.pending_init;
    } else if (one->laststate().has_terminated()) {
      const int32_t code = one->laststate().terminated().exitcode();
      if (code != 0 && !restartable(pod, container, code)) {
        ++counts.failed_init;
      } else {
        ++counts.pending_init;
      }
    } else {
      ++counts.pending_init;
    }
  }
}

void count_regular(const core::Pod& pod, const core::PodStatus& status, Counts& counts) {
  for (const auto& container : pod.spec().containers()) {
    const auto* one = find(status.containerstatuses(), container.name());
    if (one == nullptr) {
      ++counts.unknown;
    } else if (one->state().has_running()) {
      ++counts.running;
    } else if (one->state().has_terminated()) {
      ++counts.stopped;
      const int32_t code = one->state().terminated().exitcode();
      if (code == 0) ++counts.succeeded;
      if (!restartable(pod, container, code)) ++counts.stopped_final;
    } else if (one->laststate().has_terminated()) {
      ++counts.stopped;
      if (!restartable(pod, container, one->laststate().terminated().exitcode())) ++counts.stopped_final;
    } else {
      ++counts.waiting;
    }
  }
}

bool regular_begun(const core::PodStatus& status) {
  return std::any_of(status.containerstatuses().begin(), status.containerstatuses().end(), [](const auto& one) {
    return one.state().has_running() || one.state().has_terminated() || one.laststate().has_terminated();
  });
}

void set_seconds(meta::Time* to, WallTime from) {
  to->set_seconds(std::chrono::floor<std::chrono::seconds>(from.time_since_epoch()).count());
  to->set_nanos(0);
}

void set_addresses(const Inputs& in, core::PodStatus& status) {
  if (!in.host_ip.empty()) status.set_hostip(in.host_ip);
  for (const auto& ip : in.host_ips) status.add_hostips()->set_ip(ip);
  std::vector<std::string> ips;
  if (in.record != nullptr) ips = in.record->pod_ips;
  if (ips.empty() && in.runtime) ips = in.runtime->ips_kept;
  // Upstream gives a host-network pod its node's address only with an API client; here it always has one, so that its
  // probes, hooks and downward API work standalone too.
  const bool has_sandbox = in.runtime && !in.runtime->sandboxes.empty();
  if (ips.empty() && in.pod->spec().hostnetwork() && has_sandbox) ips = in.host_ips;
  if (ips.empty()) return;
  status.set_podip(ips.front());
  for (const auto& ip : ips) status.add_podips()->set_ip(ip);
}

void set_terminal_words(const Inputs& in, core::PodStatus& status) {
  if (in.record == nullptr) return;
  if (in.record->terminal) {
    const auto& terminal = *in.record->terminal;
    status.set_phase(terminal.succeeded ? "Succeeded" : "Failed");
    if (!terminal.reason.empty()) status.set_reason(terminal.reason);
    if (!terminal.message.empty()) status.set_message(terminal.message);
    return;
  }
  if (!in.record->termination) return;
  const auto& wish = in.record->termination->wish;
  if (wish.status_reason.empty()) return;
  status.set_reason(wish.status_reason);
  status.set_message(wish.status_message);
}

}  // namespace

std::string phase_of(const core::Pod& pod, const core::PodStatus& status, bool terminal) {
  Counts counts;
  count_init(pod, status, counts);
  count_regular(pod, status, counts);
  if (counts.failed_init > 0) return "Failed";
  if (counts.pending_init > 0 || (counts.pending_sidecar > 0 && !regular_begun(status))) return "Pending";
  if (counts.waiting > 0) return "Pending";
  if (counts.running > 0 && counts.unknown == 0) return "Running";
  if (counts.running == 0 && counts.stopped > 0 && counts.unknown == 0) {
    if (terminal && !pods::is_static(pod)) return counts.stopped == counts.succeeded ? "Succeeded" : "Failed";
    if (counts.stopped != counts.stopped_final) return "Running";
    return counts.stopped == counts.succeeded ? "Succeeded" : "Failed";
  }
  return "Pending";
}

core::PodStatus compute_status(const Inputs& in) {
  core::PodStatus status;
  for (const auto& container : pods::containers_of(in.pod)) {
    core::ContainerStatus one = container_status(in, container);
    switch (container.kind) {
      case ContainerKind::kInit:
      case ContainerKind::kSidecar: *status.add_initcontainerstatuses() = std::move(one); break;
      case ContainerKind::kRegular: *status.add_containerstatuses() = std::move(one); break;
      case ContainerKind::kEphemeral: *status.add_ephemeralcontainerstatuses() = std::move(one); break;
    }
  }
  const auto by_name = [](const core::ContainerStatus& a, const core::ContainerStatus& b) {
    return a.name() < b.name();
  };
  std::sort(status.mutable_containerstatuses()->begin(), status.mutable_containerstatuses()->end(), by_name);
  std::sort(status.mutable_ephemeralcontainerstatuses()->begin(), status.mutable_ephemeralcontainerstatuses()->end(),
            by_name);

  status.set_phase(phase_of(*in.pod, status, in.terminal));
  set_terminal_words(in, status);
  if (in.previous != nullptr && (in.previous->phase() == "Succeeded" || in.previous->phase() == "Failed") &&
      !pods::is_static(*in.pod)) {
    status.set_phase(in.previous->phase());
    if (status.reason().empty()) status.set_reason(in.previous->reason());
    if (status.message().empty()) status.set_message(in.previous->message());
  }
  set_addresses(in, status);
  status.set_qosclass(std::string(api::name_of(api::qos_of(*in.pod))));
  if (in.record != nullptr) set_seconds(status.mutable_starttime(), in.record->first_seen);
  set_conditions(in, status);
  return status;
}

core::PodStatus rejected_status(const core::Pod& pod, const std::string& reason, const std::string& message,
                                WallTime now) {
  core::PodStatus status;
  status.set_phase("Failed");
  status.set_reason(reason);
  status.set_message("Pod was rejected: " + message);
  status.set_qosclass(std::string(api::name_of(api::qos_of(pod))));
  set_seconds(status.mutable_starttime(), now);
  return status;
}

std::string illegal_transition(const core::Pod& pod, const core::PodStatus& older, const core::PodStatus& newer) {
  const bool was_terminal = older.phase() == "Succeeded" || older.phase() == "Failed";
  if (was_terminal && newer.phase() != older.phase() && !pods::is_static(pod)) {
    return fmt::format("phase {} is final and may not become {}", older.phase(), newer.phase());
  }
  if (pod.spec().restartpolicy() == "Always") return "";
  for (const auto& container : pod.spec().containers()) {
    const auto* before = find(older.containerstatuses(), container.name());
    const auto* now = find(newer.containerstatuses(), container.name());
    if (before == nullptr || now == nullptr || !before->state().has_terminated() || now->state().has_terminated()) {
      continue;
    }
    if (restartable(pod, container, before->state().terminated().exitcode())) continue;
    return fmt::format("container {} has terminated and may not run again", container.name());
  }
  return "";
}

}  // namespace podwright::status
