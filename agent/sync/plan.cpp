#include "agent/sync/plan.h"

#include <algorithm>

namespace podwright::sync {
namespace {

using pods::ContainerKind;
using pods::ContainerRef;

// What a container did before, where the sandbox of now has nothing of it.
const pods::ContainerRecord* record_of(const PlanInput& in, const ContainerRef& container) {
  const auto found = in.record->containers.find(container.name);
  return found == in.record->containers.end() ? nullptr : &found->second;
}

// A start of it was intended, so it may have run. One that was only to be created has not.
bool may_have_run(const pods::ContainerRecord& rec) {
  return rec.start_once && rec.state != pods::InstanceState::kCreating && rec.state != pods::InstanceState::kCreated;
}

// Everything before was undone, since all containers of the pod were to start anew (PodPlan::reset_all).
bool was_reset(const pods::ContainerRecord& rec) {
  return rec.sandbox.empty() && !rec.start_once && !rec.succeeded_for_good;
}

// Whether a container of which this sandbox has nothing may start in it, after what it did in older ones, or in this
// one without a trace.
bool may_start_anew(const PlanInput& in, const ContainerRef& container) {
  const auto* rec = record_of(in, container);
  if (rec == nullptr || was_reset(*rec)) return true;
  if (rec->succeeded_for_good) return false;
  if (rec->exit) {
    // An init container does its work again in each sandbox.
    if (container.kind == ContainerKind::kInit && rec->exit->exit_code == 0) return true;
    return restart_after(*in.pod, container, rec->exit->exit_code) != Restart::kNo;
  }
  // Never seen to end: for Never that was its one run; otherwise nobody can say that it succeeded.
  return !may_have_run(*rec) || restart_after(*in.pod, container, 137) != Restart::kNo;
}

// Where the newest instance of a container stands in the current sandbox.
enum class Is { kAbsent, kCreated, kRunning, kSucceeded, kFailed, kUnknown };

// One run of plan_pod over a pod whose sandbox is fine.
class Planner {
 public:
  Planner(const PlanInput& input, PodPlan& plan)
      : in_(input), plan_(plan), sandbox_(plan.sandbox.use), all_(pods::containers_of(input.pod)) {}

  void run() {
    if (plan_reset()) return;
    for (const auto& container : all_) {
      if (container.kind == ContainerKind::kEphemeral && is(container) == Is::kAbsent &&
          may_start_anew(in_, container)) {
        plan_.starts.push_back({container, {}});
      }
    }
    if (plan_init()) plan_regular();
  }

 private:
  const cri::ContainerStatus* seen(const ContainerRef& container) const {
    for (const auto& status : in_.seen->containers) {  // newest first
      if (status.name != container.name || status.sandbox != sandbox_) continue;
      // One that is left over from before the newest we know of decides nothing any more.
      const auto* rec = record(container);
      const bool left_over = rec != nullptr && !rec->id.empty() && pods::is_older(*rec, status.id, status.attempt);
      return left_over ? nullptr : &status;
    }
    return nullptr;
  }

  const pods::ContainerRecord* record(const ContainerRef& container) const { return record_of(in_, container); }

  // The end of its newest instance, where it has ended in this sandbox.
  const pods::ExitRecord* exit_here(const ContainerRef& container) const {
    const auto* rec = record(container);
    return rec != nullptr && rec->exit && rec->sandbox == sandbox_ ? &*rec->exit : nullptr;
  }

  static bool is_failure(const pods::ExitRecord& exit) {
    return exit.exit_code != 0 || !exit.known || exit.reason == "OOMKilled";
  }

  Is is(const ContainerRef& container) const {
    const auto* status = seen(container);
    if (status != nullptr) {
      switch (status->state) {
        case cri::ContainerState::kCreated: return Is::kCreated;
        case cri::ContainerState::kRunning: return Is::kRunning;
        case cri::ContainerState::kUnknown: return Is::kUnknown;
        case cri::ContainerState::kExited:
          return status->exit_code != 0 || status->reason == "OOMKilled" ? Is::kFailed : Is::kSucceeded;
      }
    }
    // The runtime has forgotten it; the record has not.
    if (const auto* exit = exit_here(container)) return is_failure(*exit) ? Is::kFailed : Is::kSucceeded;
    return Is::kAbsent;
  }

  int32_t exit_code(const ContainerRef& container) const {
    const auto* status = seen(container);
    if (status != nullptr && status->state == cri::ContainerState::kExited) return status->exit_code;
    const auto* exit = exit_here(container);
    return exit != nullptr ? exit->exit_code : 137;
  }

