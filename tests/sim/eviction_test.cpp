// Eviction in the whole agent, in virtual time.
#include <doctest/doctest.h>

#include "tests/sim/manifests.h"
#include "tests/sim/sim_world.h"

using namespace podwright;
using namespace podwright::sim;

namespace {

constexpr char kWeb[] = "t/web-n1";

// A node whose disk may fill up, with one static pod that may be evicted.
std::unique_ptr<SimWorld> full_disk_world(uint64_t seed) {
  auto world = std::make_unique<SimWorld>(seed);
  world->config().eviction.evict_static_pods = true;
  world->config().eviction.hard["nodefs.available"] = {.percent = 10, .value = 0};
  world->config().eviction.pressure_transition_period = 30s;
  world->write_manifest("web.yaml", one_container("web"));
  world->start_agent();
  REQUIRE(world->wait([&] { return world->phase(kWeb) == "Running"; }, 10s));
  return world;
}

void set_disk(SimWorld& world, uint64_t available) {
  world.tree().set_fs_stat("/", {.capacity_bytes = 100ULL << 30,
                                 .available_bytes = available << 30,
                                 .inodes = 1'000'000,
                                 .inodes_free = 900'000});
}

void check_evicted(SimWorld& world) {
  const auto view = world.pod(kWeb);
  REQUIRE(view);
  CHECK(view->status->phase() == "Failed");
  CHECK(view->status->reason() == "Evicted");
  CHECK(view->status->message().starts_with("The node was low on resource: ephemeral-storage. Threshold quantity: "));
  CHECK(world.running(kWeb, "c") == nullptr);
}

}  // namespace

TEST_CASE("a pod is evicted when the disk is full, and runs again when it is not") {
  const auto world = full_disk_world(1);
  set_disk(*world, 5);
  REQUIRE(world->wait([&] { return world->phase(kWeb) == "Failed"; }, 60s));
  check_evicted(*world);

  world->run_for(120s);
  check_evicted(*world);

  set_disk(*world, 50);
  CHECK(world->wait([&] { return world->phase(kWeb) == "Running"; }, 90s));
  CHECK(world->runs(kWeb, "c").size() == 2);
}

TEST_CASE("the reason of an eviction is not lost, at whatever step of it the agent is killed") {
  uint64_t steps = 0;
  {
    const auto measure = full_disk_world(2);
    set_disk(*measure, 5);
    const uint64_t begin = measure->loop().steps();
    REQUIRE(measure->wait([&] { return measure->phase(kWeb) == "Failed"; }, 60s));
    measure->run_for(1s);
    steps = measure->loop().steps() - begin;
  }
  REQUIRE(steps > 20);

  for (uint64_t at = 0; at < steps; at += 5) {
    CAPTURE(at);
    const auto world = full_disk_world(2);
    set_disk(*world, 5);
    for (uint64_t i = 0; i < at; ++i) (void)world->step(Instant::max());
    world->restart_agent();

    REQUIRE(world->wait([&] { return world->phase(kWeb) == "Failed"; }, 60s));
    world->run_for(5s);
    check_evicted(*world);
    CHECK(world->runs(kWeb, "c").size() == 1);
  }
}
