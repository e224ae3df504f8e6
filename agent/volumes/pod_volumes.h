// PodVolumes: the volumes of pods. Each kind is one small class behind VolumePlugin (setup, teardown, update); this one
// sets up what a pod's spec names, remembers through the pod's record what was set up and how to undo it, and makes the
// mounts that a container gets. Work that touches disk is offloaded; nothing here blocks the loop.
#pragma once

#include <absl/status/statusor.h>

#include <memory>
#include <string>
#include <vector>

#include "agent/objects/objects.h"
#include "agent/pods/containers.h"
#include "agent/pods/record.h"
#include "base/co/offload.h"
#include "base/co/scope.h"
#include "base/files/tree.h"
#include "base/process/processes.h"
#include "base/step/step.h"
#include "cri/types.h"

namespace podwright::volumes {

struct Options {
  std::string root = "/var/lib/kubelet";
  std::string node_name;
  // What the node has to give: the bound of a memory-backed emptyDir without a size, and what the downward API says of
  // a container without limits.
  uint64_t node_memory_bytes = 0;
  int64_t node_cpu_milli = 0;
};

// What the volumes of a pod need to know of it at run time (downward API).
struct PodFacts {
  std::string host_ip;
  std::vector<std::string> host_ips, pod_ips;
};

// A container's mounts of volumes, ready for its CRI configuration.
struct ContainerMounts {
  std::vector<cri::Mount> mounts;
  // Raw block volumes and the like.
  std::vector<cri::Device> devices;
};

class PodVolumes {
 public:
  PodVolumes(Loop& loop, Offload& offload, Tree& tree, Processes& processes, objects::Objects& objects, Steps& steps,
             Options options);
  ~PodVolumes();

  // Makes the pod's directories (<root>/pods/<uid>, volumes, plugins, containers: 0750) and sets up every volume that
  // is not set up yet; idempotent. Waits (until `deadline` or cancellation) for objects that are missing, by their
  // change, not by polling. The records say what stands; on failure too, for the part that was done.
  // The error names the volume: "MountVolume.SetUp failed for volume \"v\" : ...".
  Co<absl::Status> setup(pods::PodPtr pod, PodFacts facts, std::vector<pods::VolumeRecord>* records, Instant deadline);

  // What `setup` is waiting for, for people; empty where nothing.
  std::string waiting_for(const PodUid& uid) const;

  // Mounts for one container, with subPath and subPathExpr resolved without races and bound (expanded with `env`).
  Co<absl::StatusOr<ContainerMounts>> mounts_for(pods::PodPtr pod, pods::ContainerRef container,
                                                 std::vector<std::pair<std::string, std::string>> env);

  // Rewrites volumes whose content comes from objects or the pod itself, where it changed (atomic ..data swap).
  Co<absl::Status> update(pods::PodPtr pod, PodFacts facts);

  // Undoes everything of a pod: subpath mounts, volumes, then the pod's directory. Idempotent; also for a pod that is
  // known only by its records or its directory.
  Co<absl::Status> teardown(PodUid uid, std::vector<pods::VolumeRecord> records, Instant deadline);

  // UIDs that have a directory under <root>/pods, for the collection of orphans.
  Co<absl::StatusOr<std::vector<PodUid>>> pods_on_disk();

  std::string pod_dir(const PodUid& uid) const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace podwright::volumes
