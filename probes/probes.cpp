#include "probes/probes.h"

#include <algorithm>

#include "base/status/annotate.h"
#include "probes/probers.h"
#include "probes/worker.h"

namespace podwright::probes {

namespace {

// How many left processes are worth an event.
constexpr uint32_t kToldLeftovers = 3;

// Attempts of one probe as long as it cannot be run at all. Source: maxProbeRetries in pkg/kubelet/prober/prober.go.
constexpr int kAttempts = 3;

}  // namespace

ContainerVerdicts verdicts_of(const ProbeSpecs& specs, const std::map<ProbeKind, ProbeState>& states) {
  const auto verdict = [&](ProbeKind kind) {
    const auto state = states.find(kind);
    return verdict_of(kind, state == states.end() ? ProbeState{} : state->second);
  };
  ContainerVerdicts verdicts;
  const auto liveness = specs.find(ProbeKind::kLiveness), startup = specs.find(ProbeKind::kStartup);
  if (startup != specs.end()) {
    verdicts.started = verdict(ProbeKind::kStartup) == Verdict::kSuccess;
    verdicts.startup_failed = verdict(ProbeKind::kStartup) == Verdict::kFailure;
    if (verdicts.startup_failed) verdicts.termination_grace = startup->second.termination_grace;
  }
  const bool ready = !specs.contains(ProbeKind::kReadiness) || verdict(ProbeKind::kReadiness) == Verdict::kSuccess;
  verdicts.ready = verdicts.started && ready;
  if (liveness != specs.end() && verdict(ProbeKind::kLiveness) == Verdict::kFailure) {
    verdicts.liveness_failed = true;
    verdicts.termination_grace = liveness->second.termination_grace;
  }
  return verdicts;
}

Probes::Probes(Loop& loop, Net& net, cri::Runtime& runtime, Steps& steps, ProbeOptions options,
               Sink<ProbeResult> results)
    : loop_(loop),
      runtime_(runtime),
      steps_(steps),
      options_(std::move(options)),
      results_(std::move(results)),
      targets_(net, options_.targets),
      exec_slots_(loop, options_.exec_limit) {}

Probes::~Probes() = default;

Instant Probes::first_tick(const Watched& watched, const Worker& worker) {
  const Instant now = loop_.now();
  Instant due = std::max(now, after(watched.container.running_since, worker.spec.initial_delay));
  // Many containers are added at once when the agent starts; they are not all probed at once.
  if (now - options_.agent_started < worker.period()) {
    due = after(due, Duration(static_cast<int64_t>(loop_.rng().below(static_cast<uint64_t>(worker.period().count())))));
  }
  return due;
}

Co<bool> Probes::wait_for_startup(WatchedPtr watched) {
  while (!watched->started()) {
    if (co_await watched->startup_changed.wait_until(Instant::max()) != Wait::kRung) co_return false;
  }
  co_return true;
}

Co<void> Probes::run(WatchedPtr watched, WorkerPtr worker) {
  if (!worker->begin_run()) co_return;
  Instant due = first_tick(*watched, *worker);
  while (!worker->state.on_hold && !worker->stopped) {
    const Wait wait = co_await worker->trigger.wait_until(due);
    if (wait == Wait::kCancelled || worker->stopped) break;
    if (wait == Wait::kRung) {
      if (loop_.now() < after(watched->container.running_since, worker->spec.initial_delay)) continue;
      due = loop_.now();
    }
    if (worker->kind != ProbeKind::kStartup && !watched->started()) {
      if (!co_await wait_for_startup(watched)) break;
      due = loop_.now();
    }
    const Instant began = loop_.now();
    worker->waited = Duration(0);
    ProbeOutcome outcome = co_await probe(watched, worker);
    if (worker->stopped || co_await is_stopping()) break;
    tell(watched, worker, std::move(outcome), loop_.now() - began - worker->waited);
    // Counted from when it was due, so that the time a probe takes does not shift the next one.
    due = std::max(after(due, worker->period()), loop_.now());
  }
  worker->run_part = Worker::Part::kNone;
}

Co<ProbeOutcome> Probes::probe(WatchedPtr watched, WorkerPtr worker) {
  ProbeOutcome outcome;
  for (int i = 0; i < kAttempts; ++i) {
    outcome = co_await probe_once(watched, worker);
    if (outcome.result != Outcome::kError || worker->stopped || co_await is_stopping()) break;
  }
  co_return outcome;
}

Co<ProbeOutcome> Probes::probe_once(WatchedPtr watched, WorkerPtr worker) {
  // Copies: add() may change both while the probe runs.
  const ProbeAction action = worker->spec.action;
  if (const auto* exec = std::get_if<ExecAction>(&action)) co_return co_await probe_exec(watched, worker, *exec);
  Attempt attempt{loop_, targets_, watched->container.target, worker->timeout(), options_.user_agent};
  Step step(steps_, worker->flow, StepKind::kProbe, worker->what, after(loop_.now(), attempt.timeout));
  ProbeOutcome outcome;
  if (const auto* http = std::get_if<HttpGetAction>(&action)) {
    outcome = co_await probe_http(std::move(attempt), *http);
  } else if (const auto* tcp = std::get_if<TcpAction>(&action)) {
    outcome = co_await probe_tcp(std::move(attempt), *tcp);
  } else {
    outcome = co_await probe_grpc(std::move(attempt), std::get<GrpcAction>(action));
  }
  step.end(outcome.result == Outcome::kError ? absl::UnknownError(outcome.text) : absl::OkStatus());
  co_return outcome;
}

Co<ProbeOutcome> Probes::probe_exec(WatchedPtr watched, WorkerPtr worker, ExecAction action) {
  ProbeOutcome late;
  late.result = Outcome::kFailure;
  late.text = late_text(action);
  if (worker->call_part != Worker::Part::kNone) {
    late.text += ": its last call has not returned yet";
    count_leftovers(*watched, *worker, false);
    co_return late;
  }
  const Instant asked = loop_.now();
  const auto slot = co_await exec_slots_.acquire(Instant::max());
  worker->waited += loop_.now() - asked;
  if (!slot.ok()) co_return ProbeOutcome{Outcome::kError, text_of(slot.status())};

  if (!worker->processes_before) count_leftovers(*watched, *worker, true);
  const auto answer = std::make_shared<ExecAnswer>(loop_);
  worker->spawn_call(call_exec(worker, watched->container.target.id, action, answer));
  // The place is given back when the time is over: one container whose calls hang does not hold up the others.
  const auto result = co_await answer->take(after(loop_.now(), worker->timeout()));
  const ProbeOutcome outcome = result ? outcome_of(action, *result) : late;
  const bool timed_out = !result || absl::IsDeadlineExceeded(result->status());
  if (!result) worker->exec_late = worker->call_part != Worker::Part::kNone;
  if (timed_out || outcome.result == Outcome::kSuccess) count_leftovers(*watched, *worker, !timed_out);
  co_return outcome;
}

Co<void> Probes::call_exec(WorkerPtr worker, ContainerId id, ExecAction action, std::shared_ptr<ExecAnswer> answer) {
  if (!worker->begin_call()) co_return;
  const Instant deadline = after(loop_.now(), options_.exec_call_limit);
  const auto timeout = std::chrono::duration_cast<std::chrono::seconds>(worker->timeout());
  Step step(steps_, worker->flow, StepKind::kExec, worker->what, deadline);
  auto result = co_await runtime_.exec_sync(std::move(id), std::move(action.command), timeout, deadline);
  step.end(result.status());
  worker->call_part = Worker::Part::kNone;
  worker->exec_late = false;
  answer->set(std::move(result));
}

void Probes::count_leftovers(const Watched& watched, Worker& worker, bool good) {
  if (!options_.processes_of) return;
  const auto processes = options_.processes_of(watched.container.target.uid, watched.container.target.id);
  if (!processes) return;
  if (good || !worker.processes_before) {
    worker.processes_before = processes;
    worker.leftovers_told = false;
  }
  worker.leftovers = *processes - std::min(*processes, *worker.processes_before);
}

void Probes::tell(const WatchedPtr& watched, const WorkerPtr& worker, ProbeOutcome outcome, Duration took) {
  const Verdict before = verdict_of(worker->kind, worker->state);
  worker->state = next(worker->kind, worker->state, outcome.result, worker->spec.thresholds);
  worker->count(outcome.result, took);

  ProbeResult result;
  result.uid = watched->container.target.uid;
  result.container = watched->container.target.container;
  result.id = watched->container.target.id;
  result.kind = worker->kind;
  result.state = worker->state;
  result.verdict = verdict_of(worker->kind, worker->state);
  result.changed = result.verdict != before;
  result.took = took;
  // Told once of a probe, not at each of its ticks.
  if (outcome.foreign_target && std::exchange(worker->foreign_told, true)) outcome.foreign_target = false;
  result.event = event_of(worker->kind, outcome, result.verdict);
  if (worker->leftovers >= kToldLeftovers && !std::exchange(worker->leftovers_told, true)) {
    result.leftover_event = ProbeEvent{"ExecProbeLeftovers",
                                       fmt::format("{} probe left {} processes of timed-out commands in the container",
                                                   name_of(worker->kind), worker->leftovers)};
  }
  result.outcome = std::move(outcome);
  if (worker->kind == ProbeKind::kStartup && result.changed) watched->startup_changed.notify();
  worker->telling = true;
  results_(std::move(result));
  worker->telling = false;
}

}  // namespace podwright::probes
