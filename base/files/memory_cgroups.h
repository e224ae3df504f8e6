// MemoryCgroups: the cgroup file systems of a MemoryTree, of version 1 or 2, mounted below /sys/fs/cgroup. Directories
// have their control files, hold processes, refuse rmdir while they do, and in version 2 have only the controllers that
// their parent hands on. Loop thread only.
#pragma once

#include <map>
#include <memory>
#include <set>
#include <string>

#include "base/files/memory_tree.h"

namespace podwright {

class MemoryCgroups : public std::enable_shared_from_this<MemoryCgroups> {
 public:
  enum class Version { kV1, kV2 };

  // Mounts anew, as a boot does: after power_cut() too.
  static std::shared_ptr<MemoryCgroups> mount(MemoryTree& tree, Version version);

  // Puts a process into the cgroup at `path` ("/kubepods/pod1/c"), in every hierarchy.
  void put(pid_t pid, const std::string& path);
  // A process that the kernel holds: it survives SIGKILL.
  void hold(pid_t pid) { held_.insert(pid); }
  // The kernel lets go: what was killed meanwhile ends.
  void release(pid_t pid);
  // SIGKILL. False where the process lives on or is none of ours.
  bool kill(pid_t pid);
  bool is_alive(pid_t pid) const { return places_.contains(pid); }
  std::set<pid_t> below(const std::string& path) const;

 private:
  class Files;
  std::map<pid_t, std::string> places_;
  std::set<pid_t> held_, doomed_;
  std::map<std::string, std::set<std::string>> handed_on_;  // version 2: cgroup.subtree_control by cgroup
};

}  // namespace podwright
