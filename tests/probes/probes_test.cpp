#include "probes/probes.h"

#include "probed_world.h"

namespace podwright::probes {
namespace {

constexpr auto kLive = ProbeKind::kLiveness, kReady = ProbeKind::kReadiness, kStart = ProbeKind::kStartup;

TEST_CASE("a container is not ready until its readiness probe passed") {
  ProbedWorld w;
  const auto id = w.add({{kReady, exec_spec()}, {kLive, exec_spec()}});
  CHECK(w.verdicts(id) == ContainerVerdicts{.started = true, .ready = false});
  w.loop.run_for(1s);
  CHECK(w.verdicts(id)->ready);
  REQUIRE(w.of(kReady).size() == 1);
  CHECK(w.of(kReady)[0].changed);
  CHECK(!w.of(kReady)[0].event);
  CHECK(!w.of(kLive)[0].changed);
}

TEST_CASE("a container without probes is ready, and what is not probed has no verdicts") {
  ProbedWorld w;
  const auto id = w.add({});
  CHECK(w.verdicts(id)->ready);
  CHECK(!w.verdicts(ContainerId("other")));
  CHECK(verdicts_of({}, {}).ready);
}

TEST_CASE("a probe runs every period, and each failure is told") {
  ProbedWorld w;
  w.script([&w](const auto&) { return ends_with(w.execs() > 1 ? 1 : 0, "no\n"); });
  const auto id = w.add({{kReady, exec_spec("check", 5s)}});
  w.loop.run_for(1s);
  CHECK(w.verdicts(id)->ready);
  w.loop.run_for(10s);
  CHECK(w.of(kReady).size() == 3);
  CHECK(w.verdicts(id)->ready);
  CHECK(w.results.back().event == ProbeEvent{"Unhealthy", "Readiness probe failed: no\n"});
  w.loop.run_for(5s);
  CHECK(!w.verdicts(id)->ready);
  CHECK(w.results.back().changed);
  CHECK(w.at[3] - w.at[0] == 15s);
}

TEST_CASE("a failed liveness probe names its grace and probes no more") {
  ProbedWorld w;
  w.script([](const auto&) { return ends_with(1); });
  ProbeSpec spec = exec_spec("check", 1s);
  spec.termination_grace = 7s;
  const auto id = w.add({{kLive, spec}});
  w.loop.run_for(1min);
  CHECK(w.results.size() == 3);
  CHECK(w.verdicts(id)->liveness_failed);
  CHECK(w.verdicts(id)->termination_grace == 7s);
}

TEST_CASE("the initial delay counts from when the container was seen running, whatever the wall clock says") {
  ProbedWorld w;
  ProbeSpec spec = exec_spec("check", 5s);
  spec.initial_delay = 7s;
  const Instant began = w.loop.now();
  w.add({{kReady, spec}});
  w.loop.clock().step_wall(-2h);
  w.probes.trigger(w.uid, w.name, kReady);
  w.loop.run_for(6s);
  CHECK(w.results.empty());
  w.loop.run_for(10s);
  REQUIRE(w.at.size() == 2);
  CHECK(w.at[0] - began < 7100ms);
}

TEST_CASE("a startup probe gates the others and runs only until its verdict") {
  ProbedWorld w;
  w.script([&w](const auto& command) { return ends_with(command[0] == "up" && w.execs() < 4 ? 1 : 0); });
  ProbeSpec startup = exec_spec("up", 2s);
  startup.thresholds.failure = 30;
  const auto id = w.add({{kStart, startup}, {kLive, exec_spec("live", 2s)}, {kReady, exec_spec("ready", 2s)}});
  w.loop.run_for(5s);
  CHECK(w.of(kStart).size() == 3);
  CHECK(w.of(kLive).empty());
  CHECK(w.of(kReady).empty());
  CHECK(!w.verdicts(id)->started);
  w.loop.run_for(2s);
  CHECK(w.verdicts(id)->started);
  CHECK(w.verdicts(id)->ready);
  CHECK(w.of(kStart).size() == 4);
  w.loop.run_for(1min);
  CHECK(w.of(kStart).size() == 4);
  CHECK(w.of(kLive).size() > 20);
}

TEST_CASE("a failed startup probe lets nothing else run") {
  ProbedWorld w;
  w.script([](const auto&) { return ends_with(1); });
  const auto id = w.add({{kStart, exec_spec("up", 1s)}, {kReady, exec_spec("ready", 1s)}});
  w.loop.run_for(1min);
  CHECK(w.of(kStart).size() == 3);
  CHECK(w.of(kReady).empty());
  CHECK(w.verdicts(id)->startup_failed);
}

TEST_CASE("a replacement inherits nothing") {
  ProbedWorld w;
  const ProbeSpecs specs = {{kStart, exec_spec("up", 1s)}, {kLive, exec_spec("live", 1s)}};
  const auto first = w.add(specs);
  w.loop.run_for(5s);
  CHECK(w.verdicts(first)->started);
  w.script([](const auto& command) { return ends_with(command[0] == "up" ? 1 : 0); });
  w.results.clear();
  const auto second = w.add(specs);
  CHECK(!w.verdicts(first));
  CHECK(!w.verdicts(second)->started);
  CHECK(w.probes.states(w.uid, w.name, second).at(kStart) == ProbeState{});
  w.loop.run_for(2500ms);
  CHECK(w.of(kLive).empty());
  for (const auto& result : w.results) CHECK(result.id == second);
}

TEST_CASE("restored states go on where they were") {
  ProbedWorld w;
  w.script([](const auto&) { return ends_with(1); });
  ProbeState ready = passed_state(kReady);
  ready.last_ok = false;
  ready.run = 1;
  const auto id =
      w.add({{kStart, exec_spec("up")}, {kReady, exec_spec()}}, {{kStart, passed_state(kStart)}, {kReady, ready}});
  CHECK(w.verdicts(id)->ready);
  w.loop.run_for(1s);
  CHECK(w.of(kStart).empty());
  CHECK(w.verdicts(id)->ready);
  w.loop.run_for(10s);
  CHECK(!w.verdicts(id)->ready);
}

TEST_CASE("the same container added again keeps its counters and takes over addresses") {
  ProbedWorld w;
  w.net.serve("10.0.0.8:80", [](std::unique_ptr<Stream>) -> Co<void> { co_return; });
  ProbeSpec spec = exec_spec();
  spec.action = TcpAction{"", 80};
  const auto id = w.add({{kReady, spec}});
  w.loop.run_for(1s);
  auto again = w.container(id, {{kReady, spec}});
  again.target.pod_ips = {"10.0.0.8"};
  w.probes.add(again);
  CHECK(w.probes.states(w.uid, w.name, id).at(kReady).run == 1);
  w.loop.run_for(10s);
  CHECK(w.results.size() == 2);
  CHECK(w.verdicts(id)->ready);
}

TEST_CASE("an exec probe that times out fails at each tick and has one call outstanding") {
  ProbedWorld w;
  w.runtime.hang(cri::Method::kExecSync);
  ProbeSpec spec = exec_spec("sleep", 5s);
  spec.thresholds.failure = 1;
  const auto id = w.add({{kReady, spec}});
  w.loop.run_for(59s);
  REQUIRE(w.results.size() == 12);
  for (std::size_t i = 1; i < w.at.size(); ++i) {
    const Duration step = w.at[i] - w.at[i - 1];
    CHECK(step >= 4s);
    CHECK(step <= 5s);
    CHECK(w.results[i].outcome.result == Outcome::kFailure);
  }
  CHECK(w.results[0].event->message == "Readiness probe failed: command \"sleep\" timed out");
  CHECK(w.execs() == 1);
  CHECK(w.probes.snapshot()[0].exec_outstanding);
  CHECK(!w.verdicts(id)->ready);
}

TEST_CASE("once the outstanding call returned, the probe runs again") {
  ProbedWorld w;
  const uint64_t fault = w.runtime.hang(cri::Method::kExecSync);
  const auto id = w.add({{kReady, exec_spec("check", 5s)}});
  w.loop.run_for(12s);
  w.runtime.faults().remove(fault);
  w.runtime.release_hung();
  w.loop.run_for(5s);
  CHECK(w.verdicts(id)->ready);
  CHECK(!w.probes.snapshot()[0].exec_outstanding);
  CHECK(w.execs() == 2);
}

TEST_CASE("the runtime's own time-out is a failure") {
  ProbedWorld w;
  w.script([](const auto&) { return hangs(); });
  w.add({{kLive, exec_spec("sleep", 10s)}});
  w.loop.run_for(25s);
  CHECK(w.results.size() == 3);
  CHECK(w.execs() == 3);
  CHECK(w.runtime.most_at_once(cri::Method::kExecSync) == 1);
}

TEST_CASE("processes that timed-out commands leave are told once there are three") {
  uint32_t processes = 1;
  ProbeOptions options;
  options.processes_of = [&processes](const PodUid&, const ContainerId&) { return std::optional(processes); };
  ProbedWorld w(options);
  w.script([&](const auto&) {
    if (w.execs() == 1) return ends_with(0);
    ++processes;
    return hangs();
  });
  w.add({{kReady, exec_spec("fork", 5s)}});
  w.loop.run_for(13s);
  CHECK(w.probes.snapshot()[0].leftover_processes == 2);
  w.loop.run_for(20s);
  int told = 0;
  for (const auto& result : w.results) told += result.leftover_event ? 1 : 0;
  CHECK(told == 1);
}

TEST_CASE("a command that cannot be run is tried three times and counts as nothing") {
  ProbedWorld w;
  w.runtime.fail_next(cri::Method::kExecSync, absl::UnknownError("no such file"), 3);
  const auto id = w.add({{kReady, exec_spec()}});
  w.loop.run_for(1s);
  CHECK(w.execs() == 3);
  REQUIRE(w.results.size() == 1);
  CHECK(w.results[0].state == ProbeState{});
  CHECK(w.results[0].event->message == "Readiness probe errored and resulted in Failure state: no such file");
  CHECK(w.probes.snapshot()[0].unknown == 1);
  w.loop.run_for(10s);
  CHECK(w.verdicts(id)->ready);
}

TEST_CASE("execs at once are bounded, and waiting for a place is no part of the time-out") {
  ProbeOptions options;
  options.exec_limit = 2;
  ProbedWorld w(options);
  w.runtime.set_default_script([](const auto&, const auto&) {
    cri::ContainerScript script;
    script.exec_default.takes = 900ms;
    return script;
  });
  for (int i = 0; i < 6; ++i) {
    auto container = w.container(w.run("c" + std::to_string(i)), {{kReady, exec_spec()}});
    container.target.container = ContainerName("c" + std::to_string(i));
    w.probes.add(container);
  }
  w.loop.run_for(5s);
  CHECK(w.results.size() == 6);
  for (const auto& result : w.results) {
    CHECK(result.outcome.result == Outcome::kSuccess);
    CHECK(result.took < 1s);
  }
  CHECK(w.runtime.most_at_once(cri::Method::kExecSync) == 2);
}

TEST_CASE("a pod that is being terminated keeps only its readiness probes") {
  ProbedWorld w;
  const ProbeSpecs specs = {
      {kStart, exec_spec("up", 1s)}, {kLive, exec_spec("live", 1s)}, {kReady, exec_spec("ok", 1s)}};
  w.script([](const auto& command) { return ends_with(command[0] == "up" ? 1 : 0); });
  w.add(specs);
  w.loop.run_for(500ms);
  w.probes.stop_liveness_and_startup(w.uid);
  w.results.clear();
  w.loop.run_for(10s);
  CHECK(w.of(kLive).empty());
  CHECK(w.of(kStart).empty());
  CHECK(w.of(kReady).size() >= 10);
  const auto later = w.add(specs);
  w.results.clear();
  w.loop.run_for(5s);
  CHECK(w.of(kLive).empty());
  CHECK(!w.of(kReady).empty());
  CHECK(w.verdicts(later)->ready);
}

TEST_CASE("what is removed is told of no more, even in the middle of a call") {
  ProbedWorld w;
  w.script([](const auto&) { return hangs(); });
  const auto id = w.add({{kReady, exec_spec()}});
  w.loop.run_for(500ms);
  w.probes.remove(w.uid, w.name);
  CHECK(!w.verdicts(id));
  w.loop.run_for(1min);
  CHECK(w.results.empty());
  w.probes.remove(w.uid);
}

TEST_CASE("a listener may remove what it is told about") {
  ProbedWorld w;
  SimLoop& loop = w.loop;
  Probes* probes = nullptr;
  int told = 0;
  Probes own(loop, w.net, w.runtime, w.steps, w.started({}), [&](const ProbeResult& result) {
    ++told;
    probes->remove(result.uid);
  });
  probes = &own;
  own.add(w.container(w.run(), {{kReady, exec_spec()}, {kLive, exec_spec()}}));
  loop.run_for(1min);
  CHECK(told == 1);
  run_to_end(loop, own.close());
}

TEST_CASE("a triggered probe runs soon and shifts its ticks") {
  ProbedWorld w;
  w.add({{kReady, exec_spec()}});
  w.loop.run_for(4s);
  w.probes.trigger(w.uid, w.name, kReady);
  w.loop.run_for(1s);
  CHECK(w.results.size() == 2);
  w.loop.run_for(8s);
  CHECK(w.results.size() == 2);
  w.loop.run_for(2s);
  CHECK(w.results.size() == 3);
}

TEST_CASE("first probes of a young agent are spread over their period") {
  ProbedWorld w;
  std::vector<Instant> at;
  ProbeOptions options;
  options.agent_started = w.loop.now();
  Probes young(w.loop, w.net, w.runtime, w.steps, options, [&](const ProbeResult&) { at.push_back(w.loop.now()); });
  for (int i = 0; i < 20; ++i) {
    auto container = w.container(w.run("c" + std::to_string(i)), {{kReady, exec_spec()}});
    container.target.container = ContainerName("c" + std::to_string(i));
    young.add(container);
  }
  const Instant began = w.loop.now();
  w.loop.run_for(9999ms);
  CHECK(at.size() >= 19);
  CHECK(at.back() - at.front() > 5s);
  CHECK(at.front() - began < 5s);
  run_to_end(w.loop, young.close());
}

TEST_CASE("a crash in the middle of probing leaves nothing behind") {
  for (int steps = 0; steps < 200; steps += 7) {
    SimLoop loop;
    MemoryNet net(loop);
    cri::FakeRuntime runtime(loop);
    Steps all(loop.clock());
    auto probes = std::make_unique<Probes>(loop, net, runtime, all, ProbeOptions{}, [](const ProbeResult&) {});
    ProbedContainer container;
    container.specs = {{kReady, exec_spec("x", 1s)}, {kStart, exec_spec("y", 1s)}};
    probes->add(container);
    for (int i = 0; i < steps; ++i) loop.step();
    runtime.detach();
    loop.drop();
    CHECK(loop.waiting() == 0);
  }
}

TEST_CASE("durations and outcomes are counted") {
  ProbedWorld w;
  w.script([&w](const auto&) { return ends_with(w.execs() % 2); });
  w.add({{kReady, exec_spec("check", 1s)}});
  w.loop.run_for(9500ms);
  const auto one = w.probes.snapshot().at(0);
  CHECK(one.successful == 5);
  CHECK(one.failed == 5);
  uint32_t all = 0;
  for (const uint32_t n : one.durations) all += n;
  CHECK(all == 10);
  CHECK(one.total_time > 0s);
}

}  // namespace
}  // namespace podwright::probes
