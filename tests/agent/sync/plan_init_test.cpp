#include <doctest/doctest.h>

#include "tests/agent/sync/plan_world.h"

namespace podwright::sync {
namespace {

using cri::ContainerState;
using cri::SandboxState;

constexpr char kInit[] = "initContainers: [{name: i, image: 'i:1'}, {name: j, image: 'i:1'}],";
constexpr char kSidecars[] =
    "initContainers: [{name: s, image: 'i:1', restartPolicy: Always,"
    " startupProbe: {exec: {command: [t]}}}, {name: t, image: 'i:1', restartPolicy: Always}],";

pods::PodPtr with(const std::string& init, const std::string& policy = "Always") {
  return a_pod("{restartPolicy: " + policy + ", " + init + " containers: [{name: a, image: 'i:1'}]}");
}

TEST_CASE("init containers run one after the other, then the regular ones") {
  PlanWorld world(with(kInit));
  world.seen.sandbox("s0").running("i", "c0");
  CHECK(world.plan().is_idle());
  world.look().sandbox("s0").exited("i", "c0");
  CHECK(starts(world.plan()) == "j");
  world.look().sandbox("s0").exited("i", "c0").running("j", "c1");
  CHECK(world.plan().is_idle());
  world.look().sandbox("s0").exited("i", "c0").exited("j", "c1");
  CHECK(starts(world.plan()) == "a");
}

TEST_CASE("an init container that failed starts again, and nothing after it") {
  for (const char* policy : {"Always", "OnFailure"}) {
    PlanWorld world(with(kInit, policy));
    world.seen.sandbox("s0").exited("i", "c0", 1);
    CHECK(starts(world.plan()) == "i");
  }
}

TEST_CASE("an init container that was OOM-killed failed, whatever its exit code") {
  PlanWorld world(with(kInit));
  world.seen.sandbox("s0").exited("i", "c0", 0, 0, "OOMKilled");
  CHECK(starts(world.plan()) == "i");
}

TEST_CASE("an init container that failed under Never ends the pod") {
  PlanWorld world(with(kInit, "Never"));
  world.seen.sandbox("s0").exited("i", "c0", 1);
  const PodPlan plan = world.plan();
  CHECK(plan.finished);
  CHECK(plan.kill_all);
  CHECK(plan.starts.empty());
}

TEST_CASE("an init container that the runtime forgot is known from the record") {
  PlanWorld world(with(kInit));
  world.seen.sandbox("s0").exited("i", "c0");
  world.plan();
  world.look().sandbox("s0");
  CHECK(starts(world.plan()) == "j");
}

TEST_CASE("an init container whose creation failed is created again under every policy") {
  for (const char* policy : {"Always", "OnFailure", "Never"}) {
    PlanWorld world(with(kInit, policy));
    world.of("i").state = pods::InstanceState::kCreating;
    world.of("i").sandbox = SandboxId("s0");
    world.of("i").start_once = true;
    world.seen.sandbox("s0");
    const PodPlan plan = world.plan();
    CHECK(!plan.finished);
    CHECK(starts(plan) == "i");
  }
}

TEST_CASE("an init container that was lost while it ran failed") {
  PlanWorld never(with(kInit, "Never"));
  never.seen.sandbox("s0").running("i", "c0");
  never.plan();
  never.look().sandbox("s0");
  CHECK(never.plan().finished);

  PlanWorld always(with(kInit));
  always.seen.sandbox("s0").running("i", "c0");
  always.plan();
  always.look().sandbox("s0");
  CHECK(starts(always.plan()) == "i");
}

TEST_CASE("K59: a Created container is started as it is") {
  PlanWorld world(with(kInit));
  world.seen.sandbox("s0").created("i", "c0");
  CHECK(starts(world.plan()) == "i=c0");
  world.look().sandbox("s0").exited("i", "c0").exited("j", "c1").created("a", "c2");
  CHECK(starts(world.plan()) == "a=c2");
}

TEST_CASE("an init container in an unknown state is killed and started again, or ends the pod under Never") {
  PlanWorld world(with(kInit));
  world.seen.sandbox("s0").container("i", ContainerState::kUnknown, "c0");
  const PodPlan plan = world.plan();
  CHECK(kills(plan) == "c0");
  CHECK(plan.kills[0].message == "Container i is in \"unknown\" state, try killing it before restart");
  CHECK(starts(plan) == "i");

  PlanWorld never(with(kInit, "Never"));
  never.seen.sandbox("s0").container("i", ContainerState::kUnknown, "c0");
  CHECK(never.plan().finished);
}

TEST_CASE("K13: containers of an older sandbox prove nothing in the new one") {
  PlanWorld world(with(kInit));
  world.seen.sandbox("s0").exited("i", "c0").exited("j", "c1").running("a", "c2");
  world.plan();
  // What a run leaves in the record.
  for (const char* name : {"i", "j"}) world.of(name).start_once = true;
  world.pass(1h);
  world.look().sandbox("s0", SandboxState::kNotReady).exited("i", "c0").exited("j", "c1").exited("a", "c2", 255);
  CHECK(starts(world.plan()) == "i");

  world.look().sandbox("s0", SandboxState::kNotReady).exited("i", "c0").exited("j", "c1").exited("a", "c2", 255);
  world.seen.sandbox("s1", SandboxState::kReady, 1);
  CHECK(starts(world.plan()) == "i");
  world.seen.running("i", "c3", 1);
  CHECK(world.plan().is_idle());
  world.look().sandbox("s1", SandboxState::kReady, 1).exited("i", "c3", 0, 1);
  const PodPlan plan = world.plan();
  CHECK(!plan.finished);
  CHECK(starts(plan) == "j");
}

TEST_CASE("after a reboot init containers run again from the first one on") {
  PlanWorld world(with(kInit));
  world.seen.sandbox("s0").exited("i", "c0").exited("j", "c1").running("a", "c2");
  world.plan();
  for (const char* name : {"i", "j"}) world.of(name).start_once = true;
  pods::carry_over_reboot(world.record, BootId("b2"), world.now, world.wall);
  world.look();
  CHECK(starts(world.plan()) == "i");
  world.look().sandbox("s1", SandboxState::kReady, 1).exited("i", "c3", 0, 1);
  world.record.sandbox = {SandboxId("s1"), 1, false};
  CHECK(starts(world.plan()) == "j");
}

TEST_CASE("init containers that are done are not looked at again once a regular one began") {
  PlanWorld world(with(kInit));
  world.seen.sandbox("s0").running("a", "c2");
  CHECK(world.plan().is_idle());
  world.look().sandbox("s0").exited("a", "c2", 1);
  CHECK(starts(world.plan()) == "a");
}

// ---- sidecars ----

TEST_CASE("a sidecar with a startup probe holds what follows until it passed") {
  PlanWorld world(with(kSidecars));
  world.seen.sandbox("s0");
  CHECK(starts(world.plan()) == "s");
  world.look().sandbox("s0").running("s", "c0");
  CHECK(world.plan().is_idle());
  world.of("s").started = true;
  CHECK(starts(world.plan()) == "t");
  world.look().sandbox("s0").running("s", "c0").running("t", "c1");
  CHECK(starts(world.plan()) == "a");
}

TEST_CASE("what a sidecar's older instance passed does not count for the new one") {
  PlanWorld world(with(kSidecars));
  world.seen.sandbox("s0").running("s", "c0");
  world.plan();
  world.of("s").started = true;
  world.look().sandbox("s0").running("s", "c2", 1);
  CHECK(world.plan().is_idle());
  CHECK(!world.of("s").started);
}

TEST_CASE("a sidecar restarts after every exit, under every policy, also after init") {
  for (const char* policy : {"Always", "OnFailure", "Never"}) {
    for (const int code : {0, 1}) {
      PlanWorld world(with(kSidecars, policy));
      world.seen.sandbox("s0").exited("s", "c0", code).running("t", "c1").running("a", "c2");
      CHECK(starts(world.plan()) == "s");
    }
  }
}

TEST_CASE("a sidecar that fails its startup probe is killed and started again") {
  PlanWorld world(with(kSidecars, "Never"));
  world.seen.sandbox("s0").running("s", "c0");
  world.probes[ContainerName("s")].startup_failed = true;
  const PodPlan plan = world.plan();
  CHECK(kills(plan) == "c0");
  CHECK(plan.kills[0].message == "Container s failed startup probe, will be restarted");
  CHECK(starts(plan) == "s");
}

TEST_CASE("a sidecar that broke behind a later init container holds nobody back") {
  PlanWorld world(
      a_pod("{initContainers: [{name: s, image: 'i:1', restartPolicy: Always}, {name: i, image: 'i:1'}],"
            " containers: [{name: a, image: 'i:1'}]}"));
  world.seen.sandbox("s0").exited("s", "c0", 1).exited("i", "c1");
  CHECK(starts(world.plan()) == "s a");
}

TEST_CASE("a pod is over when its regular containers are, whatever its sidecars do") {
  PlanWorld world(with(kSidecars, "OnFailure"));
  world.seen.sandbox("s0").running("s", "c0").running("t", "c1").exited("a", "c2");
  CHECK(world.plan().finished);

  // Also where the last sidecar is in a crash loop.
  PlanWorld crashing(with(kSidecars, "OnFailure"));
  crashing.seen.sandbox("s0").running("s", "c0").exited("t", "c1", 1).exited("a", "c2");
  const PodPlan plan = crashing.plan();
  CHECK(plan.finished);
  CHECK(plan.starts.empty());
  CHECK(plan.waiting.empty());
  CHECK(!plan.wake_at);
}

}  // namespace
}  // namespace podwright::sync