  // Plans a start through the back-off gate. True where it starts now.
  bool start(const ContainerRef& container) {
    const auto* rec = record(container);
    if (rec != nullptr && rec->exit) {
      const std::string key = backoff_key(container);
      const auto until = blocked_until(rec->backoff, key, rec->exit->learnt_at, in_.now);
      if (until) {
        plan_.waiting.push_back({container.name, "CrashLoopBackOff",
                                 crash_loop_message(*in_.pod, container.name, rec->backoff.delay), *until});
        if (!plan_.wake_at || *until < *plan_.wake_at) plan_.wake_at = until;
        return false;
      }
    }
    plan_.starts.push_back({container, {}});
    return true;
  }

  void start_existing(const ContainerRef& container) { plan_.starts.push_back({container, seen(container)->id}); }

  void kill(const ContainerRef& container, std::string why, bool restarts,
            std::optional<std::chrono::seconds> grace = std::nullopt) {
    if (restarts) why += ", will be restarted";
    plan_.kills.push_back({container, seen(container)->id, std::move(why), grace});
  }

  static std::optional<std::chrono::seconds> grace_of(const core::Probe& probe) {
    if (!probe.has_terminationgraceperiodseconds()) return std::nullopt;
    return std::chrono::seconds(probe.terminationgraceperiodseconds());
  }

  // What a running container gets for its definition and its probes. True where it is kept.
  bool keep_running(const ContainerRef& container) {
    const auto* status = seen(container);
    const auto hash = status->annotations.find(cri::kHashAnnotation);
    if (hash == status->annotations.end() || hash->second != pods::container_hash(*container.spec)) {
      kill(container, fmt::format("Container {} definition changed", container.name), true);
      (void)start(container);
      return false;
    }
    const auto verdict = in_.probes.find(container.name);
    if (verdict == in_.probes.end()) return true;
    const bool restarts = restarts_after_probe_kill(*in_.pod, container);
    if (verdict->second.liveness_failed) {
      kill(container, fmt::format("Container {} failed liveness probe", container.name), restarts,
           grace_of(container.spec->livenessprobe()));
    } else if (verdict->second.startup_failed) {
      kill(container, fmt::format("Container {} failed startup probe", container.name), restarts,
           grace_of(container.spec->startupprobe()));
    } else {
      return true;
    }
    if (restarts) (void)start(container);
    return false;
  }

  void kill_unknown(const ContainerRef& container) {
    kill(container, fmt::format("Container {} is in \"unknown\" state, try killing it before restart", container.name),
         false);
  }

  // A rule of an exited container asks for a fresh start of the whole pod.
  bool plan_reset() {
    for (const auto& container : all_) {
      const auto* ended = seen(container);
      if (ended == nullptr || ended->state != cri::ContainerState::kExited) continue;
      if (restart_after(*in_.pod, container, exit_code(container)) != Restart::kAllContainers) continue;
      plan_.reset_all = true;
      for (const auto& other : all_) {
        const auto* status = seen(other);
        if (status == nullptr || other.kind == ContainerKind::kEphemeral) continue;
        if (status->state == cri::ContainerState::kRunning) {
          plan_.kills.push_back({other, status->id,
                                 fmt::format("Container {} is restarted with all containers of the pod", other.name),
                                 std::chrono::seconds(0)});
        }
        plan_.removals.push_back(status->id);
      }
      return true;
    }
    return false;
  }

  bool passed_startup(const ContainerRef& container) const {
    if (!container.spec->has_startupprobe()) return true;
    const auto* rec = record(container);
    const auto* status = seen(container);
    return rec != nullptr && status != nullptr && rec->id == status->id && rec->started;
  }

  // A sidecar is kept running whatever its exits. True where it stands (and has passed its startup probe).
  bool plan_sidecar(const ContainerRef& container) {
    switch (is(container)) {
      case Is::kAbsent: (void)start(container); return false;
      case Is::kCreated: start_existing(container); return false;
      case Is::kRunning: return keep_running(container) && passed_startup(container);
      case Is::kSucceeded:
      case Is::kFailed: (void)start(container); return false;
      case Is::kUnknown:
        kill_unknown(container);
        (void)start(container);
        return false;
    }
    std::abort();  // not one of the enumerators: memory is broken
  }

