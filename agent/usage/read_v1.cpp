// cgroup version 1. Source: the kernel's Documentation/admin-guide/cgroup-v1.
#include <algorithm>

#include "agent/usage/cgroup_reader.h"
#include "agent/usage/parse.h"

namespace podwright::usage::reader {
namespace {

// Limits that are none are the largest multiple of a page that the kernel counts to.
constexpr uint64_t kUnlimited = 1ULL << 62;

struct Files {
  const Machinery& on;
  const std::string& path;

  std::optional<std::string> text(const char* controller, const char* name) const {
    const std::string directory = on.hierarchy.directory(controller, path);
    if (directory.empty()) return std::nullopt;
    return read_text(on.tree, join_path(directory, name));
  }
  std::optional<uint64_t> number(const char* controller, const char* name) const {
    const auto content = text(controller, name);
    return content ? to_number(*content) : std::nullopt;
  }
  // A limit; nothing where it is none.
  std::optional<uint64_t> limit(const char* name) const {
    const auto value = number("memory", name);
    return value && *value < kUnlimited ? value : std::nullopt;
  }
};

void read_cpu(const Files& files, Depth depth, CgroupUsage& into) {
  const auto usage = files.number("cpuacct", "cpuacct.usage");
  if (!usage) return;
  CpuUsage cpu;
  cpu.usage_ns = *usage;
  if (depth == Depth::kFull) {
    cpu.user_ns = files.number("cpuacct", "cpuacct.usage_user").value_or(0);
    cpu.system_ns = files.number("cpuacct", "cpuacct.usage_sys").value_or(0);
    if (auto text = files.text("cpu", "cpu.stat")) {
      const KeyedNumbers stat(*std::move(text));
      cpu.periods = stat.get("nr_periods");
      cpu.throttled_periods = stat.get("nr_throttled");
      cpu.throttled_ns = stat.get("throttled_time");
      cpu.burst_periods = stat.get("nr_bursts");
      cpu.burst_ns = stat.get("burst_time");
    }
    cpu.shares = files.number("cpu", "cpu.shares");
    cpu.period_us = files.number("cpu", "cpu.cfs_period_us");
    cpu.quota_us = files.number("cpu", "cpu.cfs_quota_us");  // "-1", no number, is none
  }
  into.cpu = cpu;
}

// Swap alone, from what counts memory and swap together.
std::optional<uint64_t> swap_limit(const Files& files, const MemoryUsage& memory) {
  const auto together = files.limit("memory.memsw.limit_in_bytes");
  if (!together || !memory.limit_bytes) return std::nullopt;
  return *together - std::min(*together, *memory.limit_bytes);
}

void read_memory(const Files& files, Depth depth, CgroupUsage& into) {
  auto text = files.text("memory", "memory.stat");
  const auto usage = files.number("memory", "memory.usage_in_bytes");
  if (!text || !usage) return;
  const KeyedNumbers stat(*std::move(text));
  MemoryUsage memory;
  memory.usage_bytes = *usage;
  memory.rss_bytes = stat.get("total_rss");
  memory.cache_bytes = stat.get("total_cache");
  memory.mapped_file_bytes = stat.get("total_mapped_file");
  memory.active_file_bytes = stat.get("total_active_file");
  memory.inactive_file_bytes = stat.get("total_inactive_file");
  memory.page_faults = stat.get("total_pgfault");
  memory.major_page_faults = stat.get("total_pgmajfault");
  memory.own_page_faults = stat.get("pgfault");
  memory.own_major_page_faults = stat.get("pgmajfault");
  // Absent where the kernel does not count swap by cgroup.
  memory.swap_bytes = stat.find("total_swap");
  memory.working_set_bytes = memory.usage_bytes - std::min(memory.inactive_file_bytes, memory.usage_bytes);
  memory.limit_bytes = files.limit("memory.limit_in_bytes");
  memory.swap_limit_bytes = swap_limit(files, memory);
  if (depth == Depth::kFull) {
    memory.reservation_bytes = files.limit("memory.soft_limit_in_bytes");
    memory.max_usage_bytes = files.number("memory", "memory.max_usage_in_bytes").value_or(0);
    memory.limit_hits = files.number("memory", "memory.failcnt").value_or(0);
    memory.kernel_bytes = files.number("memory", "memory.kmem.usage_in_bytes").value_or(0);
    if (auto control = files.text("memory", "memory.oom_control")) {
      memory.oom_kills = KeyedNumbers(*std::move(control)).get("oom_kill");
    }
  }
  into.memory = memory;
}

void read_io(const Files& files, CgroupUsage& into) {
  for (const bool bytes : {false, true}) {
    const char* recursive =
        bytes ? "blkio.throttle.io_service_bytes_recursive" : "blkio.throttle.io_serviced_recursive";
    const char* own = bytes ? "blkio.throttle.io_service_bytes" : "blkio.throttle.io_serviced";
    auto text = files.text("blkio", recursive);
    if (!text) text = files.text("blkio", own);
    if (text) parse_blkio(*text, bytes, into.io);
  }
}

}  // namespace

void read_v1(const Machinery& on, Depth depth, CgroupUsage& into) {
  const Files files{on, into.path};
  read_cpu(files, depth, into);
  read_memory(files, depth, into);
  if (depth != Depth::kFull) return;
  read_io(files, into);
  if (into.path.size() > 1) return;
  // Version 1 tells pressure of the machine alone.
  const auto pressure = [&on](const char* path) -> std::optional<Pressure> {
    const auto text = read_text(on.tree, path);
    return text ? parse_pressure(*text) : std::nullopt;
  };
  if (into.cpu) into.cpu->pressure = pressure("/proc/pressure/cpu");
  if (into.memory) into.memory->pressure = pressure("/proc/pressure/memory");
  into.io_pressure = pressure("/proc/pressure/io");
}

}  // namespace podwright::usage::reader
