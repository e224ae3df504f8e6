// A machine for the readers: files of cgroups and /proc in a memory tree, of version 1 or 2.
#pragma once

#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "agent/usage/usage.h"
#include "base/co/sim_loop.h"
#include "base/files/memory_tree.h"

namespace podwright::usage {

struct UsageWorld {
  SimLoop loop;
  MemoryTree tree{loop};
  std::optional<cgroups::Hierarchy> hierarchy;

  void write(const std::string& path, const std::string& content) {
    REQUIRE(tree.make_directories(parent_path(path), 0755).ok());
    REQUIRE(tree.write(path, content, 0644).ok());
  }

  void mount(const std::string& target, const std::string& type, const std::string& data) {
    REQUIRE(tree.make_directories(target, 0755).ok());
    const std::string source = type == "cgroup2" ? "cgroup2" : data;
    REQUIRE(tree.mount(source, target, type, 0, data).ok());
  }

  void detect() {
    auto found = cgroups::Hierarchy::detect(tree);
    REQUIRE_MESSAGE(found.ok(), std::string(found.status().message()));
    hierarchy = *std::move(found);
  }

  Machinery machinery() { return {tree, *hierarchy, loop.clock()}; }

  // ---- version 2 ----
  std::string v2(const std::string& cgroup, const std::string& file) { return "/sys/fs/cgroup" + cgroup + "/" + file; }
  void start_v2() {
    mount("/sys/fs/cgroup", "cgroup2", "");
    write("/sys/fs/cgroup/cgroup.controllers", "cpuset cpu io memory pids\n");
    detect();
  }
  void cgroup_v2(const std::string& path, uint64_t cpu_us, uint64_t memory, uint64_t inactive,
                 const std::string& processes = "") {
    write(v2(path, "cpu.stat"), fmt::format("usage_usec {}\nuser_usec {}\nsystem_usec 5\nnr_periods 100\nnr_throttled "
                                            "7\nthrottled_usec 9000\nnr_bursts 0\nburst_usec 0\n",
                                            cpu_us, cpu_us / 2));
    write(v2(path, "cpu.max"), "50000 100000\n");
    write(v2(path, "cpu.weight"), "4\n");
    write(v2(path, "cpu.pressure"),
          "some avg10=1.50 avg60=0.25 avg300=0.00 total=123456\nfull avg10=0.00 avg60=0.00 avg300=0.00 total=99\n");
    write(v2(path, "memory.current"), fmt::format("{}\n", memory));
    write(v2(path, "memory.stat"), fmt::format("anon 1000\nfile 3000\nkernel 50\nfile_mapped 20\ninactive_file {}\n"
                                               "active_file 700\npgfault 11\npgmajfault 2\n",
                                               inactive));
    write(v2(path, "memory.max"), "100000000\n");
    write(v2(path, "memory.peak"), fmt::format("{}\n", memory + 1));
    write(v2(path, "memory.swap.current"), "4096\n");
    write(v2(path, "memory.swap.max"), "max\n");
    write(v2(path, "memory.events"), "low 0\nhigh 0\nmax 3\noom 1\noom_kill 1\n");
    write(v2(path, "io.stat"), "8:0 rbytes=4096 wbytes=8192 rios=1 wios=2 dbytes=0 dios=0\n");
    write(v2(path, "pids.current"), "5\n");
    write(v2(path, "pids.max"), "max\n");
    write(v2(path, "cgroup.procs"), processes);
  }

