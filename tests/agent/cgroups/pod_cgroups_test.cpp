#include "agent/cgroups/pod_cgroups.h"

#include <doctest/doctest.h>

#include "base/co/offload.h"
#include "base/co/sim_loop.h"
#include "base/files/memory_cgroups.h"
#include "base/limits.h"

using namespace podwright;
using namespace podwright::cgroups;

namespace {

class MemorySignals final : public Signals {
 public:
  explicit MemorySignals(MemoryCgroups& cgroups) : cgroups_(cgroups) {}
  absl::Status kill_if(pid_t pid, const std::function<bool()>& still_meant) override {
    if (still_meant()) (void)cgroups_.kill(pid);
    return absl::OkStatus();
  }

 private:
  MemoryCgroups& cgroups_;
};

std::shared_ptr<const core::Pod> a_pod(const std::string& uid, const std::string& request_cpu,
                                       const std::string& limit_memory) {
  auto pod = std::make_shared<core::Pod>();
  pod->mutable_metadata()->set_uid(uid);
  auto* container = pod->mutable_spec()->add_containers();
  container->set_name("app");
  if (!request_cpu.empty()) (*container->mutable_resources()->mutable_requests())["cpu"].set_string(request_cpu);
  if (!limit_memory.empty()) (*container->mutable_resources()->mutable_limits())["memory"].set_string(limit_memory);
  return pod;
}

struct World {
  explicit World(MemoryCgroups::Version version, Options options = {})
      : tree(loop), files(MemoryCgroups::mount(tree, version)), signals(*files), offload(loop) {
    restart(std::move(options));
  }

  void restart(Options options = {}) {
    auto hierarchy = Hierarchy::detect(tree);
    REQUIRE(hierarchy.ok());
    cgroups = std::make_unique<PodCgroups>(loop, offload, tree, signals, *hierarchy, std::move(options));
    REQUIRE(run_and_get(loop, cgroups->start()).ok());
  }

  std::string value(const std::string& controller, const std::string& path, const std::string& file) {
    const auto text = tree.read(join_path(cgroups->hierarchy().directory(controller, path), file), 1000);
    return text.ok() ? text->substr(0, text->find('\n')) : std::string(text.status().message());
  }

  SimLoop loop;
  MemoryTree tree;
  std::shared_ptr<MemoryCgroups> files;
  MemorySignals signals;
  SimOffload offload;
  std::unique_ptr<PodCgroups> cgroups;
};

}  // namespace

TEST_CASE("a pod's cgroup stands in its class with what the spec asks for, version 1") {
  World world(MemoryCgroups::Version::kV1);
  const auto pod = a_pod("12-34", "100m", "64Mi");

  REQUIRE(run_and_get(world.loop, world.cgroups->ensure(pod)).ok());

  const std::string path = "/kubepods/burstable/pod12-34";
  CHECK(world.cgroups->cri_parent(*pod) == path);
  CHECK(world.value("cpu", path, "cpu.shares") == "102");
  CHECK(world.value("cpu", path, "cpu.cfs_quota_us") == "-1");
  CHECK(world.value("memory", path, "memory.limit_in_bytes") == "67108864");
  CHECK(world.value("pids", path, "pids.max") == "max");
  CHECK(world.value("cpuset", path, "cpuset.cpus") == "0-1");
  CHECK(world.value("cpuset", path, "cpuset.mems") == "0");
  CHECK(world.value("cpu", "/kubepods/burstable", "cpu.shares") == "102");
  CHECK(world.value("cpu", "/kubepods/besteffort", "cpu.shares") == "2");
  CHECK(world.tree.info("/sys/fs/cgroup/systemd/kubepods/burstable/pod12-34").ok());
  CHECK_FALSE(world.tree.info("/sys/fs/cgroup/devices/kubepods").ok());
  CHECK(world.cgroups->exists(PodUid("12-34")));
  CHECK(world.cgroups->list() == std::vector<PodUid>{PodUid("12-34")});
}

