#include <unistd.h>

#include <cstdio>

#include "agent/usage/machine.h"
#include "agent/usage/pod_reader.h"
#include "base/co/real_loop.h"
#include "base/files/real_tree.h"
#include "tests/agent/usage/usage_world.h"

using namespace podwright;
using namespace podwright::usage;

TEST_CASE("a cgroup of version 2 tells cpu, memory, io, pressure, processes and OOM kills") {
  UsageWorld world;
  world.start_v2();
  world.process(42, {"/dev/null", "socket:[1]", "socket:[2]"});
  world.cgroup_v2("/kubepods/pod1", 2'000'000, 5'000, 1'200, "42\n");

  const auto found = read_cgroup(world.machinery(), "/kubepods/pod1", Role::kWorkload, Depth::kFull);

  REQUIRE(found);
  REQUIRE(found->cpu);
  CHECK(found->cpu->usage_ns == 2'000'000'000);
  CHECK(found->cpu->user_ns == 1'000'000'000);
  CHECK(found->cpu->throttled_periods == 7);
  CHECK(found->cpu->throttled_ns == 9'000'000);
  CHECK(found->cpu->quota_us == 50'000);
  CHECK(found->cpu->period_us == 100'000);
  CHECK(found->cpu->shares == 80);
  REQUIRE(found->cpu->pressure);
  CHECK(found->cpu->pressure->some.total_us == 123'456);
  REQUIRE(found->memory);
  CHECK(found->memory->working_set_bytes == 3'800);
  CHECK(found->memory->rss_bytes == 1'000);
  CHECK(found->memory->limit_bytes == 100'000'000);
  CHECK(found->memory->swap_bytes == 4'096);
  CHECK_FALSE(found->memory->swap_limit_bytes);
  CHECK(found->memory->oom_kills == 1);
  CHECK(found->memory->limit_hits == 3);
  REQUIRE(found->io.size() == 1);
  CHECK(found->io[0].write_bytes == 8'192);
  REQUIRE(found->processes);
  CHECK(found->processes->processes == 1);
  CHECK(found->processes->threads == 5);
  CHECK_FALSE(found->processes->threads_max);
  CHECK(found->processes->open_files == 3);
  CHECK(found->processes->sockets == 2);
  CHECK(found->processes->max_open_files == 1'024);
}

TEST_CASE("a cgroup of version 1 tells the same from its hierarchies") {
  UsageWorld world;
  world.start_v1();
  world.process(42, {"socket:[1]"});
  world.cgroup_v1("/kubepods/pod1", 2'000'000'000, 5'000, 1'200, "42\n");

  const auto found = read_cgroup(world.machinery(), "/kubepods/pod1", Role::kWorkload, Depth::kFull);

  REQUIRE(found);
  REQUIRE(found->cpu);
  CHECK(found->cpu->usage_ns == 2'000'000'000);
  CHECK(found->cpu->throttled_ns == 4'000);
  CHECK(found->cpu->shares == 102);
  CHECK_FALSE(found->cpu->quota_us);
  REQUIRE(found->memory);
  CHECK(found->memory->working_set_bytes == 3'800);
  CHECK(found->memory->cache_bytes == 3'000);
  CHECK_FALSE(found->memory->limit_bytes);
  CHECK(found->memory->swap_bytes == 4'096);
  CHECK(found->memory->own_page_faults == 4);
  CHECK(found->memory->page_faults == 11);
  CHECK(found->memory->oom_kills == 1);
  REQUIRE(found->io.size() == 1);
  CHECK(found->io[0].reads == 1);
  CHECK(found->io[0].read_bytes == 4'096);
  REQUIRE(found->processes);
  CHECK(found->processes->threads_max == 100);
  CHECK(found->processes->open_files == 1);
}

TEST_CASE("a cgroup that is not there is nothing, and files that are not there leave their numbers out") {
  UsageWorld world;
  world.start_v2();
  REQUIRE(world.tree.make_directories("/sys/fs/cgroup/bare", 0755).ok());

  CHECK_FALSE(read_cgroup(world.machinery(), "/none", Role::kWorkload, Depth::kFull));
  const auto bare = read_cgroup(world.machinery(), "/bare", Role::kWorkload, Depth::kFull);
  REQUIRE(bare);
  CHECK_FALSE(bare->cpu);
  CHECK_FALSE(bare->memory);
}

TEST_CASE("the root of version 2 has its memory from the machine") {
  UsageWorld world;
  world.start_v2();
  world.machine();
  world.write("/sys/fs/cgroup/cpu.stat", "usage_usec 10\n");
  world.write("/sys/fs/cgroup/memory.stat", "anon 5\ninactive_file 1024\n");

  const auto root = read_cgroup(world.machinery(), "/", Role::kWorkload, Depth::kResources);

  REQUIRE(root);
  REQUIRE(root->memory);
  CHECK(root->memory->usage_bytes == 600'000ULL * 1'024);
  CHECK(root->memory->working_set_bytes == 600'000ULL * 1'024 - 1'024);
}

TEST_CASE("a container's cgroup is found as each runtime names it, and never that of its monitor") {
  const auto find = [](std::vector<std::string> names) {
    std::vector<DirectoryEntry> entries;
    for (std::string& name : names) entries.push_back({std::move(name), FileType::kDirectory});
    return find_container_cgroup(entries, "abc123");
  };

  CHECK(find({"abc123"}) == "abc123");
  CHECK(find({"cri-containerd-abc123.scope"}) == "cri-containerd-abc123.scope");
  CHECK(find({"crio-conmon-abc123.scope", "crio-abc123.scope"}) == "crio-abc123.scope");
  CHECK(find({"xabc123", "abc1234"}).empty());
  CHECK(find_container_cgroup({{"x", FileType::kDirectory}}, "").empty());
}

TEST_CASE("a pod is read with its sandbox, its containers and its network") {
  UsageWorld world;
  world.start_v2();
  world.process(7, {});
  world.cgroup_v2("/kubepods/podu1", 10, 9'000, 0);
  world.cgroup_v2("/kubepods/podu1/sb", 1, 100, 0, "7\n");
  world.cgroup_v2("/kubepods/podu1/c1", 9, 8'000, 0, "8\n9\n");
  PodTarget target;
  target.key = {"default", "web"};
  target.uid = PodUid("u1");
  target.cgroup = "/kubepods/podu1";
  target.sandbox_id = SandboxId("sb");
  target.containers = {{ContainerName("app"), ContainerId("c1"), "img", WallTime(1s)},
                       {ContainerName("gone"), ContainerId("c2"), "img", WallTime(1s)}};

  const auto pod = read_pod(world.machinery(), target, Depth::kFull);

  REQUIRE(pod);
  REQUIRE(pod->containers.size() == 1);
  CHECK(pod->containers[0].cgroup.memory->working_set_bytes == 8'000);
  CHECK(pod->containers[0].cgroup.started_at == WallTime(1s));
  CHECK(pod->working_set_bytes() == 9'000);
  CHECK(pod->processes() == 3);
  REQUIRE(pod->network.size() == 1);
  CHECK(pod->network[0].tx_bytes == 2'000);
}

TEST_CASE("a pod without a cgroup of its own is the sum of its containers") {
  UsageWorld world;
  world.start_v2();
  world.cgroup_v2("/c1", 5, 1'000, 0);
  world.cgroup_v2("/c2", 7, 2'000, 500);
  PodTarget target;
  target.cgroup = "/";
  target.own_cgroup = false;
  target.containers = {{ContainerName("a"), ContainerId("c1"), "", {}},
                       {ContainerName("b"), ContainerId("c2"), "", {}}};

  const auto pod = read_pod(world.machinery(), target, Depth::kResources);

  REQUIRE(pod);
  CHECK_FALSE(pod->cgroup);
  CHECK(pod->cpu_usage_ns() == 12'000);
  CHECK(pod->working_set_bytes() == 2'500);
}

TEST_CASE("the node is read with file systems, processes, boot time and swap") {
  UsageWorld world;
  world.start_v2();
  world.machine();
  world.write("/proc/self/cgroup", "0::/system.slice/podwright.service\n");
  world.cgroup_v2("/system.slice/podwright.service", 3, 50, 0);
  world.tree.set_fs_stat("/var/lib/kubelet", {.capacity_bytes = 1'000, .available_bytes = 300, .free_bytes = 400});
  NodeTarget target;
  target.name = "node-1";
  target.system = {{"kubelet", ""}, {"runtime", "/none"}};

  const NodeUsage node = read_node(world.machinery(), target, {}, Depth::kFull);

  CHECK(node.booted_at == WallTime(1'700'000'000s));
  CHECK(node.pids == 345);
  CHECK(node.max_pids == 95'000);
  CHECK(node.memory_capacity_bytes == 1'000'000ULL * 1'024);
  REQUIRE(node.system.size() == 1);
  CHECK(node.system[0].cgroup.memory->usage_bytes == 50);
  REQUIRE(node.root_fs);
  CHECK(node.root_fs->stat.available_bytes == 300);
  CHECK(node.root_fs->device == "/dev/disk");
  REQUIRE(node.file_systems.size() == 1);
  REQUIRE(node.disks.size() == 1);
  CHECK(node.disks[0].sectors_read == 80);
  CHECK_FALSE(node.has_image_fs());
}

TEST_CASE("the machine is read with its cores, caches and NUMA nodes") {
  UsageWorld world;
  world.machine();
  world.write("/etc/os-release", "NAME=\"Debian\"\nPRETTY_NAME=\"Debian GNU/Linux 12\"\n");
  world.write("/sys/devices/system/node/node0/cpulist", "0-1\n");
  world.write("/sys/devices/system/node/node0/distance", "10\n");
  world.write("/sys/devices/system/node/node0/meminfo", "Node 0 MemTotal:   2048 kB\nNode 0 MemFree: 1 kB\n");
  world.write("/sys/devices/system/node/node0/hugepages/hugepages-2048kB/nr_hugepages", "3\n");
  for (int cpu : {0, 1}) {
    const std::string at = fmt::format("/sys/devices/system/cpu/cpu{}", cpu);
    world.write(at + "/topology/core_id", "0\n");
    world.write(at + "/topology/physical_package_id", "0\n");
    world.write(at + "/topology/thread_siblings_list", "0-1\n");
    world.write(at + "/cache/index0/size", "48K\n");
    world.write(at + "/cache/index0/type", "Data\n");
    world.write(at + "/cache/index0/level", "1\n");
    world.write(at + "/cache/index0/shared_cpu_list", "0-1\n");
  }

  const Machine machine = read_machine(world.tree);

  CHECK(machine.os_version == "Debian GNU/Linux 12");
  CHECK(machine.memory_bytes == 1'000'000ULL * 1'024);
  CHECK(machine.threads.size() == 2);
  CHECK(machine.cores() == 1);
  CHECK(machine.sockets() == 1);
  REQUIRE(machine.caches.size() == 1);
  CHECK(machine.caches[0].bytes == 48 << 10);
  REQUIRE(machine.nodes.size() == 1);
  CHECK(machine.nodes[0].memory_bytes == 2'048 << 10);
  CHECK(machine.nodes[0].huge_pages.at(2'048) == 3);
  CHECK(machine.nodes[0].distances == std::vector<uint64_t>{10});
}

TEST_CASE("a walk sums up what is below a directory, each file once, and follows no link") {
  UsageWorld world;
  world.write("/data/a", std::string(5'000, 'x'));
  world.write("/data/below/b", "y");
  world.write("/elsewhere/big", std::string(1 << 20, 'z'));
  REQUIRE(world.tree.make_symlink("/elsewhere", "/data/link").ok());

  DiskWalk walk("/data");
  int pieces = 1;
  while (!walk.step(world.tree, 2)) ++pieces;

  CHECK(pieces > 1);
  CHECK(walk.inodes() == 5);  // two directories, two files, the link
  CHECK(walk.bytes() >= 8'192 + 4'096);
  CHECK(walk.bytes() < 100'000);
  DiskWalk none("/not-there");
  CHECK(none.step(world.tree, 2));
  CHECK(none.inodes() == 0);
}

TEST_CASE("the cgroup of this process is read where the machine has one") {
  RealLoop loop;
  RealTree tree(loop);
  const auto hierarchy = cgroups::Hierarchy::detect(tree);
  if (!hierarchy.ok()) {
    std::printf("skipped, since this machine has no cgroups: the cgroup of this process\n");
    return;
  }
  const Machinery machinery{tree, *hierarchy, loop.clock()};

  const auto root = read_cgroup(machinery, "/", Role::kWorkload, Depth::kFull);
  const NodeUsage node =
      read_node(machinery, {.name = "n", .root_dir = "/", .system = {}, .qos = {}}, {}, Depth::kFull);
  const auto own = read_network(tree, ::getpid());

  REQUIRE(root);
  CHECK(root->memory);
  CHECK(root->memory->usage_bytes >= root->memory->working_set_bytes);
  CHECK(node.memory_capacity_bytes > 0);
  CHECK(node.pids > 0);
  REQUIRE(node.root_fs);
  CHECK(node.root_fs->stat.capacity_bytes > 0);
  (void)own;
}
