// One pod in the whole agent, in virtual time.
#include <doctest/doctest.h>

#include "tests/sim/manifests.h"
#include "tests/sim/sim_world.h"

using namespace podwright;
using namespace podwright::sim;

namespace {}  // namespace

TEST_CASE("a static pod runs, is shown, and is gone with its manifest") {
  SimWorld world(1);
  world.write_manifest("web.yaml", one_container("web"));
  world.start_agent();

  REQUIRE(world.wait([&] { return world.phase("t/web-n1") == "Running"; }, 10s));
  CHECK(world.running("t/web-n1", "c") != nullptr);
  CHECK(world.runs("t/web-n1", "c").size() == 1);
  const auto view = world.pod("t/web-n1");
  REQUIRE(view->status->containerstatuses_size() == 1);
  CHECK(view->status->containerstatuses(0).ready());
  CHECK(view->status->containerstatuses(0).restartcount() == 0);

  world.remove_manifest("web.yaml");
  CHECK(world.wait([&] { return world.runtime().sandboxes().empty() && !world.pod("t/web-n1"); }, 60s));
  CHECK(world.runtime().containers().empty());
  const auto left = world.tree().list("/var/lib/kubelet/pods");
  CHECK((!left.ok() || left->empty()));
}

TEST_CASE("a restart of the agent changes nothing for a running pod") {
  SimWorld world(2);
  world.write_manifest("web.yaml", one_container("web"));
  world.start_agent();
  REQUIRE(world.wait([&] { return world.phase("t/web-n1") == "Running"; }, 10s));
  const ContainerId id = world.running("t/web-n1", "c")->id;

  for (int i = 0; i < 5; ++i) {
    world.restart_agent();
    world.run_for(20s);
    CHECK(world.phase("t/web-n1") == "Running");
    REQUIRE(world.running("t/web-n1", "c") != nullptr);
    CHECK(world.running("t/web-n1", "c")->id == id);
  }
  CHECK(world.runs("t/web-n1", "c").size() == 1);
}

TEST_CASE("an agent killed at any step of a pod's start goes on, and starts nothing twice") {
  // How many steps a start takes.
  SimWorld measure(3);
  measure.write_manifest("web.yaml", one_container("web"));
  measure.start_agent();
  REQUIRE(measure.wait([&] { return measure.phase("t/web-n1") == "Running"; }, 10s));
  const uint64_t steps = measure.loop().steps();
  REQUIRE(steps > 50);

  for (uint64_t at = 1; at < steps; at += 1) {
    CAPTURE(at);
    SimWorld world(3);
    world.write_manifest("web.yaml", one_container("web"));
    world.start_agent();
    for (uint64_t i = 0; i < at; ++i) (void)world.step(Instant::max());
    world.restart_agent();

    REQUIRE(world.wait([&] { return world.phase("t/web-n1") == "Running"; }, 60s));
    world.run_for(5s);
    CHECK(world.runtime().truth().overlapping_containers().empty());
    CHECK(world.runs("t/web-n1", "c").size() == 1);
    CHECK(world.runtime().sandboxes().size() == 1);
  }
}
