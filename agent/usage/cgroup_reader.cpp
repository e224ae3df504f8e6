#include "agent/usage/cgroup_reader.h"

#include <algorithm>

#include "agent/usage/parse.h"
#include "base/limits.h"

namespace podwright::usage {
namespace {

// The hierarchy in which a cgroup's directory and processes are looked for. In version 1 a runtime makes them in all.
std::string directory_of(const Machinery& on, const std::string& path) {
  if (on.hierarchy.version() == cgroups::Version::kV2) return on.hierarchy.directory("", path);
  return on.hierarchy.directory("memory", path);
}

void read_pids(const Machinery& on, const std::string& path, ProcessUsage& into) {
  const bool v2 = on.hierarchy.version() == cgroups::Version::kV2;
  const std::string directory = v2 ? on.hierarchy.directory("", path) : on.hierarchy.directory("pids", path);
  if (directory.empty()) return;
  const auto number = [&](const char* file) -> std::optional<uint64_t> {
    const auto text = read_text(on.tree, join_path(directory, file));
    return text ? to_number(*text) : std::nullopt;
  };
  into.threads = number("pids.current").value_or(0);
  into.threads_max = number("pids.max");
}

void count_open_files(Tree& tree, pid_t process, ProcessUsage& into) {
  const std::string directory = fmt::format("/proc/{}/fd", process);
  const auto entries = tree.list(directory);
  if (!entries.ok()) return;
  for (const DirectoryEntry& entry : *entries) {
    if (into.open_files >= limits::kUsageOpenFiles) return;
    ++into.open_files;
    const auto target = tree.read_symlink(join_path(directory, entry.name));
    if (target.ok() && target->starts_with("socket:")) ++into.sockets;
  }
}

void read_processes(const Machinery& on, Role role, Depth depth, CgroupUsage& into) {
  ProcessUsage found;
  read_pids(on, into.path, found);
  const std::vector<pid_t> processes = processes_in(on, into.path, role);
  found.processes = processes.size();
  if (depth == Depth::kFull && role == Role::kWorkload) {
    for (std::size_t i = 0; i < std::min(processes.size(), limits::kUsageProcesses); ++i) {
      count_open_files(on.tree, processes[i], found);
    }
    if (!processes.empty()) {
      const auto text = read_text(on.tree, fmt::format("/proc/{}/limits", processes.front()));
      if (text) found.max_open_files = parse_max_open_files(*text);
    }
  }
  into.processes = found;
}

void append_processes(Tree& tree, const std::string& directory, std::vector<pid_t>& into) {
  const auto text = tree.read(join_path(directory, "cgroup.procs"), limits::kCgroupFileBytes);
  if (!text.ok()) return;
  for (const std::string_view line : lines_of(*text)) {
    const auto pid = to_number(line);
    // 0 is a process outside our PID namespace.
    if (pid && *pid > 0) into.push_back(static_cast<pid_t>(*pid));
  }
}

}  // namespace

std::optional<std::string> read_text(Tree& tree, const std::string& path) {
  auto text = tree.read(path, limits::kUsageFileBytes);
  if (!text.ok()) return std::nullopt;
  return *std::move(text);
}

std::vector<pid_t> processes_in(const Machinery& on, const std::string& path, Role role) {
  std::vector<std::string> directories = {directory_of(on, path)};
  std::vector<pid_t> found;
  append_processes(on.tree, directories.front(), found);
  if (!found.empty() || role == Role::kGroup) return found;
  // Some runtimes and init systems put everything one level deeper.
  for (std::size_t i = 0; i < directories.size() && directories.size() < limits::kCgroupsBelowPod; ++i) {
    const auto entries = on.tree.list(directories[i]);
    if (!entries.ok()) continue;
    for (const DirectoryEntry& entry : *entries) {
      if (entry.type == FileType::kDirectory) directories.push_back(join_path(directories[i], entry.name));
    }
    if (i > 0) append_processes(on.tree, directories[i], found);
  }
  return found;
}

std::vector<InterfaceUsage> read_network(Tree& tree, pid_t process) {
  const auto text = read_text(tree, fmt::format("/proc/{}/net/dev", process));
  return text ? parse_net_dev(*text) : std::vector<InterfaceUsage>();
}

std::optional<CgroupUsage> read_cgroup(const Machinery& on, const std::string& path, Role role, Depth depth) {
  const std::string directory = directory_of(on, path);
  const auto there = on.tree.info(directory);
  if (!there.ok() || there->type != FileType::kDirectory) return std::nullopt;
  CgroupUsage found;
  found.path = path;
  found.at = on.clock.wall();
  found.at_instant = on.clock.now();
  // A cgroup's directory is not written to: its time is that of its making.
  found.started_at = there->modified;
  if (on.hierarchy.version() == cgroups::Version::kV2) {
    reader::read_v2(on, depth, found);
  } else {
    reader::read_v1(on, depth, found);
  }
  // The root's are the machine's, which the node tells.
  if (role == Role::kWorkload || (depth == Depth::kFull && path.size() > 1)) read_processes(on, role, depth, found);
  return found;
}

namespace reader {

// Source: opencontainers/cgroups fs2, rootStatsFromMeminfo: what of the machine is not free.
void fill_from_meminfo(Tree& tree, MemoryUsage& into) {
  const auto text = read_text(tree, "/proc/meminfo");
  if (!text) return;
  const KeyedNumbers numbers(*text);
  const uint64_t total = numbers.get("MemTotal"), free = numbers.get("MemFree");
  into.usage_bytes = total - std::min(free, total);
  const uint64_t swap_total = numbers.get("SwapTotal"), swap_free = numbers.get("SwapFree");
  into.swap_bytes = swap_total - std::min(swap_free, swap_total);
}

}  // namespace reader

}  // namespace podwright::usage
