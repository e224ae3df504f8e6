#include "agent/cgroups/hierarchy.h"

#include <algorithm>
#include <charconv>

#include "base/limits.h"
#include "base/log/log.h"
#include "base/status/annotate.h"

namespace podwright::cgroups {
namespace {

constexpr std::string_view kMount = "/sys/fs/cgroup";
// Controllers in whose hierarchies (version 1) pods get a cgroup, and which are switched on for them (version 2).
constexpr std::array<std::string_view, 7> kUsedV1 = {"cpu",  "cpuacct", "cpuset", "memory",
                                                     "pids", "hugetlb", "systemd"};
constexpr std::array<std::string_view, 6> kUsedV2 = {"cpuset", "cpu", "io", "memory", "hugetlb", "pids"};
constexpr std::array<std::string_view, 13> kKnownV1 = {"cpu",        "cpuacct", "cpuset",  "memory", "devices",
                                                       "freezer",    "blkio",   "net_cls", "pids",   "net_prio",
                                                       "perf_event", "hugetlb", "rdma"};

template <class Range>
bool contains(const Range& range, std::string_view value) {
  return std::find(range.begin(), range.end(), value) != range.end();
}

std::string trimmed(std::string text) {
  while (!text.empty() && (text.back() == '\n' || text.back() == ' ')) text.pop_back();
  return text;
}

std::vector<std::string> words(std::string_view text) {
  std::vector<std::string> parts;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find_first_of(" \n"), text.size());
    if (end > 0) parts.emplace_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return parts;
}

absl::StatusOr<std::string> read_file(Tree& tree, const std::string& path) {
  return tree.read(path, limits::kCgroupFileBytes);
}

// A cgroup may go at any moment: what is not there (any more) is empty. So is what was gone between open and read.
bool is_gone(const absl::Status& status) {
  return absl::IsNotFound(status);
}

std::set<pid_t> pids_in(Tree& tree, const std::string& directory) {
  std::set<pid_t> pids;
  const auto text = read_file(tree, join_path(directory, "cgroup.procs"));
  if (!text.ok()) return pids;
  for (const std::string& word : words(*text)) {
    pid_t pid = 0;
    std::from_chars(word.data(), word.data() + word.size(), pid);
    // 0 is a process outside our PID namespace.
    if (pid > 0) pids.insert(pid);
  }
  return pids;
}

std::string bound(int64_t value, std::string_view none) {
  return value < 0 ? std::string(none) : fmt::format("{}", value);
}

}  // namespace

absl::StatusOr<Hierarchy> Hierarchy::detect(Tree& tree) {
  const auto mounts = tree.mounts();
  if (!mounts.ok()) return annotate(mounts.status(), "look for cgroup file systems");
  Hierarchy found;
  const bool unified = std::any_of(mounts->begin(), mounts->end(), [](const MountEntry& entry) {
    return entry.mountpoint == kMount && entry.fs_type == "cgroup2";
  });
  if (unified) {
    found.version_ = Version::kV2;
    const auto controllers = read_file(tree, join_path(kMount, "cgroup.controllers"));
    if (!controllers.ok()) return controllers.status();
    for (const std::string& name : words(*controllers)) found.mounts_[name] = kMount;
    found.mounts_[""] = kMount;
  } else {
    found.version_ = Version::kV1;
    for (const MountEntry& entry : *mounts) {
      // Beside version 1 (hybrid) it has no controllers, but a runtime makes cgroups there too.
      if (entry.fs_type == "cgroup2" && entry.mountpoint.starts_with(std::string(kMount) + "/")) {
        found.mounts_.emplace("unified", entry.mountpoint);
      }
      if (entry.fs_type != "cgroup" || !entry.mountpoint.starts_with(std::string(kMount) + "/")) continue;
      for (const std::string& option : entry.options) {
        if (contains(kKnownV1, option)) found.mounts_.emplace(option, entry.mountpoint);
        if (option.starts_with("name=")) found.mounts_.emplace(option.substr(5), entry.mountpoint);
      }
    }
  }
  for (const char* needed : {"cpu", "memory", "cpuset"}) {
    if (found.has(needed) || (unified && std::string_view(needed) == "cpuset")) continue;
    return make_status(absl::StatusCode::kFailedPrecondition,
                       "cgroup controller {} is not available at {}: pods cannot be bounded", needed, kMount);
  }
  return found;
}

