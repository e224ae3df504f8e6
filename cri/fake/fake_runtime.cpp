#include "cri/fake/fake_runtime.h"

#include <algorithm>

namespace podwright::cri {

std::map<Method, Duration> containerd_durations() {
  return {{Method::kRunSandbox, 57ms},     {Method::kCreateContainer, 7ms}, {Method::kStartContainer, 48ms},
          {Method::kExecSync, 28ms},       {Method::kListSandboxes, 1ms},   {Method::kListContainers, 1ms},
          {Method::kContainerStatus, 1ms}, {Method::kSandboxStatus, 1ms},   {Method::kStopSandbox, 60ms},
          {Method::kRemoveSandbox, 15ms},  {Method::kRemoveContainer, 10ms}};
}

FakeRuntime::FakeRuntime(Loop& loop, FakeRuntimeOptions options)
    : options_(std::move(options)),
      rng_(options_.seed),
      agenda_(loop),
      faults_(rng_),
      world_(agenda_, rng_, [this](Event event) { on_event(std::move(event)); }) {
  world_.checks_images = options_.checks_images;
}

FakeRuntime::~FakeRuntime() = default;

// ---- behaviour of what runs ----

void FakeRuntime::set_script(const PodUid& uid, const ContainerName& name, ContainerScript script) {
  world_.scripts[{uid.value, name}] = std::move(script);
}

void FakeRuntime::set_script(const PodKey& pod, const ContainerName& name, ContainerScript script) {
  world_.scripts[{pod.text(), name}] = std::move(script);
}

void FakeRuntime::set_default_script(
    std::function<ContainerScript(const SandboxConfig&, const ContainerConfig&)> script) {
  world_.default_script = std::move(script);
}

void FakeRuntime::add_image(const std::string& ref, ImageScript script) {
  world_.image_scripts[ref] = std::move(script);
  world_.add_image(ref);
}

void FakeRuntime::set_image_script(const std::string& ref, ImageScript script) {
  world_.image_scripts[ref] = std::move(script);
}

std::optional<Auth> FakeRuntime::last_auth(const std::string& ref) const {
  const auto found = auths_.find(ref);
  return found == auths_.end() ? std::nullopt : std::optional(found->second);
}

// ---- faults ----

void FakeRuntime::fail_next(Method method, absl::Status status, int times) {
  Fault fault;
  fault.method = method;
  fault.status = std::move(status);
  fault.times = times;
  faults_.add(std::move(fault));
}

uint64_t FakeRuntime::hang(Method method, CallMatch matches) {
  Fault fault;
  fault.kind = Fault::Kind::kHang;
  fault.method = method;
  fault.matches = std::move(matches);
  fault.times = std::nullopt;
  return faults_.add(std::move(fault));
}

uint64_t FakeRuntime::delay(Method method, Duration delay, CallMatch matches) {
  Fault fault;
  fault.kind = Fault::Kind::kDelay;
  fault.method = method;
  fault.matches = std::move(matches);
  fault.times = std::nullopt;
  fault.delay = delay;
  return faults_.add(std::move(fault));
}

void FakeRuntime::lose_answer(Method method, Duration delay, int times, CallMatch matches) {
  Fault fault;
  fault.kind = Fault::Kind::kLoseAnswer;
  fault.method = method;
  fault.matches = std::move(matches);
  fault.times = times;
  fault.delay = delay;
  faults_.add(std::move(fault));
}

void FakeRuntime::release_hung() {
  for (auto& work : std::exchange(hung_, {})) agenda_.in({}, std::move(work));
}

void FakeRuntime::cut_work(bool effects_may_come) {
  for (const auto& weak : std::exchange(at_work_, {})) {
    const WorkPtr work = weak.lock();
    if (!work || work->answered) continue;
    work->answered = true;
    work->dropped = !effects_may_come || rng_.below(2) == 0;
    work->fail(absl::UnavailableError("error reading from server: EOF"));
  }
  release_hung();
}

void FakeRuntime::down(Duration time) {
  up_at_ = after(agenda_.now(), time);
  cut_work(true);
  break_events();
}

void FakeRuntime::reboot() {
  cut_work(false);
  world_.reboot();
  outbox_.clear();
  break_events();
}

void FakeRuntime::break_events() {
  const auto stream = stream_.lock();
  if (!stream) return;
  stream->ended = true;
  stream->events.clear();
  stream->bell.ring();
}

// ---- calls at work ----

int FakeRuntime::calls(Method method) const {
  return static_cast<int>(
      std::count_if(calls_.begin(), calls_.end(), [method](const Call& call) { return call.method == method; }));
}

int FakeRuntime::most_at_once(Method method) const {
  const auto found = most_at_once_.find(method);
  return found == most_at_once_.end() ? 0 : found->second;
}

void FakeRuntime::note_work(const WorkPtr& work) {
  std::erase_if(at_work_, [](const auto& weak) {
    const auto other = weak.lock();
    return !other || other->answered;
  });
  at_work_.push_back(work);
  const auto now = std::count_if(at_work_.begin(), at_work_.end(), [&work](const auto& weak) {
    const auto other = weak.lock();
    return other && other->call.method == work->call.method;
  });
  int& most = most_at_once_[work->call.method];
  most = std::max(most, static_cast<int>(now));
}

Call FakeRuntime::call_of(Method method, const std::string& id) const {
  Call call;
  call.method = method;
  call.uid = world_.owner_of(id);
  call.container = world_.name_of(id);
  call.id = id;
  return call;
}

Duration FakeRuntime::takes(Method method) const {
  const auto found = options_.takes.find(method);
  return found == options_.takes.end() ? options_.usual : found->second;
}

void FakeRuntime::later(WorkPtr work, Duration time, Loop::Work effect, Loop::Work undo) {
  ++pending_;
  const bool hangs = work->hangs;
  const Duration wait = time + work->extra;
  Loop::Work run = [this, work = std::move(work), effect = std::move(effect), undo = std::move(undo)]() mutable {
    --pending_;
    if (work->dropped) {
      undo();
    } else {
      effect();
    }
  };
  if (hangs) {
    hung_.push_back(std::move(run));
  } else {
    agenda_.in(wait, std::move(run));
  }
}

// ---- events ----

void FakeRuntime::on_event(Event event) {
  const auto happens = [this](double chance) {
    return chance > 0 && static_cast<double>(rng_.below(1'000'000)) < chance * 1e6;
  };
  if (happens(event_chances_.lose)) return;
  const int copies = happens(event_chances_.duplicate) ? 2 : 1;
  for (int i = 0; i < copies; ++i) {
    Duration wait = options_.event_delay;
    if (happens(event_chances_.delay)) {
      wait += Duration(rng_.below(static_cast<uint64_t>(event_chances_.longest_delay.count())));
    }
    const Instant due = after(agenda_.now(), wait);
    outbox_.emplace(due, event);
    agenda_.at(due, [this] { send_due_events(); });
  }
}

void FakeRuntime::send_due_events() {
  const auto stream = stream_.lock();
  const bool open = stream && !stream->ended;
  while (!outbox_.empty() && outbox_.begin()->first <= agenda_.now()) {
    // What is told while nobody listens is lost.
    if (open) stream->events.push_back(std::move(outbox_.begin()->second));
    outbox_.erase(outbox_.begin());
  }
  if (open) stream->bell.ring();
}

Co<void> FakeRuntime::watch(Sink<Event> sink, Sink<bool> open) {
  Loop& loop = agenda_.loop();
  while (!co_await is_stopping()) {
    if (is_down()) {
      if (co_await sleep_until(loop, after(loop.now(), options_.reopen_after)) == Wait::kCancelled) co_return;
      continue;
    }
    const auto stream = std::make_shared<Stream>(loop);
    stream_ = stream;
    open(true);
    sink(Event());
    while (!stream->ended) {
      if (co_await stream->bell.wait_until(Instant::max()) == Wait::kCancelled) co_return;
      for (auto& event : std::exchange(stream->events, {})) sink(std::move(event));
    }
    open(false);
    if (co_await sleep_until(loop, after(loop.now(), options_.reopen_after)) == Wait::kCancelled) co_return;
  }
}

}  // namespace podwright::cri
