#include "agent/containers/collector.h"

#include <doctest/doctest.h>

namespace podwright::containers {
namespace {

using cri::ContainerState;
using cri::SandboxState;

struct Leftovers {
  void container(const std::string& uid, const std::string& name, const std::string& id, ContainerState state,
                 const std::string& sandbox = "s0") {
    cri::ContainerStatus status;
    status.id = ContainerId(id);
    status.name = ContainerName(name);
    status.state = state;
    status.sandbox = SandboxId(sandbox);
    status.created_at = WallTime(std::chrono::seconds(++age));
    if (!uid.empty()) status.labels[cri::kPodUidLabel] = uid;
    containers.push_back(status);
  }
  void sandbox(const std::string& uid, const std::string& id, SandboxState state) {
    cri::SandboxStatus status;
    status.id = SandboxId(id);
    status.uid = PodUid(uid);
    status.state = state;
    status.created_at = WallTime(std::chrono::seconds(++age));
    sandboxes.push_back(status);
  }
  // The IDs of what is removed, containers before sandboxes.
  std::string removed() {
    const CollectorPlan plan = plan_collection(sandboxes, containers, facts, options);
    std::string text;
    for (const auto& id : plan.containers) text += (text.empty() ? "" : " ") + id.value;
    for (const auto& id : plan.sandboxes) text += (text.empty() ? "" : " ") + id.value;
    return text;
  }

  std::vector<cri::SandboxStatus> sandboxes;
  std::vector<cri::ContainerStatus> containers;
  CollectorFacts facts{{PodUid("u1")}, true};
  CollectorOptions options;
  int age = 0;
};

TEST_CASE("of a known pod the newest dead container of each name is kept") {
  Leftovers world;
  world.sandbox("u1", "s0", SandboxState::kReady);
  world.container("u1", "a", "a0", ContainerState::kExited);
  world.container("u1", "a", "a1", ContainerState::kExited);
  world.container("u1", "a", "a2", ContainerState::kRunning);
  world.container("u1", "b", "b0", ContainerState::kExited);
  CHECK(world.removed() == "a0");
  world.options.kept_per_container = 0;
  CHECK(world.removed() == "a1 a0 b0");
}

TEST_CASE("a container that was only created goes once a newer one is there, and never while it is the newest") {
  Leftovers world;
  world.sandbox("u1", "s0", SandboxState::kReady);
  world.container("u1", "a", "a0", ContainerState::kCreated);
  world.options.kept_per_container = 0;
  CHECK(world.removed() == "");
  world.container("u1", "a", "a1", ContainerState::kExited);
  CHECK(world.removed() == "a1 a0");
}

TEST_CASE("of a pod that is gone nothing is kept, once every source has spoken") {
  Leftovers world;
  world.sandbox("gone", "s0", SandboxState::kNotReady);
  world.container("gone", "a", "a0", ContainerState::kExited);
  world.facts.sources_ready = false;
  CHECK(world.removed() == "");
  world.facts.sources_ready = true;
  CHECK(world.removed() == "a0 s0");
}

TEST_CASE("what carries no pod's label is nobody's business") {
  Leftovers world;
  world.container("", "a", "a0", ContainerState::kExited);
  world.container("", "a", "a1", ContainerState::kExited);
  CHECK(world.removed() == "");
}

TEST_CASE("sandboxes: the ready, the used and the newest stay") {
  Leftovers world;
  world.sandbox("u1", "s0", SandboxState::kNotReady);
  world.sandbox("u1", "s1", SandboxState::kNotReady);
  world.sandbox("u1", "s2", SandboxState::kNotReady);
  world.container("u1", "a", "a0", ContainerState::kExited, "s1");
  CHECK(world.removed() == "s0");
  world.sandbox("u1", "s3", SandboxState::kReady);
  CHECK(world.removed() == "s2 s0");
}

}  // namespace
}  // namespace podwright::containers
