#include "agent/usage/usage.h"

#include <nlohmann/json.hpp>

#include "agent/usage/metrics_pages.h"
#include "agent/usage/pages.h"
#include "agent/usage/summary.h"
#include "cri/fake/fake_runtime.h"
#include "tests/agent/sample_pods.h"
#include "tests/agent/usage/usage_world.h"

using namespace podwright;
using namespace podwright::usage;

namespace {

using Json = nlohmann::json;

// Works now and then hangs, for some pods.
class HangingOffload final : public Offload {
 public:
  explicit HangingOffload(Loop& loop) : loop_(loop) {}
  void run(Loop::Work work, Loop::Work done) override {
    if (hang_next > 0 && --hang_next == 0) {
      held_work = std::move(work);
      held_done = std::move(done);
      return;
    }
    work();
    loop_.post(std::move(done));
  }
  void release() {
    held_work();
    loop_.post(std::move(held_done));
  }

  // Which of the next works hangs, counted from 1; 0: none.
  int hang_next = 0;
  Loop::Work held_work, held_done;

 private:
  Loop& loop_;
};

struct Taker : UsageWorld {
  HangingOffload offload{loop};
  cri::FakeRuntime runtime{loop};
  Steps steps{loop.clock()};
  std::vector<PodTarget> targets;
  std::unique_ptr<Usage> usage;
  std::unique_ptr<Pages> pages;
  Scope scope{loop};

  Taker() {
    start_v2();
    machine();
    write("/sys/fs/cgroup/cpu.stat", "usage_usec 1000\n");
    write("/sys/fs/cgroup/memory.stat", "anon 5\ninactive_file 1024\n");
    NodeTarget node;
    node.name = "node-1";
    node.system = {{"pods", "/kubepods"}};
    node.qos = {"/kubepods"};
    usage = std::make_unique<Usage>(
        loop, offload, tree, runtime, runtime, steps, *hierarchy, node, [this] { return targets; }, Options());
    pages = std::make_unique<Pages>(*usage, tree);
  }
  ~Taker() {
    if (offload.held_work) offload.release();
    run_to_end(loop, scope.close());
    run_to_end(loop, usage->close());
  }