  // True where the regular init container is done.
  bool plan_init_container(const ContainerRef& container) {
    switch (is(container)) {
      case Is::kAbsent:
        if (may_start_anew(in_, container)) {
          (void)start(container);
        } else {
          plan_.finished = true;
        }
        return false;
      case Is::kCreated: start_existing(container); return false;
      case Is::kRunning: return false;
      case Is::kSucceeded: return true;
      case Is::kFailed: break;
      case Is::kUnknown: kill_unknown(container); break;
    }
    if (restart_after(*in_.pod, container, std::max(exit_code(container), 1)) == Restart::kNo) {
      plan_.finished = true;
    } else {
      (void)start(container);
    }
    return false;
  }

  bool has_trace(const ContainerRef& container) const {
    const auto* rec = record(container);
    return seen(container) != nullptr ||
           (rec != nullptr && rec->sandbox == sandbox_ && rec->state != pods::InstanceState::kNone);
  }

  bool is_initialized() const {
    if (in_.record->initialized_in == sandbox_) return true;
    for (const auto& container : all_) {
      // Also one that ended: it could begin here only after the init containers.
      if (container.kind == ContainerKind::kRegular && is(container) != Is::kAbsent) return true;
    }
    return false;
  }

  // True once the regular containers may run.
  bool plan_init() {
    const bool initialized = is_initialized();
    std::size_t furthest = 0;  // the last init container that has begun in this sandbox
    for (std::size_t i = 0; i < all_.size(); ++i) {
      if (all_[i].kind <= ContainerKind::kSidecar && has_trace(all_[i])) furthest = i;
    }
    for (std::size_t i = 0; i < all_.size(); ++i) {
      const auto& container = all_[i];
      if (container.kind == ContainerKind::kSidecar) {
        // One that later containers already went past is looked after, but holds nobody back any more.
        const bool stands = plan_sidecar(container);
        if (!stands && !initialized && i >= furthest) return false;
      } else if (container.kind == ContainerKind::kInit && !initialized) {
        if (!plan_init_container(container)) return false;
      }
    }
    return true;
  }

  void plan_regular() {
    bool any = false;
    for (const auto& container : all_) {
      if (container.kind == ContainerKind::kRegular && plan_one_regular(container)) any = true;
    }
    if (!any) plan_.finished = true;
  }

  // True where it is kept, started or waits for its start.
  bool plan_one_regular(const ContainerRef& container) {
    switch (is(container)) {
      case Is::kAbsent:
        if (!may_start_anew(in_, container)) return false;
        (void)start(container);
        return true;
      case Is::kCreated: start_existing(container); return true;
      case Is::kRunning:
        if (keep_running(container)) return true;
        return restarts_after_probe_kill(*in_.pod, container) || !plan_.kills.empty();
      case Is::kSucceeded:
      case Is::kFailed:
        if (restart_after(*in_.pod, container, exit_code(container)) == Restart::kNo) return false;
        (void)start(container);
        return true;
      case Is::kUnknown:
        kill_unknown(container);
        (void)start(container);
        return true;
    }
    std::abort();  // not one of the enumerators: memory is broken
  }

