// Whatever happens to events and calls, the cache tells the truth at most one relist after the last change.
#include <doctest/doctest.h>

#include "tests/pleg/watched_world.h"

namespace podwright::pleg {
namespace {

using cri::ContainerState;
using cri::SandboxState;

const std::vector<std::string> kUids = {"a", "b", "c"};
const std::vector<std::string> kNames = {"app", "side"};

// One change in the world that no caller made; some are told to the cache, as the pod workers do.
void change_something(WatchedWorld& world, Rng& rng) {
  const std::string uid = kUids[rng.below(kUids.size())];
  cri::Filter of_pod;
  of_pod.labels[cri::kPodUidLabel] = uid;
  const auto sandboxes = world.runtime.world().list_sandboxes(of_pod);
  const auto containers = world.runtime.world().list(of_pod);
  const auto ready = std::find_if(sandboxes.begin(), sandboxes.end(),
                                  [](const auto& sandbox) { return sandbox.state == SandboxState::kReady; });
  if (ready == sandboxes.end()) {
    world.sandbox(uid, static_cast<uint32_t>(sandboxes.size()));
    return;
  }
  const auto* any = containers.empty() ? nullptr : &containers[rng.below(containers.size())];
  switch (rng.below(12)) {
    case 0:
    case 1:
    case 2: {
      const ContainerId id =
          world.run(ready->id, uid, kNames[rng.below(kNames.size())], static_cast<uint32_t>(containers.size()));
      if (rng.below(2) == 0) world.cache.believe_started(PodUid(uid), id);
      break;
    }
    case 3: world.create(ready->id, uid, kNames[rng.below(kNames.size())]); break;
    case 4:
      // Refused where its sandbox is dead.
      if (any != nullptr && any->state == ContainerState::kCreated) (void)world.runtime.world().start(any->id);
      break;
    case 5:
    case 6:
    case 7:
      if (any != nullptr) {
        world.runtime.exit_container(any->id, static_cast<int32_t>(rng.below(3)), rng.below(4) == 0);
      }
      break;
    case 8:
      if (any != nullptr) world.runtime.world().remove(any->id);
      break;
    case 9:
      if (any != nullptr) world.runtime.forget(any->id);
      break;
    case 10: world.runtime.kill_sandbox(ready->id); break;
    case 11: world.runtime.world().remove_sandbox(ready->id); break;
  }
}

// What a person would read, of the cache or of the world.
std::string text_of_pod(std::vector<cri::SandboxStatus> sandboxes, std::vector<cri::ContainerStatus> containers) {
  std::vector<std::string> lines;
  for (const auto& sandbox : sandboxes) {
    const bool is_ready = sandbox.state == SandboxState::kReady;
    const std::string ips = fmt::format("{}", fmt::join(sandbox.ips, ","));
    lines.push_back(fmt::format("sandbox {} {}", short_id(sandbox.id), is_ready ? "ready " + ips : "not ready"));
  }
  for (const auto& container : containers) {
    lines.push_back(fmt::format("container {} {} state {} code {} {}", container.name, short_id(container.id),
                                static_cast<int>(container.state), container.exit_code, container.reason));
  }
  std::sort(lines.begin(), lines.end());
  return fmt::format("{}", fmt::join(lines, "\n"));
}

std::string cached(const WatchedWorld& world, const std::string& uid) {
  const auto pod = world.cache.get(PodUid(uid));
  return pod ? text_of_pod(pod->sandboxes, pod->containers) : "";
}

std::string true_state(const WatchedWorld& world, const std::string& uid) {
  std::vector<cri::SandboxStatus> sandboxes;
  std::vector<cri::ContainerStatus> containers;
  for (const auto& sandbox : world.runtime.sandboxes()) {
    if (sandbox.uid == PodUid(uid)) sandboxes.push_back(*world.runtime.peek(sandbox.id));
  }
  for (const auto& container : world.runtime.containers()) {
    const auto owner = pod_of(container.labels);
    if (owner && owner->first == PodUid(uid)) containers.push_back(*world.runtime.peek(container.id));
  }
  return text_of_pod(std::move(sandboxes), std::move(containers));
}

struct Outcome {
  bool converged = true;
  std::string difference;
  uint64_t contradictions = 0;
};

Outcome disturb_and_settle(uint64_t seed, Pleg::Options options) {
  WatchedWorld world(seed, options);
  world.looks = true;
  world.run_pleg();
  SeededRng rng(seed * 7919 + 1);
  world.runtime.event_chances() = {0.3, 0.2, 0.3, 5s};
  world.runtime.faults().chances() = {0.05, 0.05, 0, 0.05, 0.05, 1s};

  for (int i = 0; i < 60; ++i) {
    change_something(world, rng);
    if (rng.below(40) == 0) world.runtime.down(Duration(rng.below(3'000'000'000)));
    world.loop.run_for(Duration(rng.below(1'500'000'000)));
  }
  world.runtime.faults().chances() = {};
  // One relist, and the time of the calls that are late already.
  world.loop.run_for(30s + 3s);

  Outcome outcome;
  for (const auto& uid : kUids) {
    const std::string is = cached(world, uid);
    const std::string should = true_state(world, uid);
    if (is == should) continue;
    outcome.converged = false;
    outcome.difference += fmt::format("pod {}\n-- cached --\n{}\n-- true --\n{}\n", uid, is, should);
  }
  outcome.contradictions = world.cache.contradictions();
  world.close();
  return outcome;
}

TEST_CASE("with lost, doubled and late events and failing calls the cache converges within one relist") {
  for (uint64_t seed = 1; seed <= 200; ++seed) {
    const Outcome outcome = disturb_and_settle(seed, {});
    CAPTURE(seed);
    CAPTURE(outcome.difference);
    CHECK(outcome.converged);
    CHECK(outcome.contradictions == 0);
    if (!outcome.converged) break;
  }
}

TEST_CASE("without relists lost events would stay lost") {
  Pleg::Options options;
  options.relist_period = 24h;
  int wrong = 0;
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    if (!disturb_and_settle(seed, options).converged) ++wrong;
  }
  CHECK(wrong >= 3);
}

}  // namespace
}  // namespace podwright::pleg
