#include "agent/eviction/evictor.h"

#include "base/co/scope.h"
#include "base/co/sim_loop.h"
#include "tests/agent/eviction/eviction_world.h"

using namespace podwright;
using namespace podwright::eviction;
using namespace std::chrono_literals;

namespace {

// A node whose pods hold memory and disk until they end.
struct EvictionNode {
  SimLoop loop;
  events::EventRecorder events{loop, "node-1"};
  Steps steps{loop.clock()};
  Options options;
  std::map<std::string, Candidate> pods;
  std::vector<std::pair<std::string, pods::StopWish>> stops;
  std::vector<std::string> reclaims;
  int rounds_without_pressure = 0;
  pods::NodePressure pressure;
  int64_t memory = 1000 * kMi, disk = 10 * kGi, image_bytes = 0;
  // How long a stopped pod takes to go; it frees its memory then.
  Duration ending = 3s;
  std::unique_ptr<Evictor> evictor;
  Scope scope{loop};

  ~EvictionNode() { run_to_end(loop, scope.close()); }

  void add(const std::string& name, const std::string& resources, int32_t priority, Used used) {
    pods[name] = a_candidate(name, resources, priority, used);
  }

  Co<usage::SnapshotPtr> measure() {
    if (co_await sleep_until(loop, loop.now() + 5ms) == Wait::kCancelled) co_return nullptr;
    auto snapshot = std::make_shared<usage::Snapshot>();
    snapshot->at = loop.now();
    snapshot->node.memory_capacity_bytes = static_cast<uint64_t>(memory);
    snapshot->node.root.at_instant = loop.now();
    snapshot->node.root.memory.emplace();
    int64_t used_disk = image_bytes;
    for (const auto& [name, candidate] : pods) {
      if (!candidate.usage) continue;
      snapshot->pods.push_back(candidate.usage);
      snapshot->node.root.memory->working_set_bytes += *candidate.usage->working_set_bytes();
      used_disk += static_cast<int64_t>(disk_used(*candidate.usage, {}, false));
    }
    usage::FileSystem fs{.device = "d", .mountpoint = "/", .device_number = 1, .stat = {}};
    fs.stat = {.capacity_bytes = static_cast<uint64_t>(disk),
               .available_bytes = static_cast<uint64_t>(std::max<int64_t>(disk - used_disk, 0))};
    snapshot->node.root_fs = fs;
    snapshot->node.image_fs = fs;
    co_return snapshot;
  }

  bool stop(const PodUid& uid, pods::StopWish wish) {
    stops.emplace_back(uid.value, std::move(wish));
    loop.call_at(loop.now() + ending, [this, name = uid.value] { pods.erase(name); });
    return true;
  }

  Co<absl::Status> remove_images(std::function<Co<bool>()> enough) {
    reclaims.push_back("images");
    while (image_bytes > 0) {
      image_bytes = std::max<int64_t>(0, image_bytes - kGi);
      const bool done = co_await enough();
      if (done) break;
    }
    co_return absl::OkStatus();
  }
  Co<absl::Status> remove_containers() {
    reclaims.push_back("containers");
    co_return absl::OkStatus();
  }

  void start() {
    Surroundings around;
    around.measure = [this] { return measure(); };
    around.active = [this] {
      std::vector<podwright::pods::PodPtr> all;
      for (const auto& [name, candidate] : pods) {
        const bool ending =
            std::any_of(stops.begin(), stops.end(), [&](const auto& stop) { return stop.first == name; });
        if (!ending) all.push_back(candidate.pod);
      }
      return all;
    };
    around.stop = [this](const PodUid& uid, podwright::pods::StopWish wish) { return stop(uid, std::move(wish)); };
    around.is_gone = [this](const PodUid& uid) { return !pods.contains(uid.value); };
    around.pressure_over = [this] { ++rounds_without_pressure; };
    around.set_pressure = [this](podwright::pods::NodePressure now) { pressure = now; };
    around.remove_dead_containers = [this] { return remove_containers(); };
    around.remove_unused_images = [this](std::function<Co<bool>()> enough) { return remove_images(std::move(enough)); };
    evictor = std::make_unique<Evictor>(loop, events, steps, options, std::move(around));
    scope.spawn("evictor", evictor->run());
  }

  std::vector<std::string> stopped() const {
    std::vector<std::string> names;
    for (const auto& [name, wish] : stops) names.push_back(name);
    return names;
  }
  bool has_event(const std::string& reason) const {
    const auto list = events.list();
    return std::any_of(list.begin(), list.end(), [&](const auto& event) { return event->reason() == reason; });
  }
};

const std::vector<Threshold> kMemory100 = {{Signal::kMemory, bytes(100 * kMi), {}, {}}};

}  // namespace

