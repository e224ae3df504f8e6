#include "agent/sync/pod_worker.h"

#include <algorithm>

#include "agent/status/compute.h"
#include "base/status/annotate.h"

namespace podwright::sync {
namespace {

// Between two tries to end a pod whose containers will not stop.
constexpr Duration kFirstRetry = 1s;
constexpr Duration kLongestRetry = 30s;

bool changes_what_runs(const core::Pod& older, const core::Pod& newer) {
  const auto hashes = [](const core::Pod& pod) {
    std::string all;
    for (const auto& c : pod.spec().initcontainers()) all += pods::container_hash(c) + " ";
    for (const auto& c : pod.spec().containers()) all += pods::container_hash(c) + " ";
    return all + fmt::format("{}", pod.spec().ephemeralcontainers_size());
  };
  return hashes(older) != hashes(newer);
}

}  // namespace

std::string_view name_of(WorkerState state) {
  switch (state) {
    case WorkerState::kSyncing: return "Syncing";
    case WorkerState::kTerminating: return "Terminating";
    case WorkerState::kTerminated: return "Terminated";
    case WorkerState::kFinished: return "Finished";
  }
  std::abort();  // not one of the enumerators: memory is broken
}

WorkerState next_state(WorkerState now, bool stop_wanted, bool anything_runs, bool freed) {
  switch (now) {
    case WorkerState::kSyncing: return stop_wanted ? WorkerState::kTerminating : WorkerState::kSyncing;
    case WorkerState::kTerminating: return anything_runs ? WorkerState::kTerminating : WorkerState::kTerminated;
    case WorkerState::kTerminated: return freed ? WorkerState::kFinished : WorkerState::kTerminated;
    case WorkerState::kFinished: return WorkerState::kFinished;
  }
  std::abort();  // not one of the enumerators: memory is broken
}

PodWorker::Note PodWorker::Note::join(Note older, Note newer) {
  Note joined;
  if (older.wish && newer.wish) {
    joined.wish = pods::Wish::join(std::move(*older.wish), std::move(*newer.wish));
  } else {
    joined.wish = newer.wish ? std::move(newer.wish) : std::move(older.wish);
  }
  joined.look = older.look || newer.look;
  joined.advanced = older.advanced || newer.advanced;
  joined.dropped = older.dropped || newer.dropped;
  return joined;
}

PodWorker::PodWorker(Parts& parts, PodUid uid, pods::PodRecord record, Sink<PodUid> finished)
    : parts_(parts),
      runner_(parts),
      finished_(std::move(finished)),
      inbox_(parts.loop),
      advance_scope_(std::make_unique<Scope>(parts.loop)) {
  pod_.uid = std::move(uid);
  pod_.record = std::move(record);
  pod_.pod = pod_.record.pod;
  pod_.flow = pods::flow_of(pod_.record.key, pod_.uid);
  if (pod_.record.termination) {
    stop_ = pod_.record.termination->wish;
    state_ = WorkerState::kTerminating;
  } else if (pod_.record.terminal) {
    state_ = WorkerState::kTerminating;  // it may have been cut before everything was freed: looking again is harmless
    stop_ = pods::StopWish{pods::StopReason::kFinished, {}, {}, {}};
  }
  if (!pod_.record.last_status.empty()) {
    auto status = std::make_shared<core::PodStatus>();
    if (status->ParseFromString(pod_.record.last_status)) published_ = std::move(status);
  }
}

void PodWorker::start(Scope& scope) {
  scope.spawn(pod_.flow.key, run());
}

void PodWorker::put(pods::Wish wish) {
  Note note;
  note.wish = std::move(wish);
  inbox_.put(std::move(note));
}

void PodWorker::poke() {
  Note note;
  note.look = true;
  inbox_.put(std::move(note));
}

void PodWorker::drop() {
  dropping_ = true;
  Note note;
  note.dropped = true;
  inbox_.put(std::move(note));
}

Co<void> PodWorker::run() {
  publish();
  while (true) {
    if (!busy_ && dirty_) {
      dirty_ = false;
      busy_ = true;
      wake_at_ = Instant::max();
      advance_scope_->spawn("advance", advance());
    }
    if (!busy_ && gone_) break;
    std::optional<Note> note = co_await inbox_.take(busy_ ? Instant::max() : wake_at_);
    if (co_await is_stopping()) {
      co_await advance_scope_->close();
      co_return;
    }
    if (!note) {
      dirty_ = true;
      continue;
    }
    bool cut = false;
    take(std::move(*note), cut);
    if (cut && busy_) {
      // Waits end at once: shared work is left, hooks are cut, calls with an effect go on as strays.
      advance_scope_->cancel();
      while (busy_) {
        const std::optional<Note> more = co_await inbox_.take(Instant::max());
        if (co_await is_stopping()) {
          co_await advance_scope_->close();
          co_return;
        }
        bool again = false;
        if (more) take(*more, again);
      }
      advance_scope_ = std::make_unique<Scope>(parts_.loop);
      dirty_ = true;
    }
  }
  finished_(pod_.uid);
}

void PodWorker::take(Note note, bool& cut) {
  if (note.advanced) busy_ = false;
  if (note.look) {
    dirty_ = true;
    // While a plan is at work (a stop that waits out its grace, a slow pull), news of the runtime is shown at once.
    if (busy_) publish();
  }
  if (note.dropped) {
    dropped_ = true;
    dirty_ = true;
    if (!stop_) {
      stop_ = pods::StopWish{pods::StopReason::kRemoved, {}, {}, {}};
      cut = true;
    }
  }
  if (!note.wish) return;
  dirty_ = true;
  pods::Wish& wish = *note.wish;
  if (wish.api_status) api_status_ = wish.api_status;
  if (wish.pod) {
    if (pod_.pod && state_ == WorkerState::kSyncing && changes_what_runs(*pod_.pod, *wish.pod)) cut = true;
    pod_.pod = wish.pod;
    pod_.record.pod = wish.pod;
    if (!wish.origin.empty()) pod_.record.origin = wish.origin;
  }
  if (wish.stop) {
    const auto before = stop_;
    stop_ = stop_ ? pods::join(std::move(*stop_), std::move(*wish.stop)) : std::move(wish.stop);
    if (before != stop_) cut = true;
  }
}

Co<void> PodWorker::advance() {
  switch (state_) {
    case WorkerState::kSyncing: co_await advance_syncing(); break;
    case WorkerState::kTerminating: co_await advance_terminating(); break;
    case WorkerState::kTerminated:
    case WorkerState::kFinished: co_await advance_terminated(); break;
  }
  Note note;
  note.advanced = true;
  inbox_.put(std::move(note));
}

// A complete look at the pod, folded into the record. False where the look failed or was cut.
Co<bool> PodWorker::look() {
  const Instant deadline = after(parts_.loop.now(), 2s);
  Step step(parts_.steps, pod_.flow, StepKind::kInspect, "runtime", deadline);
  const absl::StatusOr<pleg::PodRuntimePtr> seen = co_await parts_.cache.inspect(pod_.uid);
  step.end(seen.status());
  if (!seen.ok()) {
    if (!absl::IsCancelled(seen.status())) fail(annotate(seen.status(), "look at pod {}", pod_.record.key), {});
    co_return false;
  }
  seen_ = *seen;
  const bool in_flight = parts_.strays.in_flight(pod_.uid) > 0;
  const Absorbed absorbed =
      absorb(pod_.record, pod_.pod, *seen_, parts_.loop.now(), parts_.loop.clock().wall(), in_flight);
  for (const auto& exit : absorbed.ended) {
    log_info(pod_.flow.subject, "container ended",
             {{"container_id", short_id(exit.container)}, {"exit_code", exit.exit_code}, {"reason", exit.reason}});
  }
  co_await read_termination_messages(absorbed.ended);
  co_await keep(absorbed);
  co_return true;
}

Co<void> PodWorker::keep(const Absorbed& absorbed) {
  if (!absorbed.changed) co_return;
  if (absorbed.needs_power_safe) {
    const absl::Status status = co_await parts_.table.commit(pod_.record, table::Durability::kPowerSafe);
    if (!status.ok()) fail(annotate(status, "keep the record of pod {}", pod_.record.key), {});
  } else {
    parts_.table.put(pod_.record);
  }
}

Co<void> PodWorker::advance_syncing() {
  if (!pod_.pod) {
    // Only the runtime knows it. It is let be until every source has spoken; then SyncLoop asks for its end.
    if (!stop_) {
      (void)co_await look();
      co_return;
    }
  }
  if (!stop_ && !co_await look()) co_return;
  if (!stop_) {
    const auto deadline = active_deadline();
    if (deadline && *deadline <= parts_.loop.now()) {
      stop_ = pods::StopWish{pods::StopReason::kDeadline,
                             {},
                             "DeadlineExceeded",
                             "Pod was active on the node longer than the specified deadline"};
    }
  }
  if (stop_) {
    co_await begin_termination(*stop_);
    co_await advance_terminating();
    co_return;
  }

  PlanInput input;
  input.pod = pod_.pod;
  input.seen = seen_;
  input.record = &pod_.record;
  for (const auto& [name, rec] : pod_.record.containers) {
    const auto live = rec.probes.find(pods::ProbeKind::kLiveness);
    const auto startup = rec.probes.find(pods::ProbeKind::kStartup);
    ProbeVerdict verdict;
    verdict.liveness_failed = live != rec.probes.end() && live->second.published == false;
    verdict.startup_failed = startup != rec.probes.end() && startup->second.published == false;
    if (verdict.liveness_failed || verdict.startup_failed) input.probes[name] = verdict;
  }
  input.now = parts_.loop.now();
  input.backoff = parts_.options.backoff;
  PodPlan plan = plan_pod(input);
  last_plan_ = plan;
  if (!plan.sandbox.create && pod_.record.sandbox.id != plan.sandbox.use) {
    pod_.record.sandbox = {plan.sandbox.use, plan.sandbox.attempt, false};
  }
  update_probes();
  publish();
  log_v(2, pod_.flow.subject, "plan",
        {{"create_sandbox", plan.sandbox.create},
         {"kill_all", plan.kill_all},
         {"kills", plan.kills.size()},
         {"starts", plan.starts.size()},
         {"waiting", plan.waiting.size()},
         {"finished", plan.finished},
         {"why", plan.sandbox.why}});

  const auto deadline = active_deadline();
  if (deadline) wake_at_ = std::min(wake_at_, *deadline);
  if (plan.finished) {
    co_await begin_termination(pods::StopWish{pods::StopReason::kFinished, {}, {}, {}});
    co_await advance_terminating();
    co_return;
  }
  if (plan.wake_at) wake_at_ = std::min(wake_at_, *plan.wake_at);
  if (plan.is_idle() && plan.waiting.empty()) {
    backoff_ = Duration(0);
    co_return;
  }
  const RunOutcome outcome = co_await runner_.run(pod_, plan);
  if (co_await is_stopping()) co_return;
  if (outcome.acted) dirty_ = dirty_ || outcome.error.ok();
  if (!outcome.error.ok()) {
    fail(outcome.error, outcome.retry_at);
  } else {
    backoff_ = Duration(0);
    last_error_.clear();
    if (outcome.retry_at) {
      wake_at_ = std::min(wake_at_, *outcome.retry_at);
      dirty_ = false;
    }
  }
  publish();
}

Co<void> PodWorker::begin_termination(pods::StopWish stop) {
  const Instant now = parts_.loop.now();
  // The value in force only shrinks; it is at least 1 s. Source: calculateEffectiveGracePeriod.
  std::chrono::seconds grace(pod_.pod ? pod_.pod->spec().terminationgraceperiodseconds() : 1);
  if (pod_.pod && pod_.pod->metadata().has_deletiongraceperiodseconds()) {
    grace = std::chrono::seconds(pod_.pod->metadata().deletiongraceperiodseconds());
  }
  if (stop.grace) grace = std::min(grace, *stop.grace);
  grace = std::max(grace, std::chrono::seconds(1));
  const Instant deadline = after(now, grace);
  auto& termination = pod_.record.termination;
  if (!termination) {
    log_info(pod_.flow.subject, "pod terminates", {{"why", name_of(stop.reason)}, {"grace", Duration(grace)}});
    termination = pods::TerminationRecord{stop, deadline, grace, parts_.loop.clock().wall()};
  } else {
    termination->wish = pods::join(termination->wish, stop);
    if (deadline < termination->deadline) {
      termination->deadline = deadline;
      termination->grace = grace;
    }
  }
  state_ = next_state(state_, true, true, false);
  // Liveness must not kill what is ending; readiness goes on, so that it can be taken out of service.
  parts_.probes.stop_liveness_and_startup(pod_.uid);
  parts_.table.put(pod_.record);
  publish();
  co_return;
}

Co<void> PodWorker::advance_terminating() {
  if (stop_ && (!pod_.record.termination || pod_.record.termination->wish != *stop_))
    co_await begin_termination(*stop_);
  while (true) {
    if (!co_await look()) co_return;
    publish();
    if (!anything_runs()) break;
    if (parts_.strays.in_flight(pod_.uid) > 0 && !seen_->anything_running() && !seen_->any_sandbox_ready()) {
      co_return;  // the stray's end pokes us
    }
    const auto& termination = *pod_.record.termination;
    const absl::Status status = co_await runner_.kill_pod(pod_, seen_, termination.deadline, termination.grace);
    if (co_await is_stopping()) co_return;
    if (!status.ok()) {
      fail(status, {});
      co_return;
    }
    backoff_ = Duration(0);
  }
  state_ = next_state(state_, true, false, false);
  finish_terminal();
  co_await advance_terminated();
}

// What the pod came to, once nothing of it runs any more.
void PodWorker::finish_terminal() {
  parts_.probes.remove(pod_.uid);
  const auto reason = pod_.record.termination ? pod_.record.termination->wish.reason : pods::StopReason::kFinished;
  const bool fails = reason == pods::StopReason::kEvicted || reason == pods::StopReason::kOverLimit ||
                     reason == pods::StopReason::kDeadline || reason == pods::StopReason::kPreempted ||
                     reason == pods::StopReason::kShutdown;
  if (!pod_.pod || pod_.record.terminal) return;
  if (fails) {
    const auto& wish = pod_.record.termination->wish;
    pod_.record.terminal = pods::TerminalRecord{false, wish.status_reason, wish.status_message};
  } else if (reason == pods::StopReason::kFinished) {
    status::Inputs inputs;
    inputs.pod = pod_.pod;
    inputs.runtime = seen_;
    inputs.record = &pod_.record;
    inputs.terminal = true;
    const core::PodStatus status = status::compute_status(inputs);
    // What will never run again has failed where it has not succeeded, also where some container never began.
    pod_.record.terminal = pods::TerminalRecord{status.phase() == "Succeeded", {}, {}};
  }
}

Co<void> PodWorker::advance_terminated() {
  if (state_ == WorkerState::kTerminated) {
    // A final phase, or a success that must not run again, is told only once it cannot be lost any more.
    const absl::Status kept = co_await parts_.table.commit(pod_.record, table::Durability::kPowerSafe);
    if (!kept.ok()) {
      fail(annotate(kept, "keep the end of pod {}", pod_.record.key), {});
      co_return;
    }
    publish();
    const Instant deadline = after(parts_.loop.now(), parts_.options.volume_timeout);
    Step step(parts_.steps, pod_.flow, StepKind::kVolume, "take down volumes", deadline);
    absl::Status status = co_await parts_.volumes.teardown(pod_.uid, pod_.record.volumes, deadline);
    step.end(status);
    if (status.ok()) {
      pod_.record.volumes.clear();
      Step cgroup(parts_.steps, pod_.flow, StepKind::kCgroup, "remove the pod's cgroup");
      status = co_await parts_.cgroups.remove(pod_.uid);
      cgroup.end(status);
    }
    if (co_await is_stopping()) co_return;
    if (!status.ok()) {
      fail(status, {});
      co_return;
    }
    state_ = next_state(state_, true, false, true);
    log_info(pod_.flow.subject, "pod ended",
             {{"phase", published_ ? published_->phase() : ""},
              {"why", pod_.record.termination ? name_of(pod_.record.termination->wish.reason) : "finished"}});
    parts_.table.put(pod_.record);
    publish();
  }
  if (!dropped_) co_return;
  const absl::Status status = co_await remove_from_runtime();
  if (co_await is_stopping()) co_return;
  if (status.ok()) {
    gone_ = true;
  } else {
    fail(status, {});
  }
}

Co<absl::Status> PodWorker::remove_from_runtime() {
  const auto seen = co_await parts_.cache.inspect(pod_.uid);
  if (!seen.ok()) co_return annotate(seen.status(), "look at pod {}", pod_.record.key);
  for (const auto& sandbox : (*seen)->sandboxes) {
    const Instant deadline = after(parts_.loop.now(), parts_.options.runtime_request_timeout);
    Step step(parts_.steps, pod_.flow, StepKind::kRemoveSandbox, fmt::format("sandbox {}", short_id(sandbox.id)),
              deadline);
    const absl::Status status =
        co_await parts_.strays.carry(pod_.uid, "RemovePodSandbox", parts_.runtime.remove_sandbox(sandbox.id, deadline));
    step.end(status);
    if (!status.ok()) co_return annotate(status, "remove sandbox {}", short_id(sandbox.id));
  }
  for (const auto& container : (*seen)->containers) {
    const Instant deadline = after(parts_.loop.now(), parts_.options.runtime_request_timeout);
    const absl::Status status = co_await parts_.strays.carry(pod_.uid, "RemoveContainer",
                                                             parts_.runtime.remove_container(container.id, deadline));
    if (!status.ok() && !absl::IsNotFound(status)) co_return annotate(status, "remove a container");
    const std::string link = containers::container_log_link(parts_.node, pod_.record.key, container.name, container.id);
    if (absl::Status gone = parts_.tree.remove_file(link); !gone.ok() && !absl::IsNotFound(gone)) co_return gone;
  }
  const std::string logs = containers::pod_log_dir(parts_.node, pod_.record.key, pod_.uid);
  Tree& tree = parts_.tree;
  const absl::Status removed =
      co_await offload(parts_.loop, parts_.offload, [&tree, logs] { return tree.remove_tree(logs); });
  if (!removed.ok()) co_return removed;
  const absl::Status erased = co_await parts_.table.erase(pod_.uid);
  if (!erased.ok()) co_return erased;
  parts_.cache.drop(pod_.uid);
  parts_.images.forget(pod_.uid);
  parts_.steps.forget(pod_.flow.key);
  parts_.board.erase(pod_.uid);
  co_return absl::OkStatus();
}

void PodWorker::fail(const absl::Status& error, std::optional<Instant> retry_at) {
  const Instant now = parts_.loop.now();
  backoff_ = backoff_ == Duration(0) ? kFirstRetry : std::min(2 * backoff_, kLongestRetry);
  Instant at = after(now, parts_.loop.rng().jitter(backoff_, 0.5));
  if (retry_at && *retry_at < at) at = std::max(*retry_at, now);
  wake_at_ = std::min(wake_at_, at);
  const std::string text = text_of(error);
  if (text != last_error_) {
    log_warning(pod_.flow.subject, "will be tried again", {{"error", text}, {"in", at - now}});
    last_error_ = text;
  }
}

bool PodWorker::anything_runs() const {
  return parts_.strays.in_flight(pod_.uid) > 0 || (seen_ && (seen_->anything_running() || seen_->any_sandbox_ready()));
}

std::optional<Instant> PodWorker::active_deadline() const {
  if (!pod_.pod || !pod_.pod->spec().has_activedeadlineseconds()) return std::nullopt;
  return after(pod_.record.active_since, std::chrono::seconds(pod_.pod->spec().activedeadlineseconds()));
}

}  // namespace podwright::sync
