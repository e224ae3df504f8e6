#include "agent/eviction/rank.h"

#include "agent/eviction/local_storage.h"
#include "tests/agent/eviction/eviction_world.h"

using namespace podwright;
using namespace podwright::eviction;

namespace {

usage::NodeUsage node_with(bool image_fs) {
  usage::NodeUsage node;
  node.root_fs = usage::FileSystem{.device = "a", .mountpoint = "/", .device_number = 1, .stat = {}};
  node.image_fs = usage::FileSystem{.device = "b", .mountpoint = "/i", .device_number = image_fs ? 2u : 1u, .stat = {}};
  node.container_fs = node.image_fs;
  return node;
}

}  // namespace

TEST_CASE("memory: above request first, then priority, then how much above") {
  const auto ranked =
      rank({a_candidate("guaranteed", "{limits: {cpu: 1, memory: 1Gi}, requests: {cpu: 1, memory: 1Gi}}", 0,
                        {.memory = 900 * kMi}),
            a_candidate("burstable-10-over", "{requests: {memory: 100Mi}}", 1000, {.memory = 110 * kMi}),
            a_candidate("best-effort-1", "{}", 0, {.memory = 1 * kMi}),
            a_candidate("burstable-500-over", "{requests: {memory: 100Mi}}", 0, {.memory = 600 * kMi})},
           Signal::kMemory, node_with(false));

  CHECK(names_of(ranked) ==
        std::vector<std::string>{"burstable-500-over", "best-effort-1", "burstable-10-over", "guaranteed"});
}

TEST_CASE("pods of unknown use come first") {
  Candidate unknown{a_named_pod("unknown", "{requests: {memory: 1Gi}}", 5000), nullptr};

  const auto ranked =
      rank({a_candidate("known", "{}", 0, {.memory = 500 * kMi}), unknown}, Signal::kMemory, node_with(false));

  CHECK(names_of(ranked) == std::vector<std::string>{"unknown", "known"});
}

TEST_CASE("processes: priority first, then how many") {
  const auto ranked =
      rank({a_candidate("few", "{}", 0, {.processes = 2}), a_candidate("many", "{}", 0, {.processes = 900}),
            a_candidate("high", "{}", 10, {.processes = 5'000})},
           Signal::kPids, node_with(false));

  CHECK(names_of(ranked) == std::vector<std::string>{"many", "few", "high"});
}

TEST_CASE("disk: layers count where they are, so a big layer is no reason on another file system") {
  const auto candidates = [] {
    return std::vector{a_candidate("layer", "{}", 0, {.layer = 900 * kMi}),
                       a_candidate("volume", "{}", 0, {.volume = 500 * kMi}),
                       a_candidate("within", "{requests: {ephemeral-storage: 2Gi}}", 0, {.layer = 1 * kGi})};
  };

  CHECK(names_of(rank(candidates(), Signal::kNodeFs, node_with(false))) ==
        std::vector<std::string>{"layer", "volume", "within"});
  CHECK(names_of(rank(candidates(), Signal::kNodeFs, node_with(true))).front() == "volume");
  CHECK(names_of(rank(candidates(), Signal::kImageFs, node_with(true))).front() == "layer");
}

TEST_CASE("the message names the threshold, what is left, and containers above their request") {
  const Candidate victim = a_candidate("web", "{requests: {memory: 100Mi}}", 0, {.memory = 300 * kMi});
  const Threshold threshold{Signal::kMemory, bytes(100 * kMi), {}, {}};

  CHECK(eviction_message(victim, threshold, {50 * kMi, 1000 * kMi, {}}) ==
        "The node was low on resource: memory. Threshold quantity: 100Mi, available: 50Mi. Container c was using "
        "300Mi, request is 100Mi, has larger consumption of memory. ");
  CHECK(eviction_message({victim.pod, nullptr}, threshold, {50 * kMi, 1000 * kMi, {}}) ==
        "The node was low on resource: memory. Threshold quantity: 100Mi, available: 50Mi. ");
}

TEST_CASE("only what was said of the node's pressure is told from what a pod did itself") {
  const Candidate victim = a_candidate("web", "{}", 0, {.memory = 300 * kMi});
  const Threshold threshold{Signal::kMemory, bytes(100 * kMi), {}, {}};

  CHECK(tells_of_pressure(eviction_message(victim, threshold, {50 * kMi, 1000 * kMi, {}})));
  CHECK(tells_of_pressure("Pod was rejected: The node had condition: [MemoryPressure]. "));
  CHECK_FALSE(tells_of_pressure("Usage of EmptyDir volume \"data\" exceeds the limit \"16Mi\". "));
}

TEST_CASE("a pod over a limit of local storage is told with the limit") {
  const auto message = [](const Candidate& candidate, bool image_fs) {
    const auto over = over_local_storage(candidate, node_with(image_fs));
    return over ? over->message : std::string();
  };
  const std::string limited = "{limits: {ephemeral-storage: 1Gi}}";
  const pods::PodPtr with_volume = a_named_pod("v", "{}", 0, ", volumes: [{name: data, emptyDir: {sizeLimit: 16Mi}}]");

  CHECK(message({with_volume, uses(with_volume, {.volume = 16 * kMi})}, false).empty());
  CHECK(message({with_volume, uses(with_volume, {.volume = 16 * kMi + 1})}, false) ==
        "Usage of EmptyDir volume \"data\" exceeds the limit \"16Mi\". ");
  CHECK(message(a_candidate("p", limited, 0, {.logs = 1 * kGi}), false).empty());
  CHECK(message(a_candidate("p", limited, 0, {.logs = 1 * kGi, .volume = 1}), false) ==
        "Pod ephemeral local storage usage exceeds the total limit of containers 1Gi. ");
  // On a file system of its own a layer takes nothing from the node's.
  CHECK_FALSE(message(a_candidate("p", limited, 0, {.layer = 2 * kGi}), false).empty());
  CHECK(message(a_candidate("p", limited, 0, {.layer = 2 * kGi}), true).empty());
  CHECK(message({a_named_pod("p", limited), nullptr}, false).empty());
}

TEST_CASE("a container over its own limit is named though the pod is within the sum") {
  auto pod = std::make_shared<core::Pod>(*a_named_pod("two", "{limits: {ephemeral-storage: 1Gi}}"));
  *pod->mutable_spec()->add_containers() = pod->spec().containers(0);
  pod->mutable_spec()->mutable_containers(1)->set_name("other");

  const auto over = over_local_storage({pod, uses(pod, {.logs = 1500 * kMi})}, node_with(false));

  REQUIRE(over);
  CHECK(over->message == "Container c exceeded its local ephemeral storage limit \"1Gi\". ");
  CHECK(over->signal == "ephemeralcontainerfs.limit");
}