TEST_CASE("a memory hog is evicted and not its neighbour, and the status says why") {
  EvictionNode node;
  node.options.thresholds = kMemory100;
  node.add("neighbour", "{requests: {memory: 200Mi}}", 0, {.memory = 150 * kMi});
  node.add("hog", "{}", 0, {.memory = 800 * kMi});
  node.start();

  node.loop.run_for(60s);

  REQUIRE(node.stopped() == std::vector<std::string>{"hog"});
  const pods::StopWish& wish = node.stops[0].second;
  CHECK(wish.reason == pods::StopReason::kEvicted);
  CHECK(wish.status_reason == "Evicted");
  CHECK(wish.status_message ==
        "The node was low on resource: memory. Threshold quantity: 100Mi, available: 50Mi. Container c was using "
        "800Mi, request is 0, has larger consumption of memory. ");
  CHECK(wish.grace == 1s);
  CHECK(node.has_event("EvictionThresholdMet"));
  CHECK(node.has_event("Evicted"));
  CHECK(node.pressure.memory);
  CHECK(node.evictor->evictions().at("memory.available") == 1);
  CHECK(node.reclaims.empty());
}

TEST_CASE("one pod is stopped at a time: the next only after its end was measured") {
  EvictionNode node;
  node.options.thresholds = kMemory100;
  node.ending = 20s;
  node.add("first", "{}", 0, {.memory = 500 * kMi});
  node.add("second", "{}", 1, {.memory = 450 * kMi});
  node.add("third", "{}", 2, {.memory = 10 * kMi});
  node.start();

  node.loop.run_for(15s);
  CHECK(node.stopped() == std::vector<std::string>{"first"});
  node.loop.run_for(60s);
  CHECK(node.stopped() == std::vector<std::string>{"first"});
}

TEST_CASE("disk pressure frees images before pods, and no more than it must") {
  EvictionNode node;
  node.options.thresholds = {{Signal::kImageFs, percent(10), {}, bytes(1 * kGi)}};
  node.image_bytes = 3 * kGi;
  node.add("writer", "{}", 0, {.volume = 6500 * kMi});
  node.start();

  node.loop.run_for(120s);

  CHECK(node.stopped().empty());
  CHECK(node.reclaims == std::vector<std::string>{"containers", "images"});
  CHECK(node.image_bytes == 1 * kGi);
  CHECK(node.pressure.disk);
  CHECK(node.rounds_without_pressure == 0);
  node.loop.run_for(300s);
  CHECK_FALSE(node.pressure.disk);
  CHECK(node.rounds_without_pressure > 0);
}

TEST_CASE("a pod is stopped where freeing what nothing uses was not enough") {
  EvictionNode node;
  node.options.thresholds = {{Signal::kNodeFs, percent(10), {}, {}}};
  node.image_bytes = kGi / 2;
  node.add("writer", "{}", 0, {.volume = 9500 * kMi});
  node.start();

  node.loop.run_for(30s);

  CHECK(node.stopped() == std::vector<std::string>{"writer"});
  CHECK(node.image_bytes == 0);
}

TEST_CASE("critical pods and, unless told otherwise, static pods are let be") {
  EvictionNode node;
  node.options.thresholds = kMemory100;
  node.add("critical", "{}", 2'000'000'000, {.memory = 900 * kMi});
  auto pod = std::make_shared<core::Pod>(*a_named_pod("static", "{}"));
  (*pod->mutable_metadata()->mutable_annotations())[pods::kConfigSourceAnnotation] = "file";
  node.pods["static"] = {pod, uses(pod, {.memory = 50 * kMi})};
  SUBCASE("by default") {
    node.start();
    node.loop.run_for(60s);
    CHECK(node.stopped().empty());
  }
  SUBCASE("with evictStaticPods") {
    node.options.evict_static_pods = true;
    node.start();
    node.loop.run_for(60s);
    CHECK(node.stopped() == std::vector<std::string>{"static"});
  }
}

TEST_CASE("a soft eviction gives the pod its own grace, up to the configured most") {
  EvictionNode node;
  node.options.thresholds = {{Signal::kMemory, bytes(100 * kMi), 30s, {}}};
  node.options.max_pod_grace = 20s;
  node.add("hog", "{}", 0, {.memory = 950 * kMi});
  node.start();

  node.loop.run_for(25s);
  CHECK(node.stopped().empty());
  CHECK(node.pressure.memory);
  node.loop.run_for(20s);
  REQUIRE(node.stopped() == std::vector<std::string>{"hog"});
  CHECK(node.stops[0].second.grace == 20s);
}

TEST_CASE("a pod over its own limit of local storage is stopped without any pressure") {
  EvictionNode node;
  const std::string limited = "{limits: {ephemeral-storage: 10Mi}}";
  node.add("over", limited, 0, {.logs = 11 * kMi});
  node.add("within", limited, 0, {.logs = 9 * kMi});
  SUBCASE("where it is enforced") {
    node.start();
    node.loop.run_for(30s);
    REQUIRE(node.stopped() == std::vector<std::string>{"over"});
    CHECK(node.stops[0].second.reason == pods::StopReason::kOverLimit);
    CHECK(node.pressure == pods::NodePressure{});
    CHECK(node.evictor->evictions().at("ephemeralpodfs.limit") == 1);
  }
  SUBCASE("where it is not") {
    node.options.local_storage = false;
    node.start();
    node.loop.run_for(30s);
    CHECK(node.stopped().empty());
  }
}
