// cgroup version 2. Source: the kernel's Documentation/admin-guide/cgroup-v2.rst.
#include <algorithm>

#include "agent/usage/cgroup_reader.h"
#include "agent/usage/parse.h"

namespace podwright::usage::reader {
namespace {

constexpr uint64_t kNsPerUs = 1'000;

// The files of one cgroup's directory.
struct Files {
  Tree& tree;
  std::string directory;

  std::optional<std::string> text(const char* name) const { return read_text(tree, join_path(directory, name)); }
  std::optional<uint64_t> number(const char* name) const {
    const auto content = text(name);
    return content ? to_number(*content) : std::nullopt;
  }
  std::optional<Pressure> pressure(const char* name, const char* of_machine, bool root) const {
    auto content = text(name);
    if (!content && root) content = read_text(tree, of_machine);
    return content ? parse_pressure(*content) : std::nullopt;
  }
};

// The inverse of cgroups::shares_to_weight().
uint64_t weight_to_shares(uint64_t weight) {
  return weight == 0 ? 0 : 2 + (weight - 1) * 262'142 / 9'999;
}

void read_cpu(const Files& files, Depth depth, bool root, CgroupUsage& into) {
  auto text = files.text("cpu.stat");
  if (!text) return;
  const KeyedNumbers stat(*std::move(text));
  CpuUsage cpu;
  cpu.usage_ns = stat.get("usage_usec") * kNsPerUs;
  cpu.user_ns = stat.get("user_usec") * kNsPerUs;
  cpu.system_ns = stat.get("system_usec") * kNsPerUs;
  if (depth == Depth::kFull) {
    cpu.periods = stat.get("nr_periods");
    cpu.throttled_periods = stat.get("nr_throttled");
    cpu.throttled_ns = stat.get("throttled_usec") * kNsPerUs;
    cpu.burst_periods = stat.get("nr_bursts");
    cpu.burst_ns = stat.get("burst_usec") * kNsPerUs;
    if (const auto weight = files.number("cpu.weight")) cpu.shares = weight_to_shares(*weight);
    if (const auto bound = files.text("cpu.max")) {
      const auto words = words_of(*bound);
      if (!words.empty()) cpu.quota_us = to_number(words[0]);
      if (words.size() > 1) cpu.period_us = to_number(words[1]);
    }
    cpu.pressure = files.pressure("cpu.pressure", "/proc/pressure/cpu", root);
  }
  into.cpu = cpu;
}

void read_memory(const Files& files, Depth depth, bool root, CgroupUsage& into) {
  auto text = files.text("memory.stat");
  if (!text) return;
  const KeyedNumbers stat(*std::move(text));
  MemoryUsage memory;
  const auto current = files.number("memory.current");
  if (current) {
    memory.usage_bytes = *current;
    memory.swap_bytes = files.number("memory.swap.current");
  } else {
    fill_from_meminfo(files.tree, memory);
  }
  memory.rss_bytes = stat.get("anon");
  memory.cache_bytes = stat.get("file");
  memory.mapped_file_bytes = stat.get("file_mapped");
  memory.kernel_bytes = stat.get("kernel");
  memory.active_file_bytes = stat.get("active_file");
  memory.inactive_file_bytes = stat.get("inactive_file");
  memory.page_faults = memory.own_page_faults = stat.get("pgfault");
  memory.major_page_faults = memory.own_major_page_faults = stat.get("pgmajfault");
  memory.working_set_bytes = memory.usage_bytes - std::min(memory.inactive_file_bytes, memory.usage_bytes);
  memory.limit_bytes = files.number("memory.max");
  memory.swap_limit_bytes = files.number("memory.swap.max");
  if (depth == Depth::kFull) {
    memory.reservation_bytes = files.number("memory.min");
    memory.max_usage_bytes = files.number("memory.peak").value_or(0);
    if (auto events = files.text("memory.events")) {
      const KeyedNumbers counts(*std::move(events));
      memory.limit_hits = counts.get("max");
      memory.oom_kills = counts.get("oom_kill");
    }
    memory.pressure = files.pressure("memory.pressure", "/proc/pressure/memory", root);
  }
  into.memory = memory;
}

}  // namespace

void read_v2(const Machinery& on, Depth depth, CgroupUsage& into) {
  const Files files{on.tree, on.hierarchy.directory("", into.path)};
  const bool root = into.path.size() <= 1;
  read_cpu(files, depth, root, into);
  read_memory(files, depth, root, into);
  if (depth != Depth::kFull) return;
  if (const auto text = files.text("io.stat")) into.io = parse_io_stat(*text);
  into.io_pressure = files.pressure("io.pressure", "/proc/pressure/io", root);
}

}  // namespace podwright::usage::reader