  void add_pod(const std::string& uid, uint64_t cpu_us, uint64_t memory) {
    const std::string path = "/kubepods/pod" + uid;
    cgroup_v2("/kubepods", 1, 1, 0);
    cgroup_v2(path, cpu_us, memory, 0);
    cgroup_v2(path + "/sb" + uid, 1, 1, 0, "7\n");
    cgroup_v2(path + "/c" + uid, cpu_us, memory, 0, "8\n");
    process(7, {});
    PodTarget target;
    target.pod = a_pod("{containers: [{name: app, image: i:1}], volumes: [{name: data, emptyDir: {}}]}");
    target.key = {"default", uid};
    target.uid = PodUid(uid);
    target.started_at = WallTime(1'700'000'100s);
    target.cgroup = path;
    target.sandbox_id = SandboxId("sb" + uid);
    target.containers = {{ContainerName("app"), ContainerId("c" + uid), "i:1", WallTime(1'700'000'200s)}};
    target.log_dir = "/var/log/pods/default_" + uid;
    target.volumes = {{.name = "data", .path = "/var/lib/kubelet/pods/" + uid + "/data", .local = true}};
    write(target.log_dir + "/app/0.log", std::string(10'000, 'l'));
    write(target.volumes[0].path + "/file", std::string(100'000, 'd'));
    targets.push_back(std::move(target));
  }

  SnapshotPtr take(Depth depth, Duration age = 0s) { return run_and_get(loop, usage->take(depth, age)); }
};

}  // namespace

TEST_CASE("a rate is told from the second sample on") {
  Taker world;
  world.add_pod("u1", 1'000'000, 5'000);

  const auto first = world.take(Depth::kResources);
  world.loop.run_for(10s);
  world.cgroup_v2("/kubepods/podu1/cu1", 6'000'000, 5'000, 0, "8\n");
  const auto second = world.take(Depth::kResources);

  REQUIRE(first->pods.size() == 1);
  CHECK_FALSE(first->pods[0]->containers[0].cgroup.cpu->nano_cores);
  const auto rate = second->pods[0]->containers[0].cgroup.cpu->nano_cores;
  REQUIRE(rate);
  CHECK(*rate > 480'000'000);  // 5 s of CPU in 10 s
  CHECK(*rate < 520'000'000);
}

TEST_CASE("a counter that went back has no rate") {
  Taker world;
  world.add_pod("u1", 5'000'000, 5'000);

  (void)world.take(Depth::kResources);
  world.loop.run_for(10s);
  world.cgroup_v2("/kubepods/podu1/cu1", 1, 5'000, 0, "8\n");
  const auto second = world.take(Depth::kResources);

  CHECK_FALSE(second->pods[0]->containers[0].cgroup.cpu->nano_cores);
}

TEST_CASE("a snapshot that is young and deep enough is shared, and an old one is not") {
  Taker world;
  world.add_pod("u1", 1, 5'000);

  const auto full = world.take(Depth::kFull);
  CHECK(world.take(Depth::kResources, 5s) == full);
  CHECK(world.take(Depth::kFull, 5s) == full);
  world.loop.run_for(6s);
  const auto light = world.take(Depth::kResources, 5s);
  CHECK(light != full);
  CHECK(world.take(Depth::kFull, 10s) == full);
}

TEST_CASE("a pod whose read hangs is left out alone until it comes back") {
  Taker world;
  world.add_pod("u1", 1, 5'000);
  world.add_pod("u2", 1, 6'000);
  world.offload.hang_next = 2;  // the node is first, then u1

  const auto first = world.take(Depth::kResources);
  REQUIRE(first->pods.size() == 1);
  CHECK(first->pods[0]->uid == PodUid("u2"));
  CHECK(first->missing == 1);

  // It is not asked again meanwhile, so nothing more hangs, and it is not waited for.
  world.loop.run_for(10s);
  const Instant begin = world.loop.now();
  CHECK(world.take(Depth::kResources)->pods.size() == 1);
  CHECK(world.loop.now() - begin < 1s);

  world.offload.release();
  world.offload.held_work = nullptr;
  world.loop.run_for(1s);
  CHECK(world.take(Depth::kResources)->pods.size() == 2);
}

TEST_CASE("once somebody scraped, ticks read all, so that the next scrape finds it ready") {
  Taker world;
  world.add_pod("u1", 1, 5'000);
  world.scope.spawn("usage", world.usage->run());
  world.loop.run_for(15s);
  CHECK(world.usage->last()->depth == Depth::kResources);

  (void)run_and_get(world.loop, world.pages->container_metrics());
  world.loop.run_for(30s);
  CHECK(world.usage->last()->depth == Depth::kFull);
  const auto before = world.usage->last();
  (void)run_and_get(world.loop, world.pages->container_metrics());
  CHECK(world.usage->last() == before);

  world.loop.run_for(180s);
  CHECK(world.usage->last()->depth == Depth::kResources);
}

TEST_CASE("logs and volumes are summed up and joined to the snapshots that follow") {
  Taker world;
  world.add_pod("u1", 1, 5'000);
  world.scope.spawn("usage", world.usage->run());

  world.loop.run_for(25s);
  const auto snapshot = world.take(Depth::kFull);

  const PodUsage& pod = *snapshot->pods.at(0);
  REQUIRE(pod.containers[0].logs);
  CHECK(pod.containers[0].logs->bytes >= 10'000);
  REQUIRE(pod.volumes.size() == 1);
  CHECK(pod.volumes[0].used.bytes >= 100'000);
  REQUIRE(pod.local_storage);
  CHECK(pod.local_storage->bytes >= 110'000);
}

TEST_CASE("the summary has the node, the pod and its container, and leaves out what is unknown") {
  Taker world;
  world.add_pod("u1", 2'000'000, 5'000);
  const auto snapshot = world.take(Depth::kFull);

  const Json all = Json::parse(summary_json(*snapshot, false));
  const Json light = Json::parse(summary_json(*snapshot, true));

  CHECK(all["node"]["nodeName"] == "node-1");
  CHECK(all["node"]["startTime"] == "2023-11-14T22:13:20Z");
  CHECK(all["node"]["memory"]["availableBytes"] == 400'000LL * 1'024 + 1'024);
  CHECK(all["node"]["swap"]["swapUsageBytes"] == 1'500 * 1'024);
  CHECK(all["node"]["fs"]["capacityBytes"] == 107'374'182'400);
  CHECK(all["node"]["rlimit"]["curproc"] == 345);
  CHECK(all["node"]["systemContainers"][0]["name"] == "pods");
  const Json& pod = all["pods"][0];
  CHECK(pod["podRef"] == Json({{"name", "u1"}, {"namespace", "default"}, {"uid", "u1"}}));
  CHECK(pod["network"]["name"] == "eth0");
  CHECK(pod["network"]["interfaces"][0]["rxBytes"] == 1'000);
  CHECK(pod["process_stats"]["process_count"] == 2);
  const Json& container = pod["containers"][0];
  CHECK(container["name"] == "app");
  CHECK(container["startTime"] == "2023-11-14T22:16:40Z");
  CHECK(container["cpu"]["usageCoreNanoSeconds"] == 2'000'000'000);
  CHECK_FALSE(container["cpu"].contains("usageNanoCores"));
  CHECK(container["cpu"]["psi"]["some"]["total"] == 123'456'000);
  CHECK(container["cpu"]["psi"]["some"]["avg10"] == 1.5);
  CHECK(container["memory"]["workingSetBytes"] == 5'000);
  CHECK_FALSE(container.contains("rootfs"));
  CHECK(light["pods"][0]["cpu"]["usageCoreNanoSeconds"] == 2'000'000'000);
  CHECK_FALSE(light["pods"][0].contains("network"));
  CHECK_FALSE(light["node"].contains("fs"));
}

TEST_CASE("resource metrics have upstream's names, labels and the time of reading") {
  Taker world;
  world.add_pod("u1", 2'000'000, 5'000);
  const auto snapshot = world.take(Depth::kResources);

  const std::string text = resource_metrics(*snapshot);

  const auto has = [&text](std::string_view line) { return text.find(line) != std::string::npos; };
  CHECK(has("# TYPE container_cpu_usage_seconds_total counter\n"));
  CHECK(has("\ncontainer_cpu_usage_seconds_total{container=\"app\",namespace=\"default\",pod=\"u1\"} 2 17"));
  CHECK(has("\npod_memory_working_set_bytes{namespace=\"default\",pod=\"u1\"} 5000 17"));
  CHECK(has("\ncontainer_start_time_seconds{container=\"app\",namespace=\"default\",pod=\"u1\"} 1700000200\n"));
  CHECK(has("\nnode_cpu_usage_seconds_total 0.001 17"));
  CHECK(has("\nnode_swap_usage_bytes 1536000 17"));
  CHECK(has("\nresource_scrape_error 0\n"));
  CHECK_FALSE(has("container_swap_limit_bytes{"));
}

TEST_CASE("container metrics name root, classes, pods, sandboxes and containers") {
  Taker world;
  world.add_pod("u1", 2'000'000, 5'000);
  const auto snapshot = world.take(Depth::kFull);

  const std::string text = container_metrics(*snapshot, read_machine(world.tree));

  const auto has = [&text](std::string_view line) { return text.find(line) != std::string::npos; };
  const std::string container =
      R"(container="app",id="/kubepods/podu1/cu1",image="i:1",name="cu1",namespace="default",pod="u1")";
  const std::string sandbox =
      R"(container="",id="/kubepods/podu1/sbu1",image="",name="sbu1",namespace="default",pod="u1")";
  const std::string root = R"(container="",id="/",image="",name="",namespace="",pod="")";
  CHECK(has("\ncontainer_cpu_usage_seconds_total{" + container + ",cpu=\"total\"} 2 "));
  CHECK(has("\ncontainer_memory_failures_total{" + container + ",failure_type=\"pgfault\",scope=\"hierarchy\"} 11 "));
  CHECK(has("\ncontainer_network_receive_bytes_total{" + sandbox + ",interface=\"eth0\"} 1000 "));
  CHECK_FALSE(has("container_network_receive_bytes_total{" + container));
  CHECK(has("\ncontainer_fs_writes_bytes_total{" + container + ",device=\"/dev/sda\"} 8192 "));
  CHECK(has("\ncontainer_fs_limit_bytes{" + root + ",device=\"/dev/disk\"} 107374182400 "));
  CHECK(has("\ncontainer_oom_events_total{" + container + "} 1 "));
  CHECK(has("\ncontainer_pressure_cpu_waiting_seconds_total{" + container + "} 0.123456 "));
  CHECK(has("\nmachine_memory_bytes{"));
  CHECK(has("\ncontainer_scrape_error 0\n"));
  // Every line but comments is a name, labels and a value.
  std::size_t families = 0;
  for (std::size_t at = text.find("# TYPE "); at != std::string::npos; at = text.find("# TYPE ", at + 1)) ++families;
  CHECK(families > 70);
}

TEST_CASE("a page is made once for each snapshot") {
  Taker world;
  world.add_pod("u1", 2'000'000, 5'000);

  const auto first = run_and_get(world.loop, world.pages->container_metrics());
  world.cgroup_v2("/kubepods/podu1/cu1", 9'000'000, 5'000, 0, "8\n");
  const auto again = run_and_get(world.loop, world.pages->container_metrics());
  world.loop.run_for(12s);
  const auto later = run_and_get(world.loop, world.pages->container_metrics());

  REQUIRE(first.ok());
  CHECK(*first == *again);
  CHECK(*first != *later);
  CHECK(run_and_get(world.loop, world.pages->summary(true)).ok());
  CHECK(run_and_get(world.loop, world.pages->resource_metrics()).ok());
}
