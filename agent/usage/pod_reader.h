// Reads what one pod and its containers use. Synchronous; called from offloaded work, one piece for each pod, so that a
// read that hangs holds up one pod alone.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "agent/pods/pod.h"
#include "agent/usage/cgroup_reader.h"
#include "agent/usage/snapshot.h"

namespace podwright::usage {

// A container that runs.
struct ContainerTarget {
  ContainerName name;
  ContainerId id;
  std::string image;
  WallTime started_at;
};

struct VolumeTarget {
  std::string name, path;
  bool local = false, in_memory = false;
  std::string claim;
};

// A pod to look at.
struct PodTarget {
  pods::PodPtr pod;
  PodKey key;
  PodUid uid;
  WallTime started_at;
  // Below which the runtime puts the cgroups of its containers.
  std::string cgroup;
  // False: `cgroup` is that of all pods, since none has its own.
  bool own_cgroup = true;
  SandboxId sandbox_id;
  std::vector<ContainerTarget> containers;
  std::string log_dir;
  std::vector<VolumeTarget> volumes;
};

// Nothing where it has no cgroup.
std::optional<PodUsage> read_pod(const Machinery& on, const PodTarget& target, Depth depth);

// Which of the cgroups directly below a pod's is that of a container or sandbox: "ID", "NAME-ID" or "NAME-ID.scope", as
// the runtime and its driver write it; empty where none is. Pure.
std::string find_container_cgroup(const std::vector<DirectoryEntry>& children, std::string_view id);

}  // namespace podwright::usage
