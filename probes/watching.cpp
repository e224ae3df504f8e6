// Which containers Probes watches, and what it says about them.
#include <utility>

#include "probes/worker.h"

namespace podwright::probes {

void Probes::Worker::count(Outcome outcome, Duration took) {
  switch (outcome) {
    case Outcome::kSuccess:
    case Outcome::kWarning: ++successful; break;
    case Outcome::kFailure: ++failed; break;
    case Outcome::kError: ++unknown; break;
  }
  const double seconds = std::chrono::duration<double>(took).count();
  const auto bucket = std::lower_bound(kDurationBuckets.begin(), kDurationBuckets.end(), seconds);
  ++durations[static_cast<std::size_t>(bucket - kDurationBuckets.begin())];
  total_time += took;
}

void Probes::Worker::spawn_run(Co<void> run) {
  run_part = Part::kBeginning;
  run_scope.spawn(what, std::move(run));
}

void Probes::Worker::spawn_call(Co<void> call) {
  call_part = Part::kBeginning;
  call_scope.spawn(what, std::move(call));
}

bool Probes::Worker::begin_run() {
  run_part = stopped ? Part::kNone : Part::kRunning;
  return !stopped;
}

bool Probes::Worker::begin_call() {
  call_part = stopped ? Part::kNone : Part::kRunning;
  if (stopped && run_part == Part::kRunning) run_scope.cancel();
  return !stopped;
}

void Probes::Worker::stop() {
  stopped = true;
  if (call_part == Part::kRunning) call_scope.cancel();
  if (run_part == Part::kRunning && call_part != Part::kBeginning && !telling) run_scope.cancel();
}

Co<void> Probes::Worker::join() {
  (void)co_await call_scope.idle(Instant::max());
  (void)co_await run_scope.idle(Instant::max());
}

void Probes::add(ProbedContainer container, std::map<ProbeKind, ProbeState> restored) {
  auto& place = watched_[Key(container.target.uid, container.target.container)];
  if (place && place->container.target.id != container.target.id) {
    end(place);
    place = nullptr;
  }
  if (!place) place = std::make_shared<Watched>(loop_);
  place->container = std::move(container);
  // A copy: what starts or ends below may be told and lead back here.
  const WatchedPtr watched = place;
  take_specs(watched, restored);
}

void Probes::take_specs(const WatchedPtr& watched, const std::map<ProbeKind, ProbeState>& restored) {
  const ProbeSpecs& specs = watched->container.specs;
  for (auto worker = watched->workers.begin(); worker != watched->workers.end();) {
    if (specs.contains(worker->first)) {
      ++worker;
      continue;
    }
    stop(watched, worker->second);
    worker = watched->workers.erase(worker);
  }
  watched->startup_changed.notify();
  // The startup probe first: the others ask for it.
  for (const ProbeKind kind : {ProbeKind::kStartup, ProbeKind::kLiveness, ProbeKind::kReadiness}) {
    const auto spec = specs.find(kind);
    if (spec == specs.end()) continue;
    const auto worker = watched->workers.find(kind);
    if (worker != watched->workers.end()) {
      worker->second->spec = spec->second;
      continue;
    }
    const auto state = restored.find(kind);
    start(watched, kind, state == restored.end() ? ProbeState{} : state->second);
  }
}

void Probes::start(const WatchedPtr& watched, ProbeKind kind, ProbeState state) {
  const ProbeTarget& target = watched->container.target;
  const auto worker = std::make_shared<Worker>(loop_, kind);
  worker->spec = watched->container.specs.at(kind);
  worker->state = state;
  // One flow for all: kept steps are few, and those of the pods are worth more.
  worker->flow = {"probes", {{"pod", target.pod}, {"uid", target.uid}, {"container", target.container}}};
  worker->what = fmt::format("{} probe of {} in {}", name_of(kind), target.container, target.pod);
  worker->stopped = kind != ProbeKind::kReadiness && terminating_.contains(target.uid);
  watched->workers[kind] = worker;
  if (!worker->stopped) worker->spawn_run(run(watched, worker));
}

void Probes::stop(const WatchedPtr& watched, const WorkerPtr& worker) {
  if (worker->stopped) return;
  worker->stop();
  std::erase_if(stopping_, [](const WorkerPtr& old) { return old->run_scope.size() + old->call_scope.size() == 0; });
  stopping_.push_back(worker);
  if (worker->kind == ProbeKind::kStartup) watched->startup_changed.notify();
}

void Probes::end(const WatchedPtr& watched) {
  for (const auto& [kind, worker] : watched->workers) stop(watched, worker);
}

void Probes::remove(const PodUid& uid, const ContainerName& container) {
  const auto found = watched_.find(Key(uid, container));
  if (found == watched_.end()) return;
  const WatchedPtr watched = found->second;
  watched_.erase(found);
  end(watched);
}

void Probes::remove(const PodUid& uid) {
  terminating_.erase(uid);
  for (auto it = watched_.lower_bound(Key(uid, {})); it != watched_.end() && it->first.first == uid;) {
    end(it->second);
    it = watched_.erase(it);
  }
}

void Probes::stop_liveness_and_startup(const PodUid& uid) {
  terminating_.insert(uid);
  for (auto it = watched_.lower_bound(Key(uid, {})); it != watched_.end() && it->first.first == uid; ++it) {
    for (const auto& [kind, worker] : it->second->workers) {
      if (kind != ProbeKind::kReadiness) stop(it->second, worker);
    }
  }
}

void Probes::trigger(const PodUid& uid, const ContainerName& container, ProbeKind kind) {
  const auto found = watched_.find(Key(uid, container));
  if (found == watched_.end()) return;
  const auto worker = found->second->workers.find(kind);
  if (worker != found->second->workers.end()) worker->second->trigger.ring();
}

Probes::WatchedPtr Probes::find(const PodUid& uid, const ContainerName& container, const ContainerId& id) const {
  const auto found = watched_.find(Key(uid, container));
  if (found == watched_.end() || found->second->container.target.id != id) return nullptr;
  return found->second;
}

std::optional<ContainerVerdicts> Probes::verdicts(const PodUid& uid, const ContainerName& container,
                                                  const ContainerId& id) const {
  const WatchedPtr watched = find(uid, container, id);
  if (!watched) return std::nullopt;
  // Of a pod that is being terminated the probes that ended count as passed, as upstream sets them.
  ProbeSpecs specs = watched->container.specs;
  std::map<ProbeKind, ProbeState> states;
  for (const auto& [kind, worker] : watched->workers) {
    if (worker->stopped) specs.erase(kind);
    states[kind] = worker->state;
  }
  return verdicts_of(specs, states);
}

std::map<ProbeKind, ProbeState> Probes::states(const PodUid& uid, const ContainerName& container,
                                               const ContainerId& id) const {
  std::map<ProbeKind, ProbeState> states;
  if (const WatchedPtr watched = find(uid, container, id)) {
    for (const auto& [kind, worker] : watched->workers) states[kind] = worker->state;
  }
  return states;
}

std::vector<ProbeSnapshot> Probes::snapshot() const {
  std::vector<ProbeSnapshot> all;
  for (const auto& [key, watched] : watched_) {
    for (const auto& [kind, worker] : watched->workers) {
      ProbeSnapshot one;
      one.target = watched->container.target;
      one.kind = kind;
      one.state = worker->state;
      one.successful = worker->successful;
      one.failed = worker->failed;
      one.unknown = worker->unknown;
      one.durations = worker->durations;
      one.total_time = worker->total_time;
      one.exec_outstanding = worker->exec_late;
      one.leftover_processes = worker->leftovers;
      all.push_back(std::move(one));
    }
  }
  return all;
}

Co<void> Probes::close() {
  for (const auto& [key, watched] : std::exchange(watched_, {})) end(watched);
  terminating_.clear();
  for (const WorkerPtr& worker : std::exchange(stopping_, {})) co_await worker->join();
}

}  // namespace podwright::probes