std::string Hierarchy::directory(std::string_view controller, const std::string& path) const {
  const auto mount = mounts_.find(std::string(controller));
  return mount == mounts_.end() ? std::string() : join_path(mount->second, path);
}

std::set<std::string> Hierarchy::directories() const {
  std::set<std::string> all;
  for (const auto& [controller, mount] : mounts_) all.insert(mount);
  return all;
}

// --- making ------------------------------------------------------------------------------------------------------

absl::Status Hierarchy::make(Tree& tree, const std::string& path) const {
  if (version_ == Version::kV2) return make_v2(tree, path);
  std::set<std::string> mounts;
  for (const auto& [controller, mount] : mounts_) {
    if (contains(kUsedV1, controller)) mounts.insert(mount);
  }
  for (const std::string& mount : mounts) {
    const absl::Status made = make_v1(tree, mount, path);
    if (!made.ok()) return annotate(made, "make cgroup {}", path);
  }
  return absl::OkStatus();
}

absl::Status Hierarchy::make_v1(Tree& tree, const std::string& mount, const std::string& path) const {
  const std::string directory = join_path(mount, path);
  if (!tree.info(directory).ok()) {
    if (const absl::Status made = tree.make_directories(directory, 0755); !made.ok()) return made;
  }
  const auto cpuset = mounts_.find("cpuset");
  if (cpuset == mounts_.end() || cpuset->second != mount) return absl::OkStatus();
  return copy_cpuset(tree, directory, mount);
}

// A new cgroup of version 1 has no CPU and no memory node, and takes no process until it has.
absl::Status Hierarchy::copy_cpuset(Tree& tree, const std::string& directory, const std::string& mount) const {
  if (directory.size() <= mount.size()) return absl::OkStatus();
  const std::string parent = parent_path(directory);
  if (const absl::Status above = copy_cpuset(tree, parent, mount); !above.ok()) return above;
  for (const char* file : {"cpuset.cpus", "cpuset.mems"}) {
    const auto own = read_file(tree, join_path(directory, file));
    if (!own.ok()) return own.status();
    if (!trimmed(*own).empty()) continue;
    const auto inherited = read_file(tree, join_path(parent, file));
    if (!inherited.ok()) return inherited.status();
    const absl::Status copied = tree.write(join_path(directory, file), trimmed(*inherited), 0644);
    if (!copied.ok()) return copied;
  }
  return absl::OkStatus();
}

absl::Status Hierarchy::make_v2(Tree& tree, const std::string& path) const {
  const std::string mount = mounts_.at("");
  std::string at = mount;
  const std::string whole = join_path(mount, path);
  while (at.size() < whole.size()) {
    // Children get only the controllers that their parent hands on.
    const auto available = read_file(tree, join_path(at, "cgroup.controllers"));
    if (!available.ok()) return annotate(available.status(), "make cgroup {}", path);
    const auto handed_on = read_file(tree, join_path(at, "cgroup.subtree_control"));
    if (!handed_on.ok()) return annotate(handed_on.status(), "make cgroup {}", path);
    const std::vector<std::string> on = words(*handed_on);
    for (const std::string& controller : words(*available)) {
      if (!contains(kUsedV2, controller) || contains(on, controller)) continue;
      const absl::Status written = tree.write(join_path(at, "cgroup.subtree_control"), "+" + controller, 0644);
      if (written.ok()) continue;
      if (controller == "cpu" || controller == "memory") {
        return annotate(written, "hand controller {} on below {}", controller, at);
      }
      log_v(2, {}, "a cgroup controller cannot be handed on",
            {{"controller", controller}, {"cgroup", at}, {"error", text_of(written)}});
    }
    at = whole.substr(0, whole.find('/', at.size() + 1));
    if (tree.info(at).ok()) continue;
    if (const absl::Status made = tree.make_directories(at, 0755); !made.ok()) {
      return annotate(made, "make cgroup {}", path);
    }
  }
  return absl::OkStatus();
}

