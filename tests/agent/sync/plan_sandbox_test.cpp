#include <doctest/doctest.h>

#include "tests/agent/sync/plan_world.h"

namespace podwright::sync {
namespace {

using cri::SandboxState;

constexpr char kOne[] = "{containers: [{name: a, image: 'i:1'}]}";

TEST_CASE("a pod without a sandbox gets one under attempt 0, and all its containers") {
  PlanWorld world(a_pod("{containers: [{name: a, image: 'i:1'}, {name: b, image: 'i:1'}]}"));

  const PodPlan plan = world.plan();

  CHECK(plan.sandbox.create);
  CHECK(plan.sandbox.attempt == 0);
  CHECK(plan.sandbox.replaces.empty());
  CHECK(!plan.kill_all);
  CHECK(starts(plan) == "a b");
}

TEST_CASE("of a pod with init containers only the first one starts with the sandbox") {
  PlanWorld world(
      a_pod("{initContainers: [{name: i, image: 'i:1'}, {name: j, image: 'i:1'}],"
            " containers: [{name: a, image: 'i:1'}]}"));
  CHECK(starts(world.plan()) == "i");
}

TEST_CASE("a sandbox that is not ready is replaced under the next attempt, and what runs in it is stopped") {
  PlanWorld world(a_pod(kOne));
  world.seen.sandbox("s0", SandboxState::kNotReady, 3).running("a", "c0");

  const PodPlan plan = world.plan();

  CHECK(plan.sandbox.create);
  CHECK(plan.sandbox.attempt == 4);
  CHECK(plan.sandbox.replaces.value == "s0");
  CHECK(plan.kill_all);
}

TEST_CASE("a sandbox of the wrong network is replaced without being told as changed") {
  PlanWorld world(a_pod("{hostNetwork: true, containers: [{name: a, image: 'i:1'}]}"));
  world.seen.sandbox("s0");

  const PodPlan plan = world.plan();

  CHECK(plan.sandbox.create);
  CHECK(plan.sandbox.attempt == 1);
  CHECK(plan.sandbox.replaces.empty());
  CHECK(plan.kill_all);
}

TEST_CASE("a sandbox without an address is replaced, unless it is in the host's network") {
  PlanWorld own(a_pod(kOne));
  own.seen.sandbox("s0", SandboxState::kReady, 0, {});
  CHECK(own.plan().sandbox.create);

  PlanWorld host(a_pod("{hostNetwork: true, containers: [{name: a, image: 'i:1'}]}"));
  host.seen.sandbox("s0", SandboxState::kReady, 0, {});
  host.seen.runtime().sandboxes[0].network = cri::NamespaceMode::kNode;
  CHECK(!host.plan().sandbox.create);
}

TEST_CASE("K58: of two ready sandboxes the noted one is kept and the other is extra") {
  PlanWorld world(a_pod(kOne));
  world.record.sandbox.id = SandboxId("s0");
  world.seen.sandbox("s0").running("a", "c0").sandbox("s1", SandboxState::kReady, 1);

  const PodPlan plan = world.plan();

  CHECK(!plan.sandbox.create);
  CHECK(plan.sandbox.use.value == "s0");
  REQUIRE(plan.sandbox.extras.size() == 1);
  CHECK(plan.sandbox.extras[0].value == "s1");
  CHECK(plan.kills.empty());
  CHECK(!plan.is_idle());
}

TEST_CASE("K58: of two ready sandboxes that nobody noted the one that runs something is kept") {
  PlanWorld world(a_pod(kOne));
  world.record.sandbox.id = SandboxId("lost");
  world.seen.sandbox("s0").running("a", "c0").sandbox("s1", SandboxState::kReady, 1);
  CHECK(world.plan().sandbox.use.value == "s0");
}

TEST_CASE("a sandbox that came although its call was never answered is used as it is") {
  PlanWorld world(a_pod(kOne));
  world.record.sandbox = {SandboxId(), 0, true};
  world.seen.sandbox("s0");

  const PodPlan plan = world.plan();

  CHECK(!plan.sandbox.create);
  CHECK(plan.sandbox.use.value == "s0");
  CHECK(world.record.sandbox.id.value == "s0");
  CHECK(starts(plan) == "a");
}

TEST_CASE("after a sandbox that vanished the attempt goes on counting") {
  PlanWorld world(a_pod(kOne));
  world.record.sandbox = {SandboxId("s7"), 7, false};
  CHECK(world.plan().sandbox.attempt == 8);
}

TEST_CASE("an attempt that was only begun is tried again under its own number") {
  PlanWorld world(a_pod(kOne));
  world.record.sandbox = {SandboxId(), 7, true};
  CHECK(world.plan().sandbox.attempt == 7);
}

TEST_CASE("a Never pod that had run gets no second sandbox") {
  PlanWorld world(a_pod("{restartPolicy: Never, containers: [{name: a, image: 'i:1'}]}"));
  world.of("a").start_once = true;
  world.seen.sandbox("s0", SandboxState::kNotReady).exited("a", "c0");

  const PodPlan plan = world.plan();

  CHECK(!plan.sandbox.create);
  CHECK(plan.finished);
  CHECK(plan.starts.empty());
}

TEST_CASE("a Never pod whose sandbox broke before anything ran gets another one") {
  PlanWorld world(a_pod("{restartPolicy: Never, containers: [{name: a, image: 'i:1'}]}"));
  world.seen.sandbox("s0", SandboxState::kNotReady);

  const PodPlan plan = world.plan();

  CHECK(plan.sandbox.create);
  CHECK(starts(plan) == "a");
}

TEST_CASE("an OnFailure pod gets a new sandbox for what has not succeeded only") {
  PlanWorld world(a_pod("{restartPolicy: OnFailure, containers: [{name: a, image: 'i:1'}, {name: b, image: 'i:1'}]}"));
  world.seen.sandbox("s0").exited("a", "c0").running("b", "c1");
  world.plan();
  for (const char* name : {"a", "b"}) world.of(name).start_once = true;
  world.look().sandbox("s0", SandboxState::kNotReady).exited("a", "c0").exited("b", "c1", 137);

  const PodPlan plan = world.plan();
  CHECK(plan.sandbox.create);
  CHECK(starts(plan) == "b");

  // The new sandbox stands and nothing is in it yet, say because the image is still being pulled.
  world.look().sandbox("s1", SandboxState::kReady, 1);
  world.record.sandbox = {SandboxId("s1"), 1, false};
  CHECK(starts(world.plan()) == "b");
}

TEST_CASE("an OnFailure pod whose containers all succeeded needs no new sandbox") {
  PlanWorld world(a_pod("{restartPolicy: OnFailure, containers: [{name: a, image: 'i:1'}]}"));
  world.seen.sandbox("s0", SandboxState::kNotReady).exited("a", "c0");
  const PodPlan plan = world.plan();
  CHECK(!plan.sandbox.create);
  CHECK(plan.finished);
}

TEST_CASE("in a new sandbox a container in back-off waits and the others start") {
  PlanWorld world(a_pod("{containers: [{name: a, image: 'i:1'}, {name: b, image: 'i:1'}]}"));
  world.seen.sandbox("s0").running("a", "c0").running("b", "c1");
  world.plan();
  world.of("a").backoff = {20s, world.now, "i:1"};
  world.pass(1s);
  world.look().sandbox("s0", SandboxState::kNotReady).exited("a", "c0", 1).exited("b", "c1", 1);

  const PodPlan plan = world.plan();

  CHECK(starts(plan) == "b");
  CHECK(waits(plan) == "a");
  CHECK(*plan.wake_at == world.now + 20s);
}

}  // namespace
}  // namespace podwright::sync
