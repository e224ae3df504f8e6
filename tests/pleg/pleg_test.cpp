#include "pleg/pleg.h"

#include <doctest/doctest.h>

#include "tests/pleg/watched_world.h"

namespace podwright::pleg {
namespace {

using Kind = PodEvent::Kind;
using cri::Method;

TEST_CASE("an exit is told and believed long before the next list") {
  WatchedWorld world;
  const SandboxId sandbox = world.sandbox("web");
  const ContainerId id = world.run(sandbox, "web", "app");
  world.run_pleg();
  REQUIRE(world.look("web").ok());
  const uint64_t lists = world.pleg.relists();

  world.runtime.exit_container(id, 137, true);
  world.loop.run_for(20ms);

  CHECK(world.told(Kind::kDied, id.value) == 1);
  const auto* seen = world.cache.get(PodUid("web"))->find(id);
  CHECK(seen->exit_code == 137);
  CHECK(seen->reason == "OOMKilled");
  CHECK(world.pleg.relists() == lists);
  CHECK(world.pleg.counters().oom_events == 1);
  world.close();
}

TEST_CASE("events of a container that no look has seen find their pod by one question") {
  WatchedWorld world;
  world.run_pleg();
  const int asked = world.runtime.calls(Method::kListContainers);

  const ContainerId id = world.run(world.sandbox("web"), "web", "app");
  world.loop.run_for(1s);

  CHECK(world.told(Kind::kChanged, id.value) == 1);
  CHECK(world.told(Kind::kStarted, id.value) == 1);
  CHECK(world.told(Kind::kSandboxChanged) == 2);
  // One for the sandbox, one for the container.
  CHECK(world.runtime.calls(Method::kListContainers) - asked == 2);
  world.close();
}

TEST_CASE("an exit of an unknown container is believed once its pod is found") {
  WatchedWorld world;
  world.run_pleg();
  const ContainerId id = world.run(world.sandbox("web"), "web", "app");
  world.runtime.exit_container(id, 5);
  world.loop.run_for(1s);

  CHECK(world.told(Kind::kDied, id.value) == 1);
  CHECK((*world.look("web"))->find(id)->exit_code == 5);
  world.close();
}

TEST_CASE("where the question for an owner fails, a list follows and nothing is lost") {
  WatchedWorld world;
  world.run_pleg();
  const auto of_one = [](const cri::Call& call) { return !call.id.empty(); };
  world.runtime.hang(Method::kListContainers, of_one);
  const ContainerId id = world.run(world.sandbox("web"), "web", "app");

  world.loop.run_for(6s);

  CHECK(world.told(Kind::kStarted, id.value) == 1);
  CHECK(world.told(Kind::kSandboxChanged) >= 1);
  world.close();
}

TEST_CASE("a sandbox that dies is told as a change of the sandbox, not as a container's end") {
  WatchedWorld world;
  const SandboxId sandbox = world.sandbox("web");
  world.run_pleg();
  REQUIRE(world.look("web").ok());

  world.runtime.kill_sandbox(sandbox);
  world.loop.run_for(100ms);

  CHECK(world.told(Kind::kSandboxChanged, sandbox.value) == 1);
  CHECK(world.told(Kind::kDied) == 0);
  CHECK(world.cache.unconfirmed().empty());
  world.close();
}

TEST_CASE("everything is listed every 30 s with the event stream, every second without") {
  WatchedWorld world;
  world.run_pleg();
  const uint64_t begin = world.pleg.relists();

  world.loop.run_for(61s);
  CHECK(world.pleg.relists() - begin == 2);
  CHECK(world.pleg.event_stream_open());

  // Only the stream goes: its opening takes long.
  world.runtime.fail_next(Method::kListSandboxes, absl::UnavailableError("no"), 0);
  world.runtime.down(5s);
  world.loop.run_for(4500ms);
  CHECK_FALSE(world.pleg.event_stream_open());
  CHECK(world.pleg.counters().failed_relists >= 4);
  world.loop.run_for(5s);
  CHECK(world.pleg.event_stream_open());
  CHECK(world.pleg.counters().stream_openings == 2);
  world.close();
}

TEST_CASE("what happened while the stream was closed is told as soon as it is open again") {
  WatchedWorld world;
  const ContainerId id = world.run(world.sandbox("web"), "web", "app");
  world.run_pleg();
  world.runtime.down(5s);
  world.loop.run_for(1s);
  world.runtime.exit_container(id, 1);

  world.loop.run_for(4500ms);

  CHECK(world.told(Kind::kDied, id.value) == 1);
  world.close();
}

TEST_CASE("a list that fails changes nothing, and the same events come with the next") {
  WatchedWorld world;
  const ContainerId id = world.run(world.sandbox("web"), "web", "app");
  world.run_pleg();
  world.runtime.event_chances().lose = 1;
  world.runtime.exit_container(id, 1);
  const auto all = [](const cri::Call& call) { return call.id.empty() && call.uid.empty(); };
  cri::Fault fault;
  fault.method = Method::kListContainers;
  fault.matches = all;
  fault.times = 3;
  world.runtime.faults().add(fault);

  world.loop.run_for(31s);
  CHECK(world.told(Kind::kDied, id.value) == 0);
  world.loop.run_for(5s);

  CHECK(world.told(Kind::kDied, id.value) == 1);
  CHECK(world.pleg.counters().failed_relists == 3);
  world.close();
}

TEST_CASE("health is told in upstream's words") {
  WatchedWorld world;
  CHECK(world.pleg.unhealthy_because() == "pleg has yet to be successful");
  CHECK_FALSE(world.pleg.last_relist_ok().has_value());
  world.run_pleg();
  CHECK(world.pleg.unhealthy_because().empty());

  world.runtime.down(10min);
  world.loop.run_for(4min);

  CHECK(world.pleg.unhealthy_because().starts_with("pleg was last seen active 4m"));
  CHECK(world.pleg.unhealthy_because().ends_with(" ago; threshold is 3m0s"));
  world.loop.run_for(10min);
  CHECK(world.pleg.unhealthy_because().empty());
  world.close();
}

TEST_CASE("an end that no look has confirmed is told again with each list") {
  WatchedWorld world;
  const ContainerId id = world.run(world.sandbox("web"), "web", "app");
  world.run_pleg();
  REQUIRE(world.look("web").ok());
  (void)world.cache.believe_exit(id, 1, world.loop.clock().wall(), false);

  world.loop.run_for(31s);

  CHECK(world.told(Kind::kSync) == 1);
  CHECK((*world.look("web"))->find(id)->state == cri::ContainerState::kRunning);
  world.events.clear();
  world.loop.run_for(31s);
  CHECK(world.told(Kind::kSync) == 0);
  world.close();
}

// Processes whose ends the test tells.
class ToldEnds final : public ProcessEnds {
 public:
  absl::StatusOr<uint64_t> watch(int32_t pid, std::string cgroup_part, Loop::Work ended) override {
    if (pid == 0) return absl::NotFoundError("process has ended");
    watched[++last] = {std::move(cgroup_part), std::move(ended)};
    return last;
  }
  void forget(uint64_t watch) override { watched.erase(watch); }
  void end(const std::string& cgroup_part) {
    for (auto place = watched.begin(); place != watched.end(); ++place) {
      if (place->second.first != cgroup_part) continue;
      Loop::Work work = std::move(place->second.second);
      watched.erase(place);
      return work();
    }
  }
  std::map<uint64_t, std::pair<std::string, Loop::Work>> watched;
  uint64_t last = 0;
};

TEST_CASE("where the event of an exit is lost, the end of the process leads to a look") {
  WatchedWorld world;
  ToldEnds ends;
  world.pleg.watch_processes(ends);
  const SandboxId sandbox = world.sandbox("web");
  const ContainerId lost = world.run(sandbox, "web", "lost");
  const ContainerId heard = world.run(sandbox, "web", "heard");
  world.run_pleg();
  REQUIRE(world.look("web").ok());
  world.pleg.watch_process(lost, 101);
  world.pleg.watch_process(heard, 102);
  world.pleg.watch_process(ContainerId("ended"), 0);
  REQUIRE(ends.watched.size() == 2);
  world.looks = true;

  world.runtime.exit_container(heard, 1);
  world.loop.run_for(1s);
  CHECK(ends.watched.size() == 1);
  world.events.clear();
  world.runtime.event_chances().lose = 1;
  world.runtime.exit_container(lost, 7);
  ends.end(lost.value);
  world.loop.run_for(200ms);

  CHECK(world.told(Kind::kSync, lost.value) == 1);
  CHECK(world.cache.get(PodUid("web"))->find(lost)->exit_code == 7);
  CHECK(world.pleg.counters().exit_hints == 1);
  CHECK(world.pleg.counters().exit_hints_alone == 1);
  world.close();
}

TEST_CASE("where the event of an exit comes in time, the end of the process adds nothing") {
  WatchedWorld world;
  ToldEnds ends;
  world.pleg.watch_processes(ends);
  const ContainerId id = world.run(world.sandbox("web"), "web", "app");
  world.run_pleg();
  REQUIRE(world.look("web").ok());
  world.pleg.watch_process(id, 101);

  ends.end(id.value);
  world.runtime.exit_container(id, 7);
  world.loop.run_for(200ms);

  CHECK(world.told(Kind::kDied, id.value) == 1);
  CHECK(world.told(Kind::kSync) == 0);
  CHECK(world.pleg.counters().exit_hints_alone == 0);
  world.close();
}

}  // namespace
}  // namespace podwright::pleg
