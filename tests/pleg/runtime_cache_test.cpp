#include "pleg/runtime_cache.h"

#include <doctest/doctest.h>

#include "tests/pleg/watched_world.h"

namespace podwright::pleg {
namespace {

using cri::ContainerState;
using cri::Method;
using cri::SandboxState;

template <class T>
Co<void> keep(Co<T> co, T* into) {
  *into = co_await std::move(co);
}

using Seen = absl::StatusOr<PodRuntimePtr>;

TEST_CASE("a look sees sandboxes and containers, newest first, with their statuses") {
  WatchedWorld world;
  const SandboxId old_sandbox = world.sandbox("web");
  world.runtime.kill_sandbox(old_sandbox);
  world.loop.run_for(1s);
  const SandboxId sandbox = world.sandbox("web", 1);
  const ContainerId first = world.run(sandbox, "web", "app", 0);
  world.runtime.exit_container(first, 3);
  world.loop.run_for(1s);
  const ContainerId second = world.run(sandbox, "web", "app", 1);
  world.run(world.sandbox("other"), "other", "app");

  const auto seen = world.look("web");

  REQUIRE(seen.ok());
  const PodRuntime& pod = **seen;
  CHECK(pod.key == PodKey{"default", "pod-web"});
  REQUIRE(pod.sandboxes.size() == 2);
  CHECK(pod.sandboxes.front().id == sandbox);
  CHECK(pod.sandboxes.front().ips.size() == 1);
  CHECK(pod.any_sandbox_ready());
  REQUIRE(pod.containers.size() == 2);
  CHECK(pod.newest(ContainerName("app"))->id == second);
  CHECK(pod.newest(ContainerName("none")) == nullptr);
  CHECK(pod.find(first)->exit_code == 3);
  CHECK(pod.find(second)->sandbox == sandbox);
  CHECK(pod.anything_running());
  CHECK(world.cache.get(PodUid("web")) == *seen);
}

TEST_CASE("a pod that the runtime does not have is seen as empty") {
  WatchedWorld world;

  const auto seen = world.look("none");

  REQUIRE(seen.ok());
  CHECK((*seen)->empty());
  CHECK_FALSE((*seen)->anything_running());
}

TEST_CASE("those who ask for one pod at once share a look, but none gets one that began before") {
  WatchedWorld world;
  world.run(world.sandbox("web"), "web", "app");
  Scope scope(world.loop);
  Seen seen[4] = {Seen(absl::UnknownError("")), Seen(absl::UnknownError("")), Seen(absl::UnknownError("")),
                  Seen(absl::UnknownError(""))};
  scope.spawn("first", keep(world.cache.inspect(PodUid("web")), &seen[0]));
  world.loop.run_for(4ms);
  const ContainerId late = world.run(world.runtime.sandboxes().front().id, "web", "late");
  for (int i = 1; i < 4; ++i) scope.spawn("more", keep(world.cache.inspect(PodUid("web")), &seen[i]));

  world.loop.run_for(1s);

  CHECK(world.runtime.calls(Method::kListSandboxes) == 2);
  for (int i = 1; i < 4; ++i) {
    REQUIRE(seen[i].ok());
    CHECK((*seen[i])->find(late) != nullptr);
  }
}

TEST_CASE("the status of an exited container is asked for once") {
  WatchedWorld world;
  const SandboxId sandbox = world.sandbox("web");
  const ContainerId dead = world.run(sandbox, "web", "app", 0);
  world.runtime.exit_container(dead, 3);
  world.run(sandbox, "web", "app", 1);
  REQUIRE(world.look("web").ok());
  REQUIRE(world.runtime.calls(Method::kContainerStatus) == 2);

  const auto again = world.look("web");

  CHECK(world.runtime.calls(Method::kContainerStatus) == 3);
  CHECK((*again)->find(dead)->exit_code == 3);
}

TEST_CASE("a look that hangs ends by its deadline, keeps what was known, and disturbs no other pod") {
  WatchedWorld world;
  const ContainerId id = world.run(world.sandbox("stuck"), "stuck", "app");
  world.run(world.sandbox("well"), "well", "app");
  REQUIRE(world.look("stuck").ok());
  world.runtime.hang(Method::kContainerStatus, [](const cri::Call& call) { return call.uid == PodUid("stuck"); });
  Scope scope(world.loop);
  Seen stuck = absl::UnknownError("not yet");
  scope.spawn("stuck", keep(world.cache.inspect(PodUid("stuck")), &stuck));
  const Instant begin = world.loop.now();

  CHECK(world.look("well").ok());
  CHECK(world.loop.now() - begin < 100ms);
  world.loop.run_for(3s);

  CHECK(absl::IsDeadlineExceeded(stuck.status()));
  CHECK(world.cache.get(PodUid("stuck"))->find(id) != nullptr);
}

TEST_CASE("many hung pods leave places for a well one") {
  WatchedWorld world;
  world.runtime.hang(Method::kListSandboxes, [](const cri::Call& call) { return call.uid != PodUid("well"); });
  Scope scope(world.loop);
  std::vector<Seen> stuck(40, Seen(absl::UnknownError("not yet")));
  for (std::size_t i = 0; i < stuck.size(); ++i) {
    scope.spawn("stuck", keep(world.cache.inspect(PodUid(std::to_string(i))), &stuck[i]));
  }
  const Instant begin = world.loop.now();

  CHECK(world.look("well").ok());

  CHECK(world.loop.now() - begin <= 3s);
  CHECK(world.runtime.most_at_once(Method::kListSandboxes) <= 32);
  world.loop.run_for(10s);
  for (const auto& one : stuck) CHECK(absl::IsDeadlineExceeded(one.status()));
}

TEST_CASE("what goes between the list and its status call is gone, and the look succeeds") {
  WatchedWorld world;
  const SandboxId sandbox = world.sandbox("web");
  const ContainerId id = world.run(sandbox, "web", "app");
  const ContainerId other = world.run(sandbox, "web", "other");
  world.runtime.fail_next(Method::kContainerStatus, absl::NotFoundError("gone"));

  const auto seen = world.look("web");

  REQUIRE(seen.ok());
  REQUIRE((*seen)->containers.size() == 1);
  CHECK(((*seen)->find(id) != nullptr) != ((*seen)->find(other) != nullptr));
}

TEST_CASE("a pod that was torn down keeps its last addresses") {
  WatchedWorld world;
  const SandboxId sandbox = world.sandbox("web");
  const auto ips = world.runtime.peek(sandbox)->ips;
  REQUIRE(world.look("web").ok());

  world.runtime.world().stop_sandbox(sandbox);
  CHECK((*world.look("web"))->ips_kept == ips);
  world.runtime.world().remove_sandbox(sandbox);
  CHECK((*world.look("web"))->ips_kept == ips);

  const SandboxId next = world.sandbox("web", 1);
  CHECK((*world.look("web"))->ips_kept == world.runtime.peek(next)->ips);
}

TEST_CASE("an exit that was told is believed at once") {
  struct Row {
    int32_t code;
    bool oom;
    std::string reason;
  };
  for (const Row& row : {Row{0, false, "Completed"}, Row{2, false, "Error"}, Row{137, true, "OOMKilled"}}) {
    WatchedWorld world;
    const ContainerId id = world.run(world.sandbox("web"), "web", "app");
    REQUIRE(world.look("web").ok());
    const WallTime at = world.loop.clock().wall();

    CHECK(world.cache.believe_exit(id, row.code, at, row.oom) == PodUid("web"));

    const auto* seen = world.cache.get(PodUid("web"))->find(id);
    CHECK(seen->state == ContainerState::kExited);
    CHECK(seen->exit_code == row.code);
    CHECK(seen->finished_at == at);
    CHECK(seen->reason == row.reason);
    CHECK_FALSE(world.cache.believe_exit(ContainerId("unknown"), 0, at, false).has_value());
  }
}

TEST_CASE("a look that was answered before the exit does not undo it") {
  WatchedWorld world;
  const ContainerId id = world.run(world.sandbox("web"), "web", "app");
  REQUIRE(world.look("web").ok());
  Scope scope(world.loop);
  Seen seen = absl::UnknownError("not yet");
  cri::Fault late;
  late.kind = cri::Fault::Kind::kLateAnswer;
  late.method = Method::kContainerStatus;
  late.delay = 1s;
  world.runtime.faults().add(late);
  scope.spawn("look", keep(world.cache.inspect(PodUid("web")), &seen));
  world.loop.run_for(500ms);

  world.runtime.exit_container(id, 9);
  (void)world.cache.believe_exit(id, 9, world.loop.clock().wall(), false);
  world.loop.run_for(1s);

  REQUIRE(seen.ok());
  CHECK((*seen)->find(id)->state == ContainerState::kExited);
  CHECK((*seen)->find(id)->exit_code == 9);
  CHECK(world.cache.contradictions() == 0);
  CHECK(world.cache.unconfirmed() == std::vector<PodUid>{PodUid("web")});
  REQUIRE(world.look("web").ok());
  CHECK(world.cache.unconfirmed().empty());
}

TEST_CASE("where a status call says otherwise than the event did, it wins and that is counted") {
  WatchedWorld world;
  const ContainerId id = world.run(world.sandbox("web"), "web", "app");
  REQUIRE(world.look("web").ok());
  (void)world.cache.believe_exit(id, 1, world.loop.clock().wall(), false);

  world.runtime.exit_container(id, 2);

  CHECK((*world.look("web"))->find(id)->exit_code == 2);
  CHECK(world.cache.contradictions() == 1);
}

TEST_CASE("an end that the runtime goes on denying is taken back") {
  WatchedWorld world;
  const ContainerId id = world.run(world.sandbox("web"), "web", "app");
  REQUIRE(world.look("web").ok());
  (void)world.cache.believe_exit(id, 1, world.loop.clock().wall(), false);

  CHECK((*world.look("web"))->find(id)->state == ContainerState::kExited);
  world.loop.run_for(10s);
  CHECK((*world.look("web"))->find(id)->state == ContainerState::kRunning);
  CHECK(world.cache.contradictions() == 1);
}

TEST_CASE("a start that returned OK is believed, also by a look that was answered before") {
  WatchedWorld world;
  const SandboxId sandbox = world.sandbox("web");
  const ContainerId id = world.create(sandbox, "web", "app");
  REQUIRE(world.look("web").ok());
  Scope scope(world.loop);
  Seen seen = absl::UnknownError("not yet");
  cri::Fault late;
  late.kind = cri::Fault::Kind::kLateAnswer;
  late.method = Method::kContainerStatus;
  late.delay = 1s;
  world.runtime.faults().add(late);
  scope.spawn("look", keep(world.cache.inspect(PodUid("web")), &seen));
  world.loop.run_for(500ms);

  world.cache.believe_started(PodUid("web"), id);
  CHECK(world.cache.get(PodUid("web"))->find(id)->state == ContainerState::kRunning);
  world.loop.run_for(1s);

  REQUIRE(seen.ok());
  CHECK((*seen)->find(id)->state == ContainerState::kRunning);
}

TEST_CASE("a dropped pod is forgotten, with a look that is at work") {
  WatchedWorld world;
  const ContainerId id = world.run(world.sandbox("web"), "web", "app");
  REQUIRE(world.look("web").ok());
  CHECK(world.cache.owner_of(id.value) == PodUid("web"));
  Scope scope(world.loop);
  Seen seen = absl::UnknownError("not yet");
  scope.spawn("look", keep(world.cache.inspect(PodUid("web")), &seen));
  world.loop.run_for(4ms);

  world.cache.drop(PodUid("web"));
  world.loop.run_for(1s);

  CHECK(absl::IsNotFound(seen.status()));
  CHECK(world.cache.get(PodUid("web")) == nullptr);
  CHECK_FALSE(world.cache.owner_of(id.value).has_value());
  CHECK(world.cache.size() == 0);
}

TEST_CASE("the first look has every pod, but one that is stuck") {
  WatchedWorld world;
  for (const std::string uid : {"a", "b", "stuck", "c"}) world.run(world.sandbox(uid), uid, "app");
  world.runtime.hang(Method::kContainerStatus, [](const cri::Call& call) { return call.uid == PodUid("stuck"); });
  const Instant begin = world.loop.now();

  const auto all = run_and_get(world.loop, world.cache.look_at_all());

  REQUIRE(all.ok());
  std::vector<std::string> uids;
  for (const auto& pod : *all) uids.push_back(pod->uid.value);
  CHECK(uids == std::vector<std::string>{"a", "b", "c"});
  CHECK(world.loop.now() - begin < 3s);
}

TEST_CASE("the first look fails where the lists do") {
  WatchedWorld world;
  world.runtime.fail_next(Method::kListContainers, absl::UnavailableError("no"));

  CHECK(absl::IsUnavailable(run_and_get(world.loop, world.cache.look_at_all()).status()));
}

}  // namespace
}  // namespace podwright::pleg
