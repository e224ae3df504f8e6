#include "tests/sim/schedule.h"

#include <algorithm>
#include <deque>

#include "base/log/log.h"
#include "tests/sim/invariants.h"
#include "tests/sim/manifests.h"
#include "tests/sim/sim_world.h"

namespace podwright::sim {
namespace {

// After the last fault the world gets this long to settle: back-off included, which goes up to 5 min.
constexpr Duration kSettle = std::chrono::minutes(7);
constexpr std::size_t kTraceLines = 60;

// One shape of pod.
std::string manifest_of(SeededRng& rng, const std::string& name, int revision) {
  const std::string metadata = fmt::format("annotations: {{rev: \"{}\"}}", revision);
  switch (rng.below(6)) {
    case 0: return one_container(name, "terminationGracePeriodSeconds: 5", "", metadata);
    case 1: return one_container(name, "restartPolicy: Never", "", metadata);
    case 2: return one_container(name, "restartPolicy: OnFailure", "", metadata);
    case 3: return one_container(name, "", "readinessProbe: {exec: {command: [ready]}, periodSeconds: 5}", metadata);
    case 4:
      return one_container(
          name,
          "initContainers:\n  - {name: i, image: \"registry.test/box:1\", imagePullPolicy: IfNotPresent, command: "
          "[init]}\n  terminationGracePeriodSeconds: 10",
          "", metadata);
    default:
      return one_container(
          name,
          "initContainers:\n  - {name: s, image: \"registry.test/box:1\", imagePullPolicy: IfNotPresent, "
          "restartPolicy: Always, command: [sidecar]}\n  volumes: [{name: e, emptyDir: {}}]",
          "volumeMounts: [{name: e, mountPath: /e}]", metadata);
  }
}

class Run {
 public:
  explicit Run(const ScheduleOptions& options)
      : options_(options), rng_(options.seed * 7919 + 13), world_(options.seed) {}

