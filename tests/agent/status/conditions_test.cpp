#include <doctest/doctest.h>

#include "tests/agent/status/status_world.h"

namespace podwright::status {
namespace {

const core::PodCondition& condition(const core::PodStatus& status, const std::string& type) {
  for (const auto& one : status.conditions()) {
    if (one.type() == type) return one;
  }
  FAIL("no condition " << type);
  std::abort();
}

// "True", or "False ContainersNotReady containers with unready status: [a]".
std::string told(const core::PodStatus& status, const std::string& type) {
  const auto& one = condition(status, type);
  std::string text = one.status();
  if (!one.reason().empty()) text += " " + one.reason();
  if (!one.message().empty()) text += " " + one.message();
  return text;
}

std::string types(const core::PodStatus& status) {
  std::string text;
  for (const auto& one : status.conditions()) text += (text.empty() ? "" : " ") + one.type();
  return text;
}

TEST_CASE("conditions of a pod that runs, in their order") {
  StatusWorld world(a_pod("{containers: [{name: a, image: 'i:1'}]}", "generation: 7"));
  world.seen.sandbox("s0").running("a", "c0");
  world.note("a").started = true;

  const core::PodStatus status = world.status();

  CHECK(types(status) == "PodReadyToStartContainers Initialized Ready ContainersReady PodScheduled");
  for (const auto& one : status.conditions()) {
    CHECK(one.status() == "True");
    CHECK(one.reason().empty());
    CHECK(one.observedgeneration() == 7);
    CHECK(one.lasttransitiontime().seconds() == 1'000'000);
    CHECK(!one.has_lastprobetime());
  }
}

TEST_CASE(
    "a pod that was ended for the node's sake is a target of disruption, one that was over its own limit is not") {
  const auto status_of = [](pods::StopReason reason, bool ended) {
    StatusWorld world(a_pod("{containers: [{name: a, image: 'i:1'}]}"));
    world.record.termination.emplace();
    world.record.termination->wish = {reason, 1s, "Evicted", "low on memory"};
    if (ended) world.record.terminal = pods::TerminalRecord{false, "Evicted", "low on memory"};
    world.terminal = ended;
    return world.status();
  };

  const core::PodStatus evicted = status_of(pods::StopReason::kEvicted, true);
  CHECK(told(evicted, "DisruptionTarget") == "True TerminationByKubelet low on memory");
  CHECK(types(evicted).starts_with("DisruptionTarget PodReadyToStartContainers"));
  CHECK(types(status_of(pods::StopReason::kShutdown, true)).find("DisruptionTarget") != std::string::npos);
  CHECK(types(status_of(pods::StopReason::kEvicted, false)).find("DisruptionTarget") == std::string::npos);
  CHECK(types(status_of(pods::StopReason::kOverLimit, true)).find("DisruptionTarget") == std::string::npos);
  CHECK(types(status_of(pods::StopReason::kDeadline, true)).find("DisruptionTarget") == std::string::npos);
}

TEST_CASE("a pod that is not initialized names what is not done") {
  StatusWorld world(
      a_pod("{initContainers: [{name: i, image: 'i:1'}, {name: s, image: 'i:1', restartPolicy: Always}],"
            " containers: [{name: a, image: 'i:1'}, {name: b, image: 'i:1'}]}"));
  world.seen.sandbox("s0").running("i", "c0");
  world.note("i");

  const core::PodStatus status = world.status();

  CHECK(told(status, "Initialized") == "False ContainersNotInitialized containers with incomplete status: [i s]");
  CHECK(told(status, "ContainersReady") == "False ContainersNotReady containers with unready status: [s a b]");
  CHECK(told(status, "Ready") == "False ContainersNotReady containers with unready status: [s a b]");
}

TEST_CASE("initialized stays so, and a regular container that began proves it") {
  const auto pod = a_pod(
      "{initContainers: [{name: s, image: 'i:1', restartPolicy: Always}], containers: [{name: a, image: 'i:1'}]}");
  StatusWorld begun(pod);
  begun.seen.sandbox("s0").exited("s", "c0", 1).running("a", "c1");
  begun.note("a").started = true;
  CHECK(told(begun.status(), "Initialized") == "True");

  StatusWorld before(pod);
  before.previous = begun.status();
  CHECK(told(before.status(), "Initialized") == "True");
}

TEST_CASE("a pod that is over") {
  const auto pod = a_pod("{restartPolicy: Never, containers: [{name: a, image: 'i:1'}]}");
  StatusWorld succeeded(pod);
  succeeded.seen.sandbox("s0").exited("a", "c0");
  succeeded.note("a");
  CHECK(told(succeeded.status(), "Initialized") == "True PodCompleted");
  CHECK(told(succeeded.status(), "Ready") == "False PodCompleted");
  CHECK(told(succeeded.status(), "ContainersReady") == "False PodCompleted");

  StatusWorld failed(pod);
  failed.seen.sandbox("s0").exited("a", "c0", 1);
  failed.note("a");
  CHECK(told(failed.status(), "Ready") == "False PodFailed");
  CHECK(told(failed.status(), "ContainersReady") == "False PodFailed");
}

TEST_CASE("readiness gates hold Ready, not ContainersReady") {
  StatusWorld world(
      a_pod("{readinessGates: [{conditionType: x.test/a}, {conditionType: x.test/b}],"
            " containers: [{name: a, image: 'i:1'}]}"));
  world.seen.sandbox("s0").running("a", "c0");
  world.note("a").started = true;
  world.api.emplace();
  auto* gate = world.api->add_conditions();
  gate->set_type("x.test/b");
  gate->set_status("False");
  CHECK(told(world.status(), "ContainersReady") == "True");
  CHECK(told(world.status(), "Ready") ==
        "False ReadinessGatesNotReady corresponding condition of pod readiness gate \"x.test/a\" does not exist., "
        "the status of pod readiness gate \"x.test/b\" is not \"True\", but False");

  gate->set_status("True");
  auto* other = world.api->add_conditions();
  other->set_type("x.test/a");
  other->set_status("True");
  CHECK(told(world.status(), "Ready") == "True");
}

TEST_CASE("K40: conditions of others are carried over first, and own ones of the API are not") {
  StatusWorld world(a_pod("{containers: [{name: a, image: 'i:1'}]}"));
  world.api.emplace();
  for (const char* type : {"x.test/ok", "Ready", "DisruptionTarget"}) {
    auto* one = world.api->add_conditions();
    one->set_type(type);
    one->set_status("True");
    one->set_reason("theirs");
  }
  const core::PodStatus status = world.status();
  CHECK(types(status) ==
        "x.test/ok DisruptionTarget PodReadyToStartContainers Initialized Ready ContainersReady PodScheduled");
  CHECK(condition(status, "x.test/ok").reason() == "theirs");
  CHECK(told(status, "Ready") == "False ContainersNotReady containers with unready status: [a]");
}

TEST_CASE("a transition time moves with the status only") {
  StatusWorld world(a_pod("{containers: [{name: a, image: 'i:1', readinessProbe: {exec: {command: [t]}}}]}"));
  world.seen.sandbox("s0").running("a", "c0");
  auto& rec = world.note("a");
  rec.started = true;
  world.previous = world.status();
  world.wall += 10s;
  CHECK(condition(world.status(), "Ready").lasttransitiontime().seconds() == 1'000'000);
  rec.ready = true;
  CHECK(condition(world.status(), "Ready").lasttransitiontime().seconds() == 1'000'010);
  CHECK(condition(world.status(), "PodScheduled").lasttransitiontime().seconds() == 1'000'000);
}

TEST_CASE("AllContainersRestarting comes last, and only where a rule asks for it") {
  StatusWorld world(
      a_pod("{containers: [{name: a, image: 'i:1', restartPolicy: Never, restartPolicyRules: [{action:"
            " RestartAllContainers, exitCodes: {operator: In, values: [1]}}]}]}"));
  CHECK(told(world.status(), "AllContainersRestarting") == "False");
  world.waiting[ContainerName("a")] = {"RestartingAllContainers", ""};
  const core::PodStatus status = world.status();
  CHECK(told(status, "AllContainersRestarting") == "True");
  CHECK(types(status).ends_with("PodScheduled AllContainersRestarting"));
}

}  // namespace
}  // namespace podwright::status
