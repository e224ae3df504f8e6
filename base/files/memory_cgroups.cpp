#include "base/files/memory_cgroups.h"

#include <cerrno>
#include <charconv>

#include "base/files/memory_nodes.h"

namespace podwright {
namespace {

// The files of each controller with what a new cgroup has in them.
const std::map<std::string, std::vector<SpecialFs::File>>& files_v1() {
  static const std::map<std::string, std::vector<SpecialFs::File>> kFiles = {
      {"cpu", {{"cpu.shares", "1024\n"}, {"cpu.cfs_quota_us", "-1\n"}, {"cpu.cfs_period_us", "100000\n"}}},
      {"cpuacct", {{"cpuacct.usage", "0\n"}}},
      {"cpuset", {{"cpuset.cpus", "\n"}, {"cpuset.mems", "\n"}}},
      {"memory",
       {{"memory.limit_in_bytes", "9223372036854771712\n"},
        {"memory.usage_in_bytes", "0\n"},
        {"memory.stat", "total_inactive_file 0\n"}}},
      {"pids", {{"pids.max", "max\n"}, {"pids.current", "0\n"}}},
      {"devices", {}},
      {"systemd", {}},
  };
  return kFiles;
}

const std::map<std::string, std::vector<SpecialFs::File>>& files_v2() {
  static const std::map<std::string, std::vector<SpecialFs::File>> kFiles = {
      {"cpu", {{"cpu.weight", "100\n"}, {"cpu.max", "max 100000\n"}}},
      {"cpuset", {{"cpuset.cpus", "\n"}}},
      {"io", {{"io.weight", "default 100\n"}}},
      {"memory", {{"memory.max", "max\n"}, {"memory.current", "0\n"}, {"memory.stat", "inactive_file 0\n"}}},
      {"pids", {{"pids.max", "max\n"}, {"pids.current", "0\n"}}},
  };
  return kFiles;
}

}  // namespace

// One mounted hierarchy.
class MemoryCgroups::Files final : public SpecialFs {
 public:
  Files(std::weak_ptr<MemoryCgroups> all, std::string controller)
      : all_(std::move(all)), controller_(std::move(controller)) {}

  std::vector<File> new_directory(const std::string& path) override {
    std::vector<File> files = {{"cgroup.procs", "", 0644}};
    if (is_v2()) {
      files.push_back({"cgroup.controllers", "", 0444});
      files.push_back({"cgroup.subtree_control", "", 0644});
      if (path == "/") return files;
      files.push_back({"cgroup.kill", "", 0200});
      for (const auto& [name, own] : files_v2()) files.insert(files.end(), own.begin(), own.end());
      return files;
    }
    files.push_back({"tasks", "", 0644});
    for (File file : files_v1().at(controller_)) {
      if (path == "/" && file.name == "cpuset.cpus") file.content = "0-1\n";
      if (path == "/" && file.name == "cpuset.mems") file.content = "0\n";
      files.push_back(std::move(file));
    }
    return files;
  }

  int write(const std::string& path, std::string_view content, std::string* stored) override {
    const auto all = all_.lock();
    const std::string cgroup = parent_path(path);
    const std::string file = file_name(path);
    if (file == "cgroup.procs") {
      pid_t pid = 0;
      std::from_chars(content.data(), content.data() + content.size(), pid);
      if (!all->places_.contains(pid)) return ESRCH;
      all->places_[pid] = cgroup;
      return 0;
    }
    if (file == "cgroup.kill") {
      for (const pid_t pid : all->below(cgroup)) all->kill(pid);
      return 0;
    }
    if (file == "cgroup.subtree_control") return hand_on(*all, cgroup, content);
    if (is_v2() && !has_controller(*all, cgroup, file.substr(0, file.find('.')))) return ENOENT;
    *stored = std::string(content) + "\n";
    return 0;
  }

