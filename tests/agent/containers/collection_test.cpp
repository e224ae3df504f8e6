// The collector at work on a runtime and a disk.
#include <doctest/doctest.h>

#include <cerrno>

#include "agent/containers/collector.h"
#include "agent/objects/manifest_objects.h"
#include "base/co/scope.h"
#include "base/co/sim_loop.h"
#include "base/files/memory_tree.h"
#include "base/process/scripted_processes.h"
#include "cri/fake/fake_runtime.h"
#include "cri/fake/samples.h"
#include "tests/agent/sample_pods.h"

namespace podwright::containers {
namespace {

using namespace std::chrono_literals;
using cri::Method;

struct CollectionWorld {
  CollectionWorld()
      : volumes(loop, offload, tree, processes, objects, steps, {}),
        collector(loop, offload, tree, runtime, volumes, events, steps, node, {}, [this] { return facts; }),
        scope(loop) {
    facts.sources_ready = true;
  }
  // A sandbox of the pod with one container that has ended; both are as left behind.
  void left_behind(const std::string& uid) { run_to_end(loop, leave(this, uid)); }
  static Co<void> leave(CollectionWorld* self, std::string uid) {
    const cri::SandboxConfig sandbox = cri::a_sandbox(uid);
    cri::ContainerConfig config = cri::a_container(sandbox, "c");
    self->runtime.add_image(config.image);
    const Instant soon = self->loop.now() + 10s;
    const auto id = co_await self->runtime.run_sandbox(sandbox, soon);
    REQUIRE(id.ok());
    const auto container = co_await self->runtime.create_container(*id, config, sandbox, soon);
    REQUIRE(container.ok());
    CHECK((co_await self->runtime.start_container(*container, soon)).ok());
    self->runtime.exit_container(*container, 0);
    self->runtime.kill_sandbox(*id);
    self->last_container = *container;
    self->last_sandbox = *id;
  }
  absl::Status collect() { return run_and_get(loop, collector.collect()); }
  void make_file(const std::string& path) {
    REQUIRE(tree.make_directories(parent_path(path), 0755).ok());
    REQUIRE(tree.write(path, "x", 0644).ok());
  }
  bool exists(const std::string& path) { return tree.info(path).ok(); }

