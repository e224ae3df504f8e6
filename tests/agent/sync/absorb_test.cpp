#include "agent/sync/absorb.h"

#include <doctest/doctest.h>

#include "tests/agent/sync/plan_world.h"

namespace podwright::sync {
namespace {

using pods::InstanceState;

struct Absorbing : PlanWorld {
  explicit Absorbing(const std::string& policy = "Always")
      : PlanWorld(a_pod("{restartPolicy: " + policy + ", containers: [{name: a, image: 'i:1'}]}")) {}
  Absorbed take(bool in_flight = false) { return absorb(record, pod, seen.runtime(), now, wall, in_flight); }
};

TEST_CASE("the same look a second time changes nothing") {
  Absorbing world;
  world.seen.sandbox("s0").exited("a", "c0", 1);
  CHECK(world.take().changed);
  world.pass(1min);
  const Absorbed again = world.take();
  CHECK(!again.changed);
  CHECK(again.ended.empty());
}

TEST_CASE("an end that was watched is as old as the news of it") {
  Absorbing world;
  world.seen.sandbox("s0").running("a", "c0");
  world.take();
  world.pass(10s);
  world.look().sandbox("s0").exited("a", "c0", 3);
  world.seen.newest().finished_at = world.wall - 9s;

  const Absorbed absorbed = world.take();

  REQUIRE(absorbed.ended.size() == 1);
  CHECK(absorbed.ended[0].learnt_at == world.now);
  CHECK(world.of("a").state == InstanceState::kExited);
}

TEST_CASE("an end found at adoption is as old as its wall age, which a stepped clock cannot make negative") {
  Absorbing world;
  world.seen.sandbox("s0").exited("a", "c0", 3);
  world.seen.newest().finished_at = world.wall - 40s;
  CHECK(world.take().ended[0].learnt_at == world.now - 40s);

  Absorbing stepped;
  stepped.seen.sandbox("s0").exited("a", "c0", 3);
  stepped.seen.newest().finished_at = stepped.wall + 1h;
  CHECK(stepped.take().ended[0].learnt_at == stepped.now);

  Absorbing ancient;
  ancient.seen.sandbox("s0").exited("a", "c0", 3);
  ancient.seen.newest().finished_at = WallTime();
  CHECK(ancient.take().ended[0].learnt_at == Instant());
}

TEST_CASE("K03: a container with a new ID inherits nothing but its back-off") {
  Absorbing world;
  world.seen.sandbox("s0").running("a", "c0");
  world.take();
  auto& rec = world.of("a");
  rec.started = rec.ready = rec.post_start_done = true;
  rec.probes[pods::ProbeKind{}];
  rec.backoff = {20s, world.now, "i:1"};
  world.look().sandbox("s0").exited("a", "c0", 1).running("a", "c1", 1);

  world.take();

  CHECK(rec.id.value == "c1");
  CHECK(rec.attempt == 1);
  CHECK(!rec.started);
  CHECK(!rec.ready);
  CHECK(!rec.post_start_done);
  CHECK(rec.probes.empty());
  CHECK(rec.backoff.delay == 20s);
  CHECK(rec.state == InstanceState::kRunning);
}

TEST_CASE("K35: an end that is known stays known when the runtime forgets the container") {
  Absorbing world("Never");
  world.seen.sandbox("s0").exited("a", "c0", 0);
  CHECK(world.take().needs_power_safe);
  world.look().sandbox("s0");

  CHECK(!world.take().changed);
  CHECK(world.of("a").exit->known);
  CHECK(world.of("a").exit->exit_code == 0);
  CHECK(world.of("a").succeeded_for_good);
}

TEST_CASE("a running container that the runtime lost ended in a way nobody can tell, once no call is in flight") {
  Absorbing world;
  world.seen.sandbox("s0").running("a", "c0");
  world.take();
  world.look().sandbox("s0");

  CHECK(world.take(true).ended.empty());
  const Absorbed absorbed = world.take();

  REQUIRE(absorbed.ended.size() == 1);
  CHECK(!absorbed.ended[0].known);
  CHECK(absorbed.ended[0].exit_code == 137);
  CHECK(absorbed.ended[0].reason == "ContainerStatusUnknown");
  CHECK(absorbed.ended[0].learnt_at == world.now);
}

TEST_CASE("an older instance that is still seen does not take the place of one that is being created") {
  Absorbing world;
  world.seen.sandbox("s0").exited("a", "c0", 1);
  world.take();
  auto& rec = world.of("a");
  rec.last_exit = std::exchange(rec.exit, std::nullopt);
  rec.id = ContainerId();
  rec.attempt = 1;
  rec.state = InstanceState::kCreating;

  const Absorbed absorbed = world.take();

  CHECK(absorbed.ended.empty());
  CHECK(rec.attempt == 1);
  CHECK(rec.state == InstanceState::kCreating);
}

TEST_CASE("a success that is final asks for power safety, one that is followed by a restart does not") {
  for (const auto& [policy, code, expected] : {std::tuple{"Always", 0, false},
                                               {"OnFailure", 0, true},
                                               {"Never", 0, true},
                                               {"OnFailure", 1, false},
                                               {"Never", 1, false}}) {
    Absorbing world(policy);
    world.seen.sandbox("s0").exited("a", "c0", code);
    CAPTURE(policy);
    CAPTURE(code);
    CHECK(world.take().needs_power_safe == expected);
  }
}

TEST_CASE("a sandbox that was being made is noted once it is ready, with its addresses") {
  Absorbing world;
  world.record.sandbox.making = true;
  world.seen.sandbox("s0", cri::SandboxState::kNotReady);
  world.take();
  CHECK(world.record.sandbox.making);
  world.look().sandbox("s0", cri::SandboxState::kReady, 2, {"10.0.0.1", "fd00::1"});
  world.take();
  CHECK(world.record.sandbox.id.value == "s0");
  CHECK(world.record.sandbox.attempt == 2);
  CHECK(!world.record.sandbox.making);
  CHECK(world.record.pod_ips == std::vector<std::string>{"10.0.0.1", "fd00::1"});
}

TEST_CASE("the start of a container that runs is noted once and kept") {
  Absorbing world;
  world.seen.sandbox("s0").running("a", "c0");
  world.seen.newest().started_at = world.wall - 30s;
  world.take();
  CHECK(world.of("a").running_since == world.now - 30s);
  world.pass(1min);
  CHECK(!world.take().changed);
}

}  // namespace
}  // namespace podwright::sync