TEST_CASE("a pod's cgroup gets its controllers handed on from the root, version 2") {
  World world(MemoryCgroups::Version::kV2);
  const auto pod = a_pod("ab", "1", "64Mi");

  REQUIRE(run_and_get(world.loop, world.cgroups->ensure(pod)).ok());

  const std::string path = "/kubepods/burstable/podab";
  CHECK(world.value("cpu", path, "cpu.weight") == "39");
  CHECK(world.value("cpu", path, "cpu.max") == "max 100000");
  CHECK(world.value("memory", path, "memory.max") == "67108864");
  CHECK(world.value("", path, "cgroup.controllers") == "cpu cpuset io memory pids");
  CHECK(world.value("", path, "cgroup.subtree_control").empty());
}

TEST_CASE("the burstable class has the shares of its pods together") {
  for (const auto version : {MemoryCgroups::Version::kV1, MemoryCgroups::Version::kV2}) {
    World world(version);
    world.cgroups->adopt(*a_pod("running", "500m", ""));
    REQUIRE(run_and_get(world.loop, world.cgroups->ensure(a_pod("a", "500m", ""))).ok());
    const bool v1 = version == MemoryCgroups::Version::kV1;
    const std::string file = v1 ? "cpu.shares" : "cpu.weight";
    CHECK(world.value("cpu", "/kubepods/burstable", file) == (v1 ? "1024" : "39"));

    REQUIRE(run_and_get(world.loop, world.cgroups->remove(PodUid("a"))).ok());
    REQUIRE(run_and_get(world.loop, world.cgroups->ensure(a_pod("b", "1500m", ""))).ok());
    CHECK(world.value("cpu", "/kubepods/burstable", file) == (v1 ? "2048" : "79"));
  }
}

TEST_CASE("a pod of changed limits gets them, and an unchanged one costs no write") {
  World world(MemoryCgroups::Version::kV1);
  REQUIRE(run_and_get(world.loop, world.cgroups->ensure(a_pod("a", "100m", "64Mi"))).ok());
  world.tree.fail("/sys/fs/cgroup/memory/kubepods/burstable/poda/memory.limit_in_bytes", EIO);

  CHECK(run_and_get(world.loop, world.cgroups->ensure(a_pod("a", "100m", "64Mi"))).ok());
  CHECK_FALSE(run_and_get(world.loop, world.cgroups->ensure(a_pod("a", "100m", "32Mi"))).ok());
  world.tree.heal("/sys/fs/cgroup/memory/kubepods/burstable/poda/memory.limit_in_bytes");
  CHECK(run_and_get(world.loop, world.cgroups->ensure(a_pod("a", "100m", "32Mi"))).ok());
  CHECK(world.value("memory", "/kubepods/burstable/poda", "memory.limit_in_bytes") == "33554432");
  CHECK(run_and_get(world.loop, world.cgroups->ensure(a_pod("a", "100m", ""))).ok());
  CHECK(world.value("memory", "/kubepods/burstable/poda", "memory.limit_in_bytes") == "-1");
}

TEST_CASE("cgroups that exist already are adopted, and a second start changes nothing (K109)") {
  for (const auto version : {MemoryCgroups::Version::kV1, MemoryCgroups::Version::kV2}) {
    World world(version);
    REQUIRE(run_and_get(world.loop, world.cgroups->enforce({.milli_cpu = 2000, .memory_bytes = 1 << 30})).ok());
    REQUIRE(run_and_get(world.loop, world.cgroups->ensure(a_pod("a", "100m", ""))).ok());
    const std::string file = version == MemoryCgroups::Version::kV1 ? "memory.limit_in_bytes" : "memory.max";

    world.restart();

    CHECK(world.value("memory", "/kubepods", file) == "1073741824");
    CHECK(world.cgroups->list().size() == 1);
    CHECK(run_and_get(world.loop, world.cgroups->ensure(a_pod("a", "100m", ""))).ok());
    CHECK(run_and_get(world.loop, world.cgroups->remove(PodUid("a"))).ok());
    CHECK(world.cgroups->list().empty());
  }
}

