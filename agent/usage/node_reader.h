// Reads what the node itself uses: the root cgroup, the system's cgroups and those of the classes of pods, file
// systems, network, processes. Synchronous; called from offloaded work.
#pragma once

#include <string>
#include <vector>

#include "agent/usage/cgroup_reader.h"
#include "agent/usage/snapshot.h"

namespace podwright::usage {

// A cgroup that the node's page names; an empty path stands for none, and for "kubelet" the agent's own.
struct SystemTarget {
  std::string name, cgroup;
};

struct NodeTarget {
  std::string name;
  std::string root_dir = "/var/lib/kubelet";
  std::vector<SystemTarget> system;
  // Cgroups of the classes of pods, that of all pods first.
  std::vector<std::string> qos;
};

// Where the runtime keeps images and writable layers; empty until it said so.
struct ImagePlaces {
  std::string image, container;
};

NodeUsage read_node(const Machinery& on, const NodeTarget& target, const ImagePlaces& places, Depth depth);

// Names of block devices by major and minor number: "/dev/sda". From /proc/diskstats.
using DeviceNames = std::map<std::pair<uint32_t, uint32_t>, std::string>;
DeviceNames device_names(Tree& tree);

}  // namespace podwright::usage
