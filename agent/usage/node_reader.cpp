#include "agent/usage/node_reader.h"

#include <algorithm>
#include <set>

#include "agent/usage/parse.h"

namespace podwright::usage {
namespace {

std::optional<uint64_t> number_in(Tree& tree, const std::string& path) {
  const auto text = read_text(tree, path);
  return text ? to_number(*text) : std::nullopt;
}

std::optional<FileSystem> file_system_at(Tree& tree, const std::vector<MountEntry>& mounts, const std::string& path) {
  if (path.empty()) return std::nullopt;
  const auto stat = tree.fs_stat(path);
  const auto info = tree.info_followed(path);
  if (!stat.ok() || !info.ok()) return std::nullopt;
  FileSystem found{.device = {}, .mountpoint = path, .device_number = info->device, .stat = *stat};
  std::size_t longest = 0;
  for (const MountEntry& mount : mounts) {
    const std::string below = mount.mountpoint.ends_with('/') ? mount.mountpoint : mount.mountpoint + "/";
    const bool holds = path == mount.mountpoint || path.starts_with(below);
    if (!holds || mount.mountpoint.size() < longest) continue;
    longest = mount.mountpoint.size();
    found.device = mount.source;
  }
  return found;
}

// One for each block device; a device that is mounted twice counts once. What is not on a block device of this machine
// (a network file system) is not asked, since it may hang.
std::vector<FileSystem> block_file_systems(Tree& tree, const std::vector<MountEntry>& mounts) {
  std::vector<FileSystem> all;
  std::set<std::string> seen;
  for (const MountEntry& mount : mounts) {
    if (!mount.source.starts_with("/dev/") || !seen.insert(mount.source).second) continue;
    const auto stat = tree.fs_stat(mount.mountpoint);
    if (!stat.ok() || stat->capacity_bytes == 0) continue;
    all.push_back({.device = mount.source, .mountpoint = mount.mountpoint, .device_number = 0, .stat = *stat});
  }
  return all;
}

void read_memory(Tree& tree, NodeUsage& into) {
  auto text = read_text(tree, "/proc/meminfo");
  if (!text) return;
  const KeyedNumbers numbers(*std::move(text));
  into.memory_capacity_bytes = numbers.get("MemTotal");
  into.swap_capacity_bytes = numbers.get("SwapTotal");
  into.swap_free_bytes = numbers.get("SwapFree");
}

// "btime 1700000000" of /proc/stat.
WallTime boot_time(Tree& tree) {
  auto text = read_text(tree, "/proc/stat");
  if (!text) return {};
  return WallTime(std::chrono::seconds(KeyedNumbers(*std::move(text)).get("btime")));
}

void read_pids(Tree& tree, NodeUsage& into) {
  const uint64_t pid_max = number_in(tree, "/proc/sys/kernel/pid_max").value_or(0);
  const uint64_t threads_max = number_in(tree, "/proc/sys/kernel/threads-max").value_or(pid_max);
  into.max_pids = std::min(pid_max, threads_max);
  if (const auto text = read_text(tree, "/proc/loadavg")) into.pids = parse_tasks(*text).value_or(0);
}

std::string own_cgroup(Tree& tree) {
  const auto text = read_text(tree, "/proc/self/cgroup");
  return text ? parse_own_cgroup(*text) : std::string();
}

}  // namespace

NodeUsage read_node(const Machinery& on, const NodeTarget& target, const ImagePlaces& places, Depth depth) {
  NodeUsage found;
  found.name = target.name;
  read_memory(on.tree, found);
  if (auto root = read_cgroup(on, "/", Role::kGroup, depth)) found.root = *std::move(root);
  found.booted_at = boot_time(on.tree);
  found.root.started_at = found.booted_at;
  // The machine's swap, of whichever process.
  if (found.root.memory) {
    found.root.memory->swap_bytes =
        found.swap_capacity_bytes - std::min(found.swap_free_bytes, found.swap_capacity_bytes);
  }
  read_pids(on.tree, found);
  for (const SystemTarget& system : target.system) {
    std::string path = system.cgroup;
    if (path.empty() && system.name == "kubelet") path = own_cgroup(on.tree);
    if (path.size() <= 1) continue;
    const Role role = system.name == "pods" ? Role::kGroup : Role::kWorkload;
    if (auto cgroup = read_cgroup(on, path, role, depth)) found.system.push_back({system.name, *std::move(cgroup)});
  }
  for (const std::string& path : target.qos) {
    if (auto cgroup = read_cgroup(on, path, Role::kGroup, depth)) found.qos.push_back(*std::move(cgroup));
  }
  const auto mounts = on.tree.mounts();
  const std::vector<MountEntry> entries = mounts.ok() ? *mounts : std::vector<MountEntry>();
  found.root_fs = file_system_at(on.tree, entries, target.root_dir);
  found.image_fs = file_system_at(on.tree, entries, places.image);
  found.container_fs = file_system_at(on.tree, entries, places.container);
  if (depth == Depth::kFull) {
    found.network = read_network(on.tree, 1);
    found.file_systems = block_file_systems(on.tree, entries);
    if (const auto text = read_text(on.tree, "/proc/diskstats")) found.disks = parse_diskstats(*text);
  }
  return found;
}

DeviceNames device_names(Tree& tree) {
  DeviceNames names;
  const auto text = read_text(tree, "/proc/diskstats");
  if (!text) return names;
  for (const std::string_view line : lines_of(*text)) {
    const auto words = words_of(line);
    if (words.size() < 3) continue;
    const auto major = to_number(words[0]), minor = to_number(words[1]);
    if (major && minor) names[{*major, *minor}] = fmt::format("/dev/{}", words[2]);
  }
  return names;
}

}  // namespace podwright::usage