  ScheduleResult go() {
    world_.runtime().set_default_script(
        [this](const cri::SandboxConfig&, const cri::ContainerConfig& config) { return script_of(config); });
    world_.start_agent();
    const Instant end = world_.loop().now() + std::chrono::minutes(options_.minutes);
    int number = 0;
    while (world_.loop().now() < end && result_.broken.empty()) {
      const Duration pause(static_cast<int64_t>(rng_.below(15'000'000'000)));
      run_for(pause);
      operate(number++);
    }
    heal();
    run_for(kSettle);
    if (result_.broken.empty()) result_.broken = check_end(world_);
    result_.steps = world_.loop().steps();
    return std::move(result_);
  }

 private:
  cri::ContainerScript script_of(const cri::ContainerConfig& config) {
    cri::ContainerScript script;
    const std::string command = config.command.empty() ? "" : config.command.front();
    if (command == "init") {
      script.run_for = std::chrono::seconds(1 + rng_.below(5));
      if (rng_.below(4) == 0) script.exit_code = 1;
    } else if (command != "sidecar" && !calm_) {
      switch (rng_.below(6)) {
        case 0:
          script.run_for = std::chrono::seconds(1 + rng_.below(60));
          script.exit_code = static_cast<int32_t>(rng_.below(3));
          break;
        case 1: script.ignores_term = true; break;
        case 2: script.term_takes = std::chrono::seconds(rng_.below(8)); break;
        default: break;
      }
    }
    return script;
  }

  void check() {
    if (result_.broken.empty()) result_.broken = invariants_.check(world_);
  }

  void run_for(Duration time) {
    const Instant limit = world_.loop().now() + time;
    while (result_.broken.empty() && world_.step(limit)) check();
    if (result_.broken.empty()) world_.loop().run_until(limit);
  }

  std::string draw_name() { return fmt::format("p{}", rng_.below(static_cast<uint64_t>(options_.pods))); }

  void operate(int number) {
    const uint64_t kind = rng_.below(16);
    // Every draw is made whether the operation is left out or not, so that the rest stays the same.
    const std::string name = draw_name();
    const uint64_t a = rng_.next();
    const uint64_t b = rng_.next();
    const std::string manifest = manifest_of(rng_, name, static_cast<int>(a % 4));
    const bool left_out = std::find(options_.without.begin(), options_.without.end(), number) != options_.without.end();
    const auto note = [&](const std::string& what) {
      result_.operations.push_back(fmt::format("{} {}{}", number, what, left_out ? " (left out)" : ""));
      return !left_out;
    };
    auto& runtime = world_.runtime();
    switch (kind) {
      case 0:
      case 1:
      case 2:
      case 3:
        if (note("manifest+ " + name)) world_.write_manifest(name + ".yaml", manifest);
        break;
      case 4:
        if (note("manifest- " + name)) world_.remove_manifest(name + ".yaml");
        break;
      case 5: {
        if (!note("exit of a running container")) break;
        std::vector<ContainerId> running;
        for (const auto& c : runtime.containers()) {
          if (c.state == cri::ContainerState::kRunning) running.push_back(c.id);
        }
        if (!running.empty())
          runtime.exit_container(running[a % running.size()], static_cast<int32_t>(b % 3), b % 7 == 0);
        break;
      }
      case 6: {
        const uint64_t steps = a % 400;
        if (!note(fmt::format("kill of the agent {} steps from now", steps))) break;
        for (uint64_t i = 0; i < steps && result_.broken.empty(); ++i) {
          if (!world_.step(Instant::max())) break;
          check();
        }
        world_.restart_agent();
        break;
      }
      case 7:
        if (note(fmt::format("answers of the next {} calls are lost", 1 + a % 3))) {
          runtime.lose_answer(static_cast<cri::Method>(a % 8), std::chrono::seconds(b % 5),
                              static_cast<int>(1 + a % 3));
        }
        break;
      case 8:
        if (note("the next calls fail")) {
          runtime.fail_next(static_cast<cri::Method>(a % 8), absl::UnknownError("drawn failure"),
                            static_cast<int>(1 + b % 3));
        }
        break;
      case 9:
        if (note("the runtime is down for some seconds")) runtime.down(std::chrono::seconds(1 + a % 20));
        break;
      case 10:
        if (note("events are lost, doubled and late")) {
          runtime.event_chances().lose = 0.2;
          runtime.event_chances().duplicate = 0.2;
          runtime.event_chances().delay = 0.2;
        }
        break;
      case 11:
        if (note("the wall clock is stepped")) {
          world_.loop().clock().step_wall(std::chrono::minutes(static_cast<int64_t>(a % 240) - 120));
        }
        break;
      case 12: {
        if (a % 4 != 0) break;
        if (note("reboot")) world_.reboot();
        break;
      }
      case 13: {
        if (!note("the runtime forgets a dead container")) break;
        for (const auto& c : runtime.containers()) {
          if (c.state == cri::ContainerState::kExited) {
            runtime.forget(c.id);
            break;
          }
        }
        break;
      }
      case 14:
        if (note("calls are slow")) runtime.delay(static_cast<cri::Method>(a % 8), std::chrono::milliseconds(b % 3000));
        break;
      default:
        if (note("faults end")) {
          runtime.faults().clear();
          runtime.event_chances() = {};
        }
    }
  }

  void heal() {
    calm_ = true;
    world_.runtime().faults().clear();
    world_.runtime().event_chances() = {};
    world_.runtime().release_hung();
  }

  const ScheduleOptions& options_;
  SeededRng rng_;
  SimWorld world_;
  StepInvariants invariants_;
  ScheduleResult result_;
  bool calm_ = false;
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

ScheduleOptions shrink(ScheduleOptions options, const ScheduleResult& broken) {
  const int count = static_cast<int>(broken.operations.size());
  options.trace = false;
  // From the last to the first: whatever is not needed goes.
  for (int i = count - 1; i >= 0; --i) {
    if (std::find(options.without.begin(), options.without.end(), i) != options.without.end()) continue;
    options.without.push_back(i);
    if (run_schedule(options).broken.empty()) options.without.pop_back();
  }
  return options;
}

}  // namespace podwright::sim