TEST_CASE("what is left in a pod's cgroup is killed and the cgroup removed bottom-up (K107)") {
  for (const auto version : {MemoryCgroups::Version::kV1, MemoryCgroups::Version::kV2}) {
    World world(version);
    REQUIRE(run_and_get(world.loop, world.cgroups->ensure(a_pod("a", "", ""))).ok());
    REQUIRE(run_and_get(world.loop, world.cgroups->ensure(a_pod("b", "", ""))).ok());
    const std::string path = "/kubepods/besteffort/poda";
    for (const char* controller : {"memory", "cpu"}) {
      REQUIRE(world.tree.make_directories(world.cgroups->hierarchy().directory(controller, path + "/c/d"), 0755).ok());
    }
    world.files->put(101, path + "/c");
    world.files->put(102, path + "/c/d");
    world.files->put(103, "/kubepods/besteffort/podb");
    world.files->put(104, "/system");

    CHECK(run_and_get(world.loop, world.cgroups->remove(PodUid("a"))).ok());

    CHECK_FALSE(world.cgroups->exists(PodUid("a")));
    CHECK_FALSE(world.files->is_alive(101));
    CHECK_FALSE(world.files->is_alive(102));
    CHECK(world.files->is_alive(103));
    CHECK(world.files->is_alive(104));
    CHECK(world.cgroups->exists(PodUid("b")));
    CHECK(world.cgroups->leftovers().empty());
    CHECK(run_and_get(world.loop, world.cgroups->remove(PodUid("a"))).ok());
  }
}

TEST_CASE("a cgroup whose process the kernel holds is listed as left until it is gone, with few tries (K107)") {
  World world(MemoryCgroups::Version::kV1);
  REQUIRE(run_and_get(world.loop, world.cgroups->ensure(a_pod("a", "", ""))).ok());
  world.files->put(101, "/kubepods/besteffort/poda");
  world.files->hold(101);
  const uint64_t before = world.loop.steps();

  const absl::Status stuck = run_and_get(world.loop, world.cgroups->remove(PodUid("a")));

  CHECK(stuck.code() == absl::StatusCode::kFailedPrecondition);
  CHECK(stuck.message().find("1 processes do not end") != absl::string_view::npos);
  CHECK(world.loop.steps() - before < 400);
  REQUIRE(world.cgroups->leftovers().size() == 1);
  CHECK(world.cgroups->leftovers()[0].path == "/kubepods/besteffort/poda");
  CHECK(world.cgroups->list().size() == 1);

  world.files->release(101);
  CHECK(run_and_get(world.loop, world.cgroups->remove(PodUid("a"))).ok());
  CHECK(world.cgroups->leftovers().empty());
  CHECK(world.cgroups->list().empty());
}

TEST_CASE("cgroups of many short pods leave nothing behind (K107)") {
  World world(MemoryCgroups::Version::kV1);
  for (int i = 0; i < 120; ++i) {
    const std::string uid = fmt::format("p{}", i);
    REQUIRE(run_and_get(world.loop, world.cgroups->ensure(a_pod(uid, i % 2 == 0 ? "10m" : "", ""))).ok());
    if (i % 40 == 0) world.files->put(1000 + i, "/kubepods/burstable/pod" + uid);
    REQUIRE(run_and_get(world.loop, world.cgroups->remove(PodUid(uid))).ok());
  }

  CHECK(world.cgroups->list().empty());
  CHECK(world.cgroups->leftovers().empty());
  CHECK(world.tree.list("/sys/fs/cgroup/memory/kubepods/burstable")->size() ==
        world.tree.list("/sys/fs/cgroup/memory/kubepods/besteffort")->size());
}

TEST_CASE("a reserved cgroup is bounded where it exists and never made") {
  World world(MemoryCgroups::Version::kV1);
  for (const char* controller : {"cpu", "memory", "pids"}) {
    REQUIRE(world.tree.make_directories(world.cgroups->hierarchy().directory(controller, "/system"), 0755).ok());
  }
  const NodeAllocatable reserved{.milli_cpu = 500, .memory_bytes = 1 << 30, .pids = 200};

  CHECK(run_and_get(world.loop, world.cgroups->enforce_existing("/system", reserved)).ok());

  CHECK(world.value("cpu", "/system", "cpu.shares") == "512");
  CHECK(world.value("memory", "/system", "memory.limit_in_bytes") == "1073741824");
  CHECK(world.value("pids", "/system", "pids.max") == "200");
  CHECK(run_and_get(world.loop, world.cgroups->enforce_existing("/none", reserved)).code() ==
        absl::StatusCode::kNotFound);
  CHECK_FALSE(world.tree.info("/sys/fs/cgroup/cpu/none").ok());
  CHECK(run_and_get(world.loop, world.cgroups->enforce_existing("/", reserved)).code() == absl::StatusCode::kNotFound);
}

