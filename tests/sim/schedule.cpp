#include "tests/sim/schedule.h"

#include <algorithm>
#include <deque>

#include "base/log/log.h"
#include "tests/sim/invariants.h"
#include "tests/sim/shapes.h"
#include "tests/sim/sim_world.h"

namespace podwright::sim {
namespace {

// After the quiet time the world gets this long to settle: back-off included, which goes up to 5 min.
constexpr Duration kSettle = std::chrono::seconds(330);
// Things go on happening in the quiet time, but no faults.
constexpr Duration kQuietOperations = std::chrono::seconds(60);
constexpr std::size_t kTraceLines = 60;
// A kill waits for its step at most this long.
constexpr Duration kLongestWaitForKill = std::chrono::seconds(5);

constexpr cri::Method kMethods[] = {
    cri::Method::kRunSandbox,      cri::Method::kStopSandbox,    cri::Method::kRemoveSandbox,
    cri::Method::kSandboxStatus,   cri::Method::kListSandboxes,  cri::Method::kCreateContainer,
    cri::Method::kStartContainer,  cri::Method::kStopContainer,  cri::Method::kRemoveContainer,
    cri::Method::kContainerStatus, cri::Method::kListContainers, cri::Method::kExecSync,
    cri::Method::kImageStatus,     cri::Method::kPullImage,
};

class Run {
 public:
  explicit Run(const ScheduleOptions& options)
      : options_(options), rng_(options.seed * 7919 + 13), world_(options.seed), invariants_(world_) {}