  SimLoop loop;
  MemoryTree tree{loop};
  SimOffload offload{loop};
  ScriptedProcesses processes{loop, [](const ProcessRequest&) { return ScriptedRun{}; }};
  objects::ManifestObjects objects{loop};
  cri::FakeRuntime runtime{loop};
  events::EventRecorder events{loop, "n1"};
  Steps steps{loop.clock()};
  NodeFacts node;
  volumes::PodVolumes volumes;
  CollectorFacts facts;
  Collector collector;
  Scope scope;
  ContainerId last_container;
  SandboxId last_sandbox;
};

TEST_CASE("containers and sandboxes of pods that are gone are removed, stopped first") {
  CollectionWorld world;
  for (int i = 0; i < 20; ++i) world.left_behind("u" + std::to_string(i));
  REQUIRE(world.collect().ok());
  CHECK(world.runtime.containers().empty());
  CHECK(world.runtime.sandboxes().empty());
  CHECK(world.runtime.calls(Method::kStopSandbox) == 20);
  CHECK(world.runtime.most_at_once(Method::kRemoveContainer) > 1);
  CHECK(world.runtime.most_at_once(Method::kRemoveContainer) <= 16);
  CHECK(world.runtime.most_at_once(Method::kRemoveSandbox) <= 16);
}

TEST_CASE("a known pod keeps its newest of each, and before all sources have spoken everybody keeps all") {
  CollectionWorld world;
  world.left_behind("u1");
  world.facts.known = {PodUid("u1")};
  REQUIRE(world.collect().ok());
  CHECK(world.runtime.containers().size() == 1);
  CHECK(world.runtime.sandboxes().size() == 1);
  world.facts = {};
  world.make_file("/var/lib/kubelet/pods/u1/etc-hosts");
  world.make_file("/var/log/pods/ns_p_u1/c/0.log");
  REQUIRE(world.collect().ok());
  CHECK(world.runtime.containers().size() == 1);
  CHECK(world.exists("/var/lib/kubelet/pods/u1"));
  CHECK(world.exists("/var/log/pods/ns_p_u1"));
}

TEST_CASE("one container or sandbox that cannot be removed holds no other") {
  CollectionWorld world;
  for (int i = 0; i < 5; ++i) world.left_behind("u" + std::to_string(i));
  const std::string stuck = world.last_container.value;
  const std::string stuck_sandbox = world.last_sandbox.value;
  const auto is_stuck = [stuck, stuck_sandbox](const cri::Call& call) {
    return call.id == stuck || call.id == stuck_sandbox;
  };
  for (const Method method : {Method::kRemoveContainer, Method::kRemoveSandbox}) {
    world.runtime.faults().add({.kind = cri::Fault::Kind::kFail,
                                .method = method,
                                .matches = is_stuck,
                                .times = std::nullopt,
                                .status = absl::UnknownError("busy")});
  }
  CHECK(std::string(world.collect().message()).find("busy") != std::string::npos);
  REQUIRE(world.runtime.containers().size() == 1);
  CHECK(world.runtime.containers()[0].id.value == stuck);
  CHECK(world.runtime.sandboxes().size() == 1);
}

TEST_CASE("K63: one stuck directory does not stop the cleaning of others") {
  CollectionWorld world;
  const std::string pods = "/var/lib/kubelet/pods/";
  world.make_file(pods + "a/volumes/kubernetes.io~csi/pvc/data");
  world.make_file(pods + "b/volumes/kubernetes.io~empty-dir/v/data");
  world.make_file(pods + "c/etc-hosts");
  world.make_file(pods + "known/etc-hosts");
  world.facts.known = {PodUid("known")};
  const absl::Status stuck = world.collect();
  CHECK(std::string(stuck.message()).find("orphaned pod directory a") != std::string::npos);
  CHECK(world.exists(pods + "a/volumes/kubernetes.io~csi/pvc/data"));
  CHECK(!world.exists(pods + "b"));
  CHECK(!world.exists(pods + "c"));
  CHECK(world.exists(pods + "known/etc-hosts"));
}

TEST_CASE("a stuck directory is told once, not in every round") {
  CollectionWorld world;
  world.make_file("/var/lib/kubelet/pods/a/volumes/kubernetes.io~csi/pvc/data");
  world.scope.spawn("collector", world.collector.run());
  world.loop.run_for(10min);
  REQUIRE(world.events.list().size() == 1);
  CHECK(world.events.list()[0]->reason() == "ContainerGCFailed");
  CHECK(world.events.list()[0]->count() == 1);
  run_to_end(world.loop, world.scope.close());
}

TEST_CASE("logs of pods that are gone are removed, and links that lead nowhere") {
  CollectionWorld world;
  world.facts.known = {PodUid("u1")};
  world.make_file("/var/log/pods/ns_p_u1/c/0.log");
  world.make_file("/var/log/pods/ns_p_u2/c/0.log");
  world.make_file("/var/log/pods/not-a-pod/0.log");
  REQUIRE(world.tree.make_directories("/var/log/containers", 0755).ok());
  const auto link = [&world](const std::string& name, const std::string& target) {
    REQUIRE(world.tree.make_symlink(target, "/var/log/containers/" + name).ok());
  };
  link("p_ns_c-id1.log", "/var/log/pods/ns_p_u1/c/0.log");
  link("p_ns_c-id2.log", "/var/log/pods/ns_p_u2/c/0.log");
  world.make_file("/var/log/containers/theirs.log");
  REQUIRE(world.collect().ok());
  CHECK(world.exists("/var/log/pods/ns_p_u1/c/0.log"));
  CHECK(!world.exists("/var/log/pods/ns_p_u2"));
  CHECK(world.exists("/var/log/pods/not-a-pod/0.log"));
  CHECK(world.exists("/var/log/containers/p_ns_c-id1.log"));
  CHECK(!world.exists("/var/log/containers/p_ns_c-id2.log"));
  CHECK(world.exists("/var/log/containers/theirs.log"));
}

TEST_CASE("the link of a container that lives stays while its log is being rotated") {
  CollectionWorld world;
  run_to_end(world.loop, [](CollectionWorld* self) -> Co<void> {
    const cri::SandboxConfig sandbox = cri::a_sandbox("u1");
    cri::ContainerConfig config = cri::a_container(sandbox, "c");
    self->runtime.add_image(config.image);
    const Instant soon = self->loop.now() + 10s;
    const auto id = co_await self->runtime.run_sandbox(sandbox, soon);
    const auto container = co_await self->runtime.create_container(*id, config, sandbox, soon);
    CHECK((co_await self->runtime.start_container(*container, soon)).ok());
    self->last_container = *container;
  }(&world));
  world.facts.known = {PodUid("u1")};
  REQUIRE(world.tree.make_directories("/var/log/containers", 0755).ok());
  const std::string link = "/var/log/containers/p_ns_c-" + world.last_container.value + ".log";
  REQUIRE(world.tree.make_symlink("/var/log/pods/none", link).ok());
  REQUIRE(world.collect().ok());
  CHECK(world.exists(link));
  world.runtime.exit_container(world.last_container, 0);
  REQUIRE(world.collect().ok());
  CHECK(!world.exists(link));
}

TEST_CASE("a pod that comes while the collection waits for the runtime keeps what is its own") {
  CollectionWorld world;
  world.left_behind("gone");
  world.make_file("/var/lib/kubelet/pods/fresh/etc-hosts");
  world.make_file("/var/log/pods/ns_p_fresh/c/0.log");
  world.runtime.delay(Method::kRemoveContainer, 30s);
  world.loop.call_at(world.loop.now() + 10s, [&world] { world.facts.known.insert(PodUid("fresh")); });
  REQUIRE(world.collect().ok());
  CHECK(world.exists("/var/lib/kubelet/pods/fresh/etc-hosts"));
  CHECK(world.exists("/var/log/pods/ns_p_fresh/c/0.log"));
}

TEST_CASE("a runtime that does not answer is told, and nothing is touched") {
  CollectionWorld world;
  world.make_file("/var/lib/kubelet/pods/a/etc-hosts");
  world.runtime.hang(Method::kListContainers);
  const Instant begin = world.loop.now();
  CHECK(!world.collect().ok());
  CHECK(world.loop.now() - begin <= 121s);
  CHECK(world.exists("/var/lib/kubelet/pods/a/etc-hosts"));
  world.runtime.faults().clear();
  world.runtime.release_hung();
}

}  // namespace
}  // namespace podwright::containers
