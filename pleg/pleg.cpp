#include "pleg/pleg.h"

#include "base/status/annotate.h"

namespace podwright::pleg {
namespace {

const Flow kFlow{"pleg", LogSubject{{"flow", "pleg"}}};
// Containers that were told to be out of memory and whose end has not come; more are forgotten.
constexpr std::size_t kMostOomMarks = 4096;
// Questions for an unknown container's owner that are at work at once, and how long each may take.
constexpr std::size_t kQuestionsAtOnce = 4;
constexpr Duration kQuestionDeadline = 2s;

}  // namespace

Pleg::Pleg(Loop& loop, cri::Runtime& runtime, cri::RuntimeEvents& events, RuntimeCache& cache, Steps& steps,
           Options options, Sink<PodEvent> sink)
    : loop_(loop),
      runtime_(runtime),
      events_(events),
      cache_(cache),
      steps_(steps),
      options_(options),
      sink_(std::move(sink)),
      bell_(loop),
      questions_(loop, kQuestionsAtOnce),
      scope_(loop) {}

Co<void> Pleg::run() {
  scope_.spawn("runtime events", events_.watch([this](const cri::Event& event) { on_event(event); },
                                               [this](bool open) { on_open(open); }));
  Instant next = loop_.now();
  while (true) {
    if (!relist_now_ && loop_.now() < next) {
      const Wait wait = co_await bell_.wait_until(next);
      if (wait == Wait::kCancelled) break;
      if (wait == Wait::kRung && !relist_now_) {
        // The stream went or came: the period is another one now.
        next =
            std::min(next, after(loop_.now(), open_ ? options_.relist_period : options_.relist_period_without_events));
        continue;
      }
    }
    relist_now_ = false;
    const absl::Status status = co_await relist();
    if (co_await is_stopping()) break;
    if (!status.ok()) {
      ++counters_.failed_relists;
      log_v(2, kFlow.subject, "relist failed", {{"error", text_of(status)}});
    }
    next = after(loop_.now(), open_ && status.ok() ? options_.relist_period : options_.relist_period_without_events);
  }
  co_await scope_.close();
}

void Pleg::on_open(bool open) {
  if (open_ == open) return;
  open_ = open;
  if (open) ++counters_.stream_openings;
  log_info(kFlow.subject, open ? "event stream is open" : "event stream is down, listing every second");
  bell_.ring();
}

void Pleg::relist_soon() {
  relist_now_ = true;
  bell_.ring();
}

void Pleg::on_event(const cri::Event& event) {
  if (event.kind == cri::Event::Kind::kResync) return relist_soon();
  ++counters_.runtime_events;
  if (event.kind == cri::Event::Kind::kOom) {
    ++counters_.oom_events;
    if (oom_killed_.size() >= kMostOomMarks) oom_killed_.clear();
    oom_killed_.insert(event.id);
    return;
  }
  if (event.kind == cri::Event::Kind::kDeleted && !cache_.owner_of(event.id)) oom_killed_.erase(event.id);
  // Those that came first are told first.
  const auto asking = asking_.find(event.id);
  if (asking != asking_.end()) {
    asking->second.push_back(event);
  } else if (const auto owner = cache_.owner_of(event.id)) {
    tell(event, *owner);
  } else {
    ++counters_.unknown_owners;
    asking_[event.id].push_back(event);
    scope_.spawn("owner of " + event.id, find_owner(event.id));
  }
}

void Pleg::mark(PodEvent event) {
  ++counters_.pod_events;
  sink_(std::move(event));
}

void Pleg::tell(const cri::Event& event, const PodUid& uid) {
  PodEvent told{uid, PodEvent::Kind::kSync, event.id};
  if (cache_.is_sandbox(event.id)) {
    told.kind = PodEvent::Kind::kSandboxChanged;
    return mark(std::move(told));
  }
  switch (event.kind) {
    case cri::Event::Kind::kStarted:
      told.kind = PodEvent::Kind::kStarted;
      if (event.pid) watch_process(ContainerId(event.id), static_cast<int32_t>(*event.pid));
      break;
    case cri::Event::Kind::kStopped:
      told.kind = PodEvent::Kind::kDied;
      if (hints_) hints_->forget(ContainerId(event.id));
      if (event.exit_code) {
        const bool oom = oom_killed_.erase(event.id) > 0;
        (void)cache_.believe_exit(ContainerId(event.id), *event.exit_code, event.at.value_or(loop_.clock().wall()),
                                  oom);
      }
      break;
    case cri::Event::Kind::kDeleted:
      told.kind = PodEvent::Kind::kRemoved;
      if (hints_) hints_->forget(ContainerId(event.id));
      oom_killed_.erase(event.id);
      break;
    case cri::Event::Kind::kCreated: told.kind = PodEvent::Kind::kChanged; break;
    case cri::Event::Kind::kOom:
    case cri::Event::Kind::kResync: break;
  }
  log_v(4, kFlow.subject, "pod event", {{"uid", uid.value}, {"id", event.id.substr(0, 12)}});
  mark(std::move(told));
}

void Pleg::watch_processes(ProcessEnds& ends) {
  hints_.emplace(ends, [this](const ContainerId& id) { on_process_end(id); });
}

void Pleg::watch_process(const ContainerId& id, int32_t pid) {
  if (!hints_) return;
  const absl::Status status = hints_->watch(id, pid);
  if (!status.ok()) log_v(4, kFlow.subject, "process is not watched", {{"error", text_of(status)}});
}

void Pleg::on_process_end(const ContainerId& id) {
  ++counters_.exit_hints;
  scope_.spawn("hint of " + id.value, look_after_hint(id));
}

Co<void> Pleg::look_after_hint(ContainerId id) {
  if (co_await sleep_until(loop_, after(loop_.now(), options_.hint_patience)) == Wait::kCancelled) co_return;
  const auto owner = cache_.owner_of(id.value);
  if (!owner) co_return;
  const auto pod = cache_.get(*owner);
  const auto* seen = pod ? pod->find(id) : nullptr;
  if (seen != nullptr && seen->state == cri::ContainerState::kExited) co_return;
  ++counters_.exit_hints_alone;
  mark({*owner, PodEvent::Kind::kSync, id.value});
}

// Events came before any look has seen their container: ask whose it is.
Co<void> Pleg::find_owner(std::string id) {
  auto place = co_await questions_.acquire(Instant::max());
  if (!place.ok()) co_return;
  const Instant deadline = after(loop_.now(), kQuestionDeadline);
  absl::Status asked;
  if (!cache_.owner_of(id)) {
    cri::Filter filter;
    filter.id = id;
    Step step(steps_, kFlow, StepKind::kList, "owner of " + id.substr(0, 12), deadline);
    const auto containers = co_await runtime_.list_containers(filter, deadline);
    asked = containers.status();
    if (containers.ok()) cache_.note_lists({}, *containers);
    if (!cache_.owner_of(id)) {
      const auto sandboxes = co_await runtime_.list_sandboxes(filter, deadline);
      if (sandboxes.ok()) cache_.note_lists(*sandboxes, {});
      if (!sandboxes.ok()) asked = sandboxes.status();
    }
    step.end(asked);
  }
  if (co_await is_stopping()) co_return;
  const auto events = std::move(asking_[id]);
  asking_.erase(id);
  if (const auto owner = cache_.owner_of(id)) {
    for (const auto& event : events) tell(event, *owner);
  } else if (!asked.ok()) {
    // Nothing is lost: the next good list shows what became of it.
    log_v(2, kFlow.subject, "owner not found, listing everything", {{"error", text_of(asked)}});
    relist_soon();
  }
  // A container that is in no list any more, or that is not a pod's, needs no mark.
}

Co<absl::Status> Pleg::relist() {
  const Instant deadline = after(loop_.now(), options_.list_deadline);
  Step step(steps_, kFlow, StepKind::kList, "all sandboxes and containers", deadline);
  const auto sandboxes = co_await runtime_.list_sandboxes({}, deadline);
  if (!sandboxes.ok()) {
    step.end(sandboxes.status());
    co_return annotate(sandboxes.status(), "list all sandboxes");
  }
  const auto containers = co_await runtime_.list_containers({}, deadline);
  step.end(containers.status());
  if (!containers.ok()) co_return annotate(containers.status(), "list all containers");
  ++counters_.relists;
  last_good_ = loop_.now();
  cache_.note_lists(*sandboxes, *containers);
  AllStates now = states_of(*sandboxes, *containers);
  // Targeted looks know of what came and went between two lists, so for the pods that the cache has it is the cache
  // that the list is compared with. One that goes on being wrong is marked again with each list.
  AllStates before = std::move(states_);
  for (auto& [uid, states] : cache_.states()) before[uid] = std::move(states);
  const auto events = generate_events(before, now);
  states_ = std::move(now);
  for (const auto& event : events) mark(event);
  for (const auto& uid : cache_.unconfirmed()) mark({uid, PodEvent::Kind::kSync, ""});
  cache_.forget_unlisted(*sandboxes, *containers);
  co_return absl::OkStatus();
}

std::string Pleg::unhealthy_because() const {
  if (!last_good_) return "pleg has yet to be successful";
  const Duration age = loop_.clock().now() - *last_good_;
  if (age <= options_.healthy_within) return "";
  return fmt::format("pleg was last seen active {} ago; threshold is {}",
                     to_text(std::chrono::floor<std::chrono::seconds>(age)), to_text(options_.healthy_within));
}

}  // namespace podwright::pleg