  ScheduleResult go() {
    behaviour_.seed = options_.seed;
    world_.runtime().set_default_script(
        [this](const cri::SandboxConfig& sandbox, const cri::ContainerConfig& container) {
          return script_of(behaviour_, sandbox, container);
        });
    world_.runtime().set_image_script(kPulledImage, {.pull_takes = std::chrono::milliseconds(rng_.below(20'000))});
    world_.start_agent();
    operate_for(std::chrono::minutes(options_.minutes), true);
    heal();
    run_for(kQuietAfter + std::chrono::seconds(1));
    operate_for(kQuietOperations, false);
    run_for(kSettle);
    if (result_.broken.empty()) result_.broken = invariants_.check_end();
    result_.steps = world_.loop().steps();
    return std::move(result_);
  }

 private:
  // What an operation draws, whether it is left out or not, so that the rest stays the same.
  struct Draw {
    std::string name;
    std::string manifest;
    uint64_t a = 0, b = 0;
    cri::Method method = cri::Method::kVersion;
  };

  void check() {
    if (result_.broken.empty()) result_.broken = invariants_.check();
  }

  void run_for(Duration time) {
    const Instant limit = world_.loop().now() + time;
    while (result_.broken.empty() && world_.step(limit)) check();
    if (result_.broken.empty()) world_.loop().run_until(limit);
  }

  void operate_for(Duration time, bool faults) {
    const Instant end = world_.loop().now() + time;
    while (world_.loop().now() < end && result_.broken.empty()) {
      run_for(Duration(static_cast<int64_t>(rng_.below(15'000'000'000))));
      if (result_.broken.empty()) operate(faults);
    }
  }

  void operate(bool faults) {
    const int number = number_++;
    Draw draw;
    draw.name = fmt::format("p{}", rng_.below(static_cast<uint64_t>(options_.pods)));
    draw.a = rng_.next();
    draw.b = rng_.next();
    draw.method = kMethods[rng_.below(std::size(kMethods))];
    draw.manifest = draw_manifest(rng_, draw.name, static_cast<int>(draw.a % 4));
    left_out_ = std::find(options_.without.begin(), options_.without.end(), number) != options_.without.end();
    prefix_ = fmt::format("{} at {}: ", number, to_text(world_.loop().now().time_since_epoch()));
    const uint64_t kind = rng_.below(24);
    if (faults && kind >= 12) {
      fault(kind, draw);
    } else {
      happening(kind % 12, draw);
    }
  }

  bool note(const std::string& what) {
    result_.operations.push_back(prefix_ + what + (left_out_ ? " (left out)" : ""));
    return !left_out_;
  }

  bool note_fault(const std::string& what) {
    if (!note(what)) return false;
    invariants_.note_fault();
    return true;
  }

  // What happens on a healthy node.
  void happening(uint64_t kind, const Draw& draw) {
    switch (kind) {
      case 0:
      case 1:
      case 2:
      case 3:
      case 4:
        if (!note("manifest+ " + draw.name)) break;
        invariants_.note_manifest(draw.name);
        world_.write_manifest(draw.name + ".yaml", draw.manifest);
        break;
      case 5:
      case 6:
        if (!note("manifest- " + draw.name)) break;
        invariants_.note_manifest(draw.name);
        world_.remove_manifest(draw.name + ".yaml");
        break;
      case 7:
      case 8: exit_one(draw); break;
      case 9: toggle(behaviour_.unready, draw.name, "readiness"); break;
      case 10:
        if (!behaviour_.calm) toggle(behaviour_.dead, draw.name, "liveness");
        break;
      default: kill_agent(draw, false);
    }
  }

  void exit_one(const Draw& draw) {
    if (!note("exit of a running container")) return;
    const auto running = ids_of(cri::ContainerState::kRunning);
    if (running.empty()) return;
    const bool oom = draw.b % 7 == 0;
    world_.runtime().exit_container(running[draw.a % running.size()], oom ? 137 : static_cast<int32_t>(draw.b % 3),
                                    oom);
  }

  void toggle(std::set<std::string>& set, const std::string& name, const char* what) {
    if (!note(fmt::format("the {} of {} changes", what, name))) return;
    if (set.erase(name) == 0) set.insert(name);
  }

  // At a drawn step, that is at any point where a flow waits.
  void kill_agent(const Draw& draw, bool power) {
    const uint64_t steps = draw.a % 400;
    if (!note(fmt::format("{} {} steps from now", power ? "power cut" : "kill of the agent", steps))) return;
    const Instant limit = world_.loop().now() + kLongestWaitForKill;
    for (uint64_t i = 0; i < steps && result_.broken.empty(); ++i) {
      if (!world_.step(limit)) break;
      check();
    }
    if (!power) return world_.restart_agent();
    world_.reboot();
    invariants_.note_reboot();
  }

  void fault(uint64_t kind, const Draw& draw) {
    auto& runtime = world_.runtime();
    const int times = static_cast<int>(1 + draw.a % 3);
    switch (kind) {
      case 12:
        if (note_fault(fmt::format("answers of the next {} calls of method {} are lost", times,
                                   static_cast<int>(draw.method))))
          runtime.lose_answer(draw.method, std::chrono::seconds(draw.b % 5), times);
        break;
      case 13:
        if (note_fault(fmt::format("the next {} calls of method {} fail", times, static_cast<int>(draw.method))))
          add_fault(draw.b % 2 == 0 ? cri::Fault::Kind::kFail : cri::Fault::Kind::kFailAfter, draw.method, times, {});
        break;
      case 14:
        if (note_fault("the runtime is down for some seconds")) runtime.down(std::chrono::seconds(1 + draw.a % 20));
        break;
      case 15:
        if (note_fault("events are lost, doubled and late")) runtime.event_chances() = {0.2, 0.2, 0.2, 1s};
        break;
      case 16:
        if (note_fault("the wall clock is stepped")) {
          world_.loop().clock().step_wall(std::chrono::minutes(static_cast<int64_t>(draw.a % 240) - 120));
        }
        break;
      case 17:
        if (draw.b % 2 == 0) kill_agent(draw, true);
        break;
      case 18: forget_one(draw); break;
      case 19:
        if (note_fault(fmt::format("calls of method {} are slow", static_cast<int>(draw.method))))
          runtime.delay(draw.method, std::chrono::milliseconds(draw.b % 3000));
        break;
      case 20:
        if (note_fault(fmt::format("the next {} calls of method {} hang", times, static_cast<int>(draw.method))))
          add_fault(cri::Fault::Kind::kHang, draw.method, times, {});
        break;
      case 21: kill_sandbox(draw); break;
      case 22:
        if (note_fault(draw.a % 2 == 0 ? "pulls fail" : "pulls are slow")) {
          cri::ImageScript script;
          if (draw.a % 2 == 0) script.pull_error = absl::UnknownError("failed to resolve reference: drawn");
          script.pull_takes = std::chrono::milliseconds(draw.b % 60'000);
          runtime.set_image_script(kPulledImage, script);
        }
        break;
      default:
        if (note_fault("faults end")) end_faults();
    }
  }

  void add_fault(cri::Fault::Kind kind, cri::Method method, int times, Duration delay) {
    cri::Fault fault;
    fault.kind = kind;
    fault.method = method;
    fault.times = times;
    fault.delay = delay;
    fault.status = absl::UnknownError("drawn failure");
    world_.runtime().faults().add(std::move(fault));
  }

  std::vector<ContainerId> ids_of(cri::ContainerState state) {
    std::vector<ContainerId> ids;
    for (const auto& container : world_.runtime().containers()) {
      if (container.state == state) ids.push_back(container.id);
    }
    return ids;
  }

  void forget_one(const Draw& draw) {
    const bool dead = draw.a % 3 != 0;
    if (!note_fault(dead ? "the runtime forgets a dead container" : "a running container vanishes")) return;
    const auto ids = ids_of(dead ? cri::ContainerState::kExited : cri::ContainerState::kRunning);
    if (!ids.empty()) world_.runtime().forget(ids[draw.b % ids.size()]);
  }

  void kill_sandbox(const Draw& draw) {
    if (!note_fault("the process of a sandbox dies")) return;
    const auto sandboxes = world_.runtime().sandboxes();
    if (!sandboxes.empty()) world_.runtime().kill_sandbox(sandboxes[draw.a % sandboxes.size()].id);
  }

  void end_faults() {
    auto& runtime = world_.runtime();
    runtime.faults().clear();
    runtime.event_chances() = {};
    runtime.release_hung();
    runtime.set_image_script(kPulledImage, {});
  }

  void heal() {
    behaviour_.calm = true;
    behaviour_.unready.clear();
    behaviour_.dead.clear();
    end_faults();
    invariants_.note_fault();
  }

  const ScheduleOptions& options_;
  SeededRng rng_;
  Behaviour behaviour_;
  SimWorld world_;
  Invariants invariants_;
  ScheduleResult result_;
  int number_ = 0;
  bool left_out_ = false;
  std::string prefix_;
};

}  // namespace

ScheduleResult run_schedule(const ScheduleOptions& options) {
  std::deque<std::string> lines;
  const bool keep = options.trace;
  set_log_output([&lines, keep](const LogLine&, const std::string& text) {
    if (!keep) return;
    lines.push_back(text);
    if (lines.size() > kTraceLines) lines.pop_front();
  });
  ScheduleResult result;
  {
    Run run(options);
    result = run.go();
  }
  set_log_output(nullptr);
  result.trace.assign(lines.begin(), lines.end());
  return result;
}

namespace {

// The sentence without what names one thing: the same kind of break in another run.
std::string kind_of(const std::string& broken) {
  std::string kind, word;
  for (const char c : broken + " ") {
    if (c != ' ') {
      word += c;
      continue;
    }
    if (word.size() > 2 && word.find_first_of("0123456789(") == std::string::npos) kind += word + " ";
    word.clear();
  }
  return kind;
}

}  // namespace

ScheduleOptions shrink(ScheduleOptions options, const ScheduleResult& broken) {
  const int count = static_cast<int>(broken.operations.size());
  options.trace = false;
  // From the last to the first: whatever is not needed goes. In halves first, then one by one.
  for (int block = std::max(count / 2, 1); block >= 1; block /= 2) {
    for (int end = count; end > 0; end -= block) {
      ScheduleOptions fewer = options;
      for (int i = std::max(end - block, 0); i < end; ++i) {
        if (std::find(fewer.without.begin(), fewer.without.end(), i) == fewer.without.end()) fewer.without.push_back(i);
      }
      if (fewer.without.size() == options.without.size()) continue;
      if (kind_of(run_schedule(fewer).broken) == kind_of(broken.broken)) options = fewer;
    }
  }
  return options;
}

}  // namespace podwright::sim