  const PlanInput& in_;
  PodPlan& plan_;
  const SandboxId sandbox_;
  const std::vector<ContainerRef> all_;
};

void plan_new_sandbox(const PlanInput& in, PodPlan& plan) {
  plan.kill_all = std::any_of(in.seen->sandboxes.begin(), in.seen->sandboxes.end(),
                              [](const auto& s) { return s.state == cri::SandboxState::kReady; }) ||
                  std::any_of(in.seen->containers.begin(), in.seen->containers.end(),
                              [](const auto& c) { return c.state == cri::ContainerState::kRunning; });
  bool any_had_run = false;
  std::vector<ContainerRef> init;
  std::vector<ContainerRef> regular;
  for (auto& container : pods::containers_of(in.pod)) {
    const auto found = in.record->containers.find(container.name);
    const bool had_run = found != in.record->containers.end() && (found->second.exit || found->second.start_once ||
                                                                  found->second.state >= pods::InstanceState::kRunning);
    any_had_run = any_had_run || had_run;
    if (container.kind == ContainerKind::kRegular) {
      if (may_start_anew(in, container)) regular.push_back(std::move(container));
    } else if (container.kind != ContainerKind::kEphemeral) {
      init.push_back(std::move(container));
    }
  }
  const bool never_again = in.pod->spec().restartpolicy() == "Never" && plan.sandbox.attempt != 0 && any_had_run;
  if (never_again || regular.empty()) {
    plan.sandbox.create = false;
    plan.finished = true;
    return;
  }
  // In a new sandbox the init containers run again, from the first one on.
  if (!init.empty()) {
    plan.starts.push_back({init.front(), {}});
    return;
  }
  for (auto& container : regular) {
    const auto found = in.record->containers.find(container.name);
    if (found != in.record->containers.end() && found->second.exit) {
      const auto until =
          blocked_until(found->second.backoff, backoff_key(container), found->second.exit->learnt_at, in.now);
      if (until) {
        // It waits out its back-off inside the new sandbox; the next plan sees to it.
        plan.waiting.push_back({container.name, "CrashLoopBackOff",
                                crash_loop_message(*in.pod, container.name, found->second.backoff.delay), *until});
        if (!plan.wake_at || *until < *plan.wake_at) plan.wake_at = until;
        continue;
      }
    }
    plan.starts.push_back({std::move(container), {}});
  }
}

}  // namespace

std::string crash_loop_message(const core::Pod& pod, const ContainerName& container, std::chrono::seconds delay) {
  return fmt::format("back-off {} restarting failed container={} pod={}_{}({})", to_text(delay), container,
                     pod.metadata().name(), pod.metadata().namespace_(), pod.metadata().uid());
}

namespace {

bool runs_something(const pleg::PodRuntime& seen, const SandboxId& sandbox) {
  return std::any_of(seen.containers.begin(), seen.containers.end(), [&sandbox](const auto& container) {
    return container.sandbox == sandbox && container.state == cri::ContainerState::kRunning;
  });
}

// The sandbox to stay with among those that are ready: the one we made and noted, else the one that runs something,
// else the newest. Upstream replaces all where more than one is ready; that would restart what runs because a call
// that had timed out came to its end after all.
const cri::SandboxStatus* keeper_of(const pleg::PodRuntime& seen, const pods::PodRecord& record) {
  const cri::SandboxStatus* keeper = nullptr;
  for (const auto& sandbox : seen.sandboxes) {  // newest first
    if (sandbox.state != cri::SandboxState::kReady) continue;
    if (sandbox.id == record.sandbox.id) return &sandbox;
    const bool better = keeper == nullptr || (!runs_something(seen, keeper->id) && runs_something(seen, sandbox.id));
    if (better) keeper = &sandbox;
  }
  return keeper;
}

}  // namespace

SandboxPlan plan_sandbox(const core::Pod& pod, const pleg::PodRuntime& seen, const pods::PodRecord& record) {
  SandboxPlan plan;
  plan.create = true;
  if (seen.sandboxes.empty()) {
    plan.why = "the pod has no sandbox";
    // An attempt that was begun and is not seen may still be at work under its reserved name; the runner finds out.
    plan.attempt = record.sandbox.id.empty() ? record.sandbox.attempt : record.sandbox.attempt + 1;
    return plan;
  }
  plan.attempt = std::max(seen.sandboxes.front().attempt, record.sandbox.attempt) + 1;
  plan.replaces = seen.sandboxes.front().id;
  const cri::SandboxStatus* keeper = keeper_of(seen, record);
  if (keeper == nullptr) {
    plan.why = "the sandbox is not ready";
    return plan;
  }
  const bool host_network = pod.spec().hostnetwork();
  if ((keeper->network == cri::NamespaceMode::kNode) != host_network) {
    plan.why = "the network namespace mode differs from the spec";
    plan.replaces = SandboxId();
    return plan;
  }
  if (!host_network && keeper->ips.empty()) {
    plan.why = "the sandbox has no address";
    return plan;
  }
  plan.create = false;
  plan.attempt = keeper->attempt;
  plan.replaces = SandboxId();
  plan.use = keeper->id;
  for (const auto& sandbox : seen.sandboxes) {
    if (sandbox.state == cri::SandboxState::kReady && sandbox.id != keeper->id) plan.extras.push_back(sandbox.id);
  }
  return plan;
}

PodPlan plan_pod(const PlanInput& input) {
  PodPlan plan;
  plan.sandbox = plan_sandbox(*input.pod, *input.seen, *input.record);
  if (plan.sandbox.create) {
    plan_new_sandbox(input, plan);
  } else {
    Planner(input, plan).run();
  }
  if (plan.finished) {
    plan.kill_all = true;
    plan.starts.clear();
    plan.waiting.clear();
    plan.wake_at.reset();
  }
  return plan;
}

}  // namespace podwright::sync