  std::optional<std::string> read(const std::string& path) override {
    const auto all = all_.lock();
    const std::string cgroup = parent_path(path);
    const std::string file = file_name(path);
    std::string text;
    if (file == "cgroup.procs" || file == "tasks") {
      for (const auto& [pid, place] : all->places_) {
        if (place == cgroup) text += std::to_string(pid) + "\n";
      }
      return text;
    }
    if (file == "cgroup.subtree_control") {
      for (const std::string& name : all->handed_on_[cgroup]) text += (text.empty() ? "" : " ") + name;
      return text + "\n";
    }
    if (file == "cgroup.controllers") {
      for (const auto& [name, files] : files_v2()) {
        if (has_controller(*all, cgroup, name)) text += (text.empty() ? "" : " ") + name;
      }
      return text + "\n";
    }
    return std::nullopt;
  }

  int remove_directory(const std::string& path) override {
    const auto all = all_.lock();
    for (const auto& [pid, place] : all->places_) {
      if (place == path) return EBUSY;
    }
    all->handed_on_.erase(path);
    return 0;
  }

 private:
  bool is_v2() const { return controller_.empty(); }

  static bool has_controller(MemoryCgroups& all, const std::string& cgroup, const std::string& name) {
    return cgroup == "/" || all.handed_on_[parent_path(cgroup)].contains(name);
  }

  static int hand_on(MemoryCgroups& all, const std::string& cgroup, std::string_view wishes) {
    while (!wishes.empty()) {
      const std::size_t end = std::min(wishes.find(' '), wishes.size());
      const std::string name(wishes.substr(1, end - 1));
      if (wishes.front() == '-') {
        all.handed_on_[cgroup].erase(name);
      } else {
        if (!files_v2().contains(name) || !has_controller(all, cgroup, name)) return ENOENT;
        // A cgroup with processes of its own hands nothing on.
        for (const auto& [pid, place] : all.places_) {
          if (place == cgroup && cgroup != "/") return EBUSY;
        }
        all.handed_on_[cgroup].insert(name);
      }
      wishes.remove_prefix(std::min(end + 1, wishes.size()));
    }
    return 0;
  }

  std::weak_ptr<MemoryCgroups> all_;
  std::string controller_;
};

std::shared_ptr<MemoryCgroups> MemoryCgroups::mount(MemoryTree& tree, Version version) {
  auto all = std::make_shared<MemoryCgroups>();
  const std::string top = "/sys/fs/cgroup";
  absl::Status status = tree.make_directories(top, 0755);
  if (version == Version::kV2) {
    status.Update(tree.mount_special(top, "cgroup2", std::make_shared<Files>(all, "")));
  } else {
    status.Update(tree.mount("tmpfs", top, "tmpfs", 0, "mode=755"));
    for (const auto& [controller, files] : files_v1()) {
      const std::string at = join_path(top, controller);
      const std::string option = controller == "systemd" ? "name=systemd" : controller;
      status.Update(tree.make_directories(at, 0755));
      status.Update(tree.mount_special(at, "cgroup", std::make_shared<Files>(all, controller), {"rw", option}));
    }
  }
  if (!status.ok()) std::abort();  // a fault on /sys was set before the mount: the test is at fault
  return all;
}

void MemoryCgroups::put(pid_t pid, const std::string& path) {
  places_[pid] = path;
}

void MemoryCgroups::release(pid_t pid) {
  held_.erase(pid);
  if (doomed_.erase(pid) > 0) places_.erase(pid);
}

bool MemoryCgroups::kill(pid_t pid) {
  if (held_.contains(pid)) {
    doomed_.insert(pid);
    return false;
  }
  return places_.erase(pid) > 0;
}

std::set<pid_t> MemoryCgroups::below(const std::string& path) const {
  std::set<pid_t> pids;
  for (const auto& [pid, place] : places_) {
    if (memory_tree::is_within(place, path)) pids.insert(pid);
  }
  return pids;
}

}  // namespace podwright