TEST_CASE("a cgroup root of one's own is where all is made") {
  Options options;
  options.cgroup_root = "/mine";
  World world(MemoryCgroups::Version::kV2, options);
  const auto pod = a_pod("a", "", "");

  REQUIRE(run_and_get(world.loop, world.cgroups->ensure(pod)).ok());

  CHECK(world.cgroups->cri_parent(*pod) == "/mine/kubepods/besteffort/poda");
  CHECK(world.tree.info("/sys/fs/cgroup/mine/kubepods/besteffort/poda").ok());
  CHECK_FALSE(world.tree.info("/sys/fs/cgroup/kubepods").ok());
}

TEST_CASE("without cgroups per QoS class nothing is made") {
  Options options;
  options.per_qos = false;
  World world(MemoryCgroups::Version::kV2, options);
  const auto pod = a_pod("a", "", "");

  CHECK(run_and_get(world.loop, world.cgroups->ensure(pod)).ok());
  CHECK(run_and_get(world.loop, world.cgroups->remove(PodUid("a"))).ok());

  CHECK(world.cgroups->cri_parent(*pod).empty());
  CHECK_FALSE(world.tree.info("/sys/fs/cgroup/kubepods").ok());
}

TEST_CASE("a machine without the memory controller is refused with its name") {
  SimLoop loop;
  MemoryTree tree(loop);
  const auto none = Hierarchy::detect(tree);
  CHECK(none.status().code() == absl::StatusCode::kFailedPrecondition);

  MemoryCgroups::mount(tree, MemoryCgroups::Version::kV1);
  REQUIRE(tree.unmount("/sys/fs/cgroup/memory", false).ok());
  const auto lacking = Hierarchy::detect(tree);
  CHECK(lacking.status().message().find("memory") != absl::string_view::npos);
}

TEST_CASE("a file of a cgroup longer than kCgroupFileBytes is an error, not a guess") {
  SimLoop loop;
  MemoryTree tree(loop);
  REQUIRE(tree.make_directories("/sys/fs/cgroup", 0755).ok());
  REQUIRE(tree.mount("cgroup2", "/sys/fs/cgroup", "cgroup2", 0, "").ok());
  const std::string text(limits::kCgroupFileBytes + 1, 'x');
  REQUIRE(tree.write("/sys/fs/cgroup/cgroup.controllers", text, 0444).ok());

  CHECK(Hierarchy::detect(tree).status().code() == absl::StatusCode::kResourceExhausted);
}

TEST_CASE("more cgroups below a pod's than kCgroupsBelowPod are removed in several rounds") {
  World world(MemoryCgroups::Version::kV1);
  const std::string path = "/kubepods/besteffort/poda";
  REQUIRE(run_and_get(world.loop, world.cgroups->ensure(a_pod("a", "", ""))).ok());
  const std::string top = "/sys/fs/cgroup/systemd" + path;
  const int half = static_cast<int>(limits::kCgroupsBelowPod) / 2;
  for (int i = 0; i <= half; ++i) {
    REQUIRE(world.tree.make_directories(fmt::format("{}/{}/in", top, i), 0755).ok());
  }

  CHECK(run_and_get(world.loop, world.cgroups->remove(PodUid("a"))).ok());

  CHECK_FALSE(world.cgroups->exists(PodUid("a")));
}

TEST_CASE("a process joins a cgroup that is made for it, in both versions") {
  for (const auto version : {MemoryCgroups::Version::kV1, MemoryCgroups::Version::kV2}) {
    World world(version);
    const Hierarchy& hierarchy = world.cgroups->hierarchy();
    REQUIRE(hierarchy.make(world.tree, "/other").ok());
    world.files->put(42, "/other");

    CHECK(hierarchy.join(world.tree, "/agent", 42).ok());

    CHECK(hierarchy.processes(world.tree, "/agent") == std::set<pid_t>{42});
  }
}

TEST_CASE("a driver that this machine lacks is refused, and the one in use stays") {
  World world(MemoryCgroups::Version::kV1);

  CHECK(absl::IsFailedPrecondition(world.cgroups->use(DriverKind::kSystemd)));
  CHECK(world.cgroups->driver() == DriverKind::kCgroupfs);
  CHECK(world.cgroups->use(DriverKind::kCgroupfs).ok());
}
