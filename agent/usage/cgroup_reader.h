// Reads what one cgroup uses, from cgroup file systems of version 1 or 2. Synchronous; called from offloaded work. What
// a file does not tell, or a file that is not there, leaves the number out.
#pragma once

#include <string>

#include "agent/cgroups/hierarchy.h"
#include "agent/usage/snapshot.h"
#include "base/files/tree.h"

namespace podwright::usage {

// What the readers look at. The clock is only asked for the time; it may be from any thread.
struct Machinery {
  Tree& tree;
  const cgroups::Hierarchy& hierarchy;
  const Clock& clock;
};

// What a cgroup is: that of one workload, whose processes may be a level deeper, or one that groups others.
enum class Role { kWorkload, kGroup };

// Nothing where there is no such cgroup.
std::optional<CgroupUsage> read_cgroup(const Machinery& on, const std::string& path, Role role, Depth depth);

// The processes directly in the cgroup; of a workload that has none there, all below.
std::vector<pid_t> processes_in(const Machinery& on, const std::string& path, Role role);

// The interfaces that the process sees.
std::vector<InterfaceUsage> read_network(Tree& tree, pid_t process);

// The file's content; nothing where it cannot be read.
std::optional<std::string> read_text(Tree& tree, const std::string& path);

namespace reader {
void read_v1(const Machinery& on, Depth depth, CgroupUsage& into);
void read_v2(const Machinery& on, Depth depth, CgroupUsage& into);
// What meminfo tells of the whole machine, where the root cgroup has no numbers of its own.
void fill_from_meminfo(Tree& tree, MemoryUsage& into);
}  // namespace reader

}  // namespace podwright::usage