absl::Status Hierarchy::set(Tree& tree, const std::string& path, const Limits& limits) const {
  struct Value {
    std::string_view controller;
    std::string file, text;
  };
  std::vector<Value> values;
  if (version_ == Version::kV1) {
    if (limits.cpu_shares) values.push_back({"cpu", "cpu.shares", fmt::format("{}", *limits.cpu_shares)});
    if (limits.cpu_period_us) {
      values.push_back({"cpu", "cpu.cfs_period_us", fmt::format("{}", *limits.cpu_period_us)});
    }
    if (limits.cpu_quota_us) values.push_back({"cpu", "cpu.cfs_quota_us", bound(*limits.cpu_quota_us, "-1")});
    if (limits.memory_bytes) values.push_back({"memory", "memory.limit_in_bytes", bound(*limits.memory_bytes, "-1")});
    if (limits.pids) values.push_back({"pids", "pids.max", bound(*limits.pids, "max")});
  } else {
    if (limits.cpu_shares)
      values.push_back({"cpu", "cpu.weight", fmt::format("{}", shares_to_weight(*limits.cpu_shares))});
    if (limits.cpu_quota_us || limits.cpu_period_us) {
      values.push_back({"cpu", "cpu.max",
                        fmt::format("{} {}", bound(limits.cpu_quota_us.value_or(-1), "max"),
                                    limits.cpu_period_us.value_or(100'000))});
    }
    if (limits.memory_bytes) values.push_back({"memory", "memory.max", bound(*limits.memory_bytes, "max")});
    if (limits.pids) values.push_back({"pids", "pids.max", bound(*limits.pids, "max")});
  }
  for (const auto& [size, bytes] : limits.hugetlb_bytes) {
    const char* end = version_ == Version::kV1 ? "limit_in_bytes" : "max";
    values.push_back({"hugetlb", fmt::format("hugetlb.{}.{}", size, end), fmt::format("{}", bytes)});
  }
  for (const Value& value : values) {
    if (!has(value.controller)) continue;
    const std::string file = join_path(directory(value.controller, path), value.file);
    // CFS bandwidth may be left out of the kernel: no file, and nothing to lift.
    const absl::Status written = tree.write(file, value.text, 0644);
    if (!written.ok() && !(is_gone(written) && (value.text == "-1" || value.text.starts_with("max")))) {
      return annotate(written, "set {} to {}", value.file, value.text);
    }
  }
  return absl::OkStatus();
}

absl::Status Hierarchy::join(Tree& tree, const std::string& path, pid_t pid) const {
  if (const absl::Status made = make(tree, path); !made.ok()) return made;
  std::set<std::string> mounts;
  for (const auto& [controller, mount] : mounts_) {
    if (version_ == Version::kV2 || contains(kUsedV1, controller)) mounts.insert(mount);
  }
  for (const std::string& mount : mounts) {
    const absl::Status moved =
        tree.write(join_path(join_path(mount, path), "cgroup.procs"), fmt::format("{}", pid), 0644);
    if (!moved.ok()) return annotate(moved, "move process {} to cgroup {}", pid, path);
  }
  return absl::OkStatus();
}

// --- looking -----------------------------------------------------------------------------------------------------

bool Hierarchy::exists(Tree& tree, const std::string& path) const {
  const std::set<std::string> mounts = directories();
  return std::any_of(mounts.begin(), mounts.end(),
                     [&](const std::string& mount) { return tree.info(join_path(mount, path)).ok(); });
}

std::set<std::string> Hierarchy::children(Tree& tree, const std::string& path) const {
  std::set<std::string> names;
  for (const std::string& mount : directories()) {
    const auto entries = tree.list(join_path(mount, path));
    if (!entries.ok()) continue;
    for (const DirectoryEntry& entry : *entries) {
      if (entry.type == FileType::kDirectory) names.insert(entry.name);
    }
  }
  return names;
}

// The directory and all below it, parents first.
std::vector<std::string> Hierarchy::tree_below(Tree& tree, const std::string& directory) const {
  std::vector<std::string> all;
  if (!tree.info(directory).ok()) return all;
  all.push_back(directory);
  for (std::size_t i = 0; i < all.size() && all.size() < limits::kCgroupsBelowPod; ++i) {
    const auto entries = tree.list(all[i]);
    if (!entries.ok()) continue;
    for (const DirectoryEntry& entry : *entries) {
      if (entry.type == FileType::kDirectory) all.push_back(join_path(all[i], entry.name));
    }
  }
  return all;
}

std::set<pid_t> Hierarchy::processes(Tree& tree, const std::string& path) const {
  std::set<pid_t> pids;
  for (const std::string& mount : directories()) {
    for (const std::string& directory : tree_below(tree, join_path(mount, path))) {
      pids.merge(pids_in(tree, directory));
    }
  }
  return pids;
}

std::set<pid_t> Hierarchy::processes_in_root(Tree& tree) const {
  const auto mount = mounts_.find(version_ == Version::kV2 ? "" : "cpu");
  return mount == mounts_.end() ? std::set<pid_t>() : pids_in(tree, mount->second);
}

std::vector<std::string> Hierarchy::huge_page_sizes(Tree& tree) const {
  std::vector<std::string> sizes;
  if (!has("hugetlb")) return sizes;
  const auto entries = tree.list("/sys/kernel/mm/hugepages");
  if (!entries.ok()) return sizes;
  for (const DirectoryEntry& entry : *entries) {
    constexpr std::string_view kPrefix = "hugepages-";
    if (!entry.name.starts_with(kPrefix)) continue;
    const auto size = huge_page_name(std::string_view(entry.name).substr(kPrefix.size()));
    if (size) sizes.push_back(*size);
  }
  return sizes;
}

// --- ending ------------------------------------------------------------------------------------------------------

absl::Status Hierarchy::kill(Tree& tree, Signals& signals, const std::string& path) const {
  if (version_ == Version::kV2) {
    const std::string file = join_path(directory("", path), "cgroup.kill");
    const absl::Status killed = tree.write(file, "1", 0644);
    // Absent before Linux 5.14, and where the cgroup is gone.
    if (killed.ok()) return killed;
    if (!is_gone(killed)) return annotate(killed, "kill what is in cgroup {}", path);
  }
  absl::Status first;
  for (const std::string& mount : directories()) {
    for (const std::string& directory : tree_below(tree, join_path(mount, path))) {
      for (const pid_t pid : pids_in(tree, directory)) {
        first.Update(signals.kill_if(pid, [&] { return pids_in(tree, directory).contains(pid); }));
      }
    }
  }
  return first.ok() ? first : annotate(first, "kill what is in cgroup {}", path);
}

absl::Status Hierarchy::remove(Tree& tree, const std::string& path) const {
  absl::Status first;
  for (const std::string& mount : directories()) {
    const std::vector<std::string> all = tree_below(tree, join_path(mount, path));
    for (auto directory = all.rbegin(); directory != all.rend(); ++directory) {
      const absl::Status removed = tree.remove_directory(*directory);
      if (!removed.ok() && !is_gone(removed)) first.Update(removed);
    }
  }
  return first.ok() ? first : annotate(first, "remove cgroup {}", path);
}

}  // namespace podwright::cgroups