  // ---- version 1 ----
  void start_v1() {
    for (const char* controller : {"cpu", "cpuacct", "cpuset", "memory", "pids", "blkio"}) {
      mount(fmt::format("/sys/fs/cgroup/{}", controller), "cgroup", controller);
    }
    detect();
  }
  void cgroup_v1(const std::string& path, uint64_t cpu_ns, uint64_t memory, uint64_t inactive,
                 const std::string& processes = "") {
    const auto at = [&path](const char* controller, const char* file) {
      return fmt::format("/sys/fs/cgroup/{}{}/{}", controller, path, file);
    };
    write(at("cpuacct", "cpuacct.usage"), fmt::format("{}\n", cpu_ns));
    write(at("cpuacct", "cpuacct.usage_user"), fmt::format("{}\n", cpu_ns / 2));
    write(at("cpuacct", "cpuacct.usage_sys"), "7\n");
    write(at("cpu", "cpu.stat"), "nr_periods 10\nnr_throttled 3\nthrottled_time 4000\n");
    write(at("cpu", "cpu.shares"), "102\n");
    write(at("cpu", "cpu.cfs_period_us"), "100000\n");
    write(at("cpu", "cpu.cfs_quota_us"), "-1\n");
    write(at("memory", "memory.usage_in_bytes"), fmt::format("{}\n", memory));
    write(at("memory", "memory.stat"),
          fmt::format("cache 1\nrss 2\ninactive_file 3\npgfault 4\ntotal_cache 3000\ntotal_rss 1000\n"
                      "total_mapped_file 20\ntotal_pgfault 11\ntotal_pgmajfault 2\ntotal_inactive_file {}\n"
                      "total_active_file 700\ntotal_swap 4096\n",
                      inactive));
    write(at("memory", "memory.limit_in_bytes"), "9223372036854771712\n");
    write(at("memory", "memory.memsw.limit_in_bytes"), "9223372036854771712\n");
    write(at("memory", "memory.max_usage_in_bytes"), fmt::format("{}\n", memory + 1));
    write(at("memory", "memory.failcnt"), "3\n");
    write(at("memory", "memory.oom_control"), "oom_kill_disable 0\nunder_oom 0\noom_kill 1\n");
    write(at("memory", "cgroup.procs"), processes);
    write(at("blkio", "blkio.throttle.io_service_bytes_recursive"),
          "8:0 Read 4096\n8:0 Write 8192\n8:0 Total 12288\nTotal 12288\n");
    write(at("blkio", "blkio.throttle.io_serviced_recursive"), "8:0 Read 1\n8:0 Write 2\n8:0 Total 3\nTotal 3\n");
    write(at("pids", "pids.current"), "5\n");
    write(at("pids", "pids.max"), "100\n");
  }

  // A process with its open files.
  void process(int pid, const std::vector<std::string>& open_files) {
    const std::string proc = fmt::format("/proc/{}", pid);
    REQUIRE(tree.make_directories(proc + "/fd", 0755).ok());
    for (std::size_t i = 0; i < open_files.size(); ++i) {
      REQUIRE(tree.make_symlink(open_files[i], fmt::format("{}/fd/{}", proc, i)).ok());
    }
    write(proc + "/limits", "Limit  Soft Limit  Hard Limit  Units\nMax open files            1024   4096   files\n");
    write(proc + "/net/dev",
          "Inter-|   Receive  |  Transmit\n face |bytes packets errs drop fifo frame compressed multicast|bytes\n"
          "    lo: 9 9 0 0 0 0 0 0 9 9 0 0 0 0 0 0\n"
          "  eth0: 1000 10 1 2 0 0 0 0 2000 20 3 4 0 0 0 0\n");
  }

  void machine() {
    write("/proc/meminfo",
          "MemTotal:       1000000 kB\nMemFree:         400000 kB\nSwapTotal: 2000 kB\nSwapFree: 500 kB\n");
    write("/proc/stat", "cpu 1 2 3\nbtime 1700000000\n");
    write("/proc/loadavg", "0.00 0.01 0.05 2/345 6789\n");
    write("/proc/sys/kernel/pid_max", "4194304\n");
    write("/proc/sys/kernel/threads-max", "95000\n");
    write("/proc/diskstats", "   8       0 sda 10 1 80 5 20 2 160 6 0 7 11 0 0 0 0\n");
    REQUIRE(tree.make_directories("/var/lib/kubelet", 0755).ok());
  }
};

}  // namespace podwright::usage
