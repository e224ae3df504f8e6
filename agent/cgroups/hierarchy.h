// The machine's cgroup file systems: version 1 with a directory tree for each controller, or version 2 with one. Paths
// are those of to_path(). Calls are synchronous and thread-safe as the Tree is, and touch only the path they are given
// (and, in version 2, cgroup.subtree_control of its parents).
#pragma once

#include <absl/status/statusor.h>

#include <map>
#include <set>
#include <string>
#include <vector>

#include "agent/cgroups/numbers.h"
#include "base/files/tree.h"
#include "base/process/signals.h"

namespace podwright::cgroups {

enum class Version { kV1, kV2 };

class Hierarchy {
 public:
  // Looks at the mounts. Unified means /sys/fs/cgroup is of version 2. FailedPrecondition where cpu, memory or (in
  // version 1) cpuset is missing, as pods cannot be bounded then.
  static absl::StatusOr<Hierarchy> detect(Tree& tree);

  Version version() const { return version_; }
  // The directory of a cgroup in the hierarchy of `controller`: "/sys/fs/cgroup/memory/kubepods". Empty where the
  // controller is not there.
  std::string directory(std::string_view controller, const std::string& path) const;
  bool has(std::string_view controller) const { return mounts_.contains(std::string(controller)); }

  // Makes the cgroup with its parents in every hierarchy that bounds something; existing ones are adopted.
  absl::Status make(Tree& tree, const std::string& path) const;
  // Writes what is set; a controller that the machine lacks is left out.
  absl::Status set(Tree& tree, const std::string& path, const Limits& limits) const;
  // Moves a process there, in every hierarchy that bounds something; the cgroup is made where it is not there.
  absl::Status join(Tree& tree, const std::string& path, pid_t pid) const;
  // True where any hierarchy has it.
  bool exists(Tree& tree, const std::string& path) const;
  // Names of the cgroups directly below, of all hierarchies.
  std::set<std::string> children(Tree& tree, const std::string& path) const;
  // Processes in the cgroup and below it.
  std::set<pid_t> processes(Tree& tree, const std::string& path) const;
  // Processes in the root itself, not below it.
  std::set<pid_t> processes_in_root(Tree& tree) const;
  // Kills them all once: cgroup.kill, or by descriptors that are checked to belong to the cgroup still.
  absl::Status kill(Tree& tree, Signals& signals, const std::string& path) const;
  // Removes the cgroup and all below it, bottom-up, in every hierarchy. FailedPrecondition while a process is in one.
  absl::Status remove(Tree& tree, const std::string& path) const;
  // Kernel names of the page sizes whose use can be bounded.
  std::vector<std::string> huge_page_sizes(Tree& tree) const;

 private:
  Version version_ = Version::kV2;
  // Mount points by controller; version 2 has one for all. Named hierarchies are "name=systemd".
  std::map<std::string, std::string> mounts_;

  std::set<std::string> directories() const;
  std::vector<std::string> tree_below(Tree& tree, const std::string& directory) const;
  absl::Status make_v1(Tree& tree, const std::string& mount, const std::string& path) const;
  absl::Status make_v2(Tree& tree, const std::string& path) const;
  absl::Status copy_cpuset(Tree& tree, const std::string& directory, const std::string& mount) const;
};

}  // namespace podwright::cgroups
