// PodCgroups: the cgroups of pods and of their QoS classes.
//   kubepods              what all pods together may use
//     burstable, besteffort
//       pod<uid>          one pod; the runtime makes those of its containers below
//     pod<uid>            a guaranteed pod
// Nothing outside kubepods (below cgroupRoot) is touched, but for enforce_existing(). Loop thread only; the work on
// files is offloaded.
#pragma once

#include <absl/status/statusor.h>

#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "agent/cgroups/driver.h"
#include "agent/cgroups/hierarchy.h"
#include "agent/cgroups/names.h"
#include "agent/cgroups/numbers.h"
#include "api/types.h"
#include "base/co/bell.h"
#include "base/co/loop.h"
#include "base/process/signals.h"

namespace podwright::cgroups {

struct Options {
  // False: no cgroup is made, and pods have cgroupRoot as their parent.
  bool per_qos = true;
  std::string cgroup_root = "/";
  DriverKind driver = DriverKind::kCgroupfs;
  PodLimitOptions pod_limits;
  // How long remove() goes on killing and trying before it says that something is left.
  std::chrono::milliseconds remove_budget{10'000};
  // Of one call to systemd.
  std::chrono::milliseconds call_limit{5'000};
};

// What all pods together may use: capacity less what is reserved for the system and the agent.
struct NodeAllocatable {
  int64_t milli_cpu = 0;
  std::optional<int64_t> memory_bytes, pids;
};

// A cgroup that could not be removed.
struct Leftover {
  PodUid uid;
  std::string path;
  int attempts = 0;
  Instant since;
  std::string error;
};

class PodCgroups {
 public:
  // `systemd` is its driver (agent/cgroups/systemd_driver.h) and outlives this; null where there is none on this
  // machine, and then options.driver is kCgroupfs.
  PodCgroups(Loop& loop, Offload& offload, Tree& tree, Signals& signals, Hierarchy hierarchy, Options options,
             Driver* systemd = nullptr);

  // Changes the driver; before start(). FailedPrecondition where this machine has no such driver.
  absl::Status use(DriverKind driver);

  // Makes or adopts kubepods and the QoS classes. Calling it twice is safe.
  Co<absl::Status> start();
  // Bounds all pods together. The kernel refuses (FailedPrecondition) a memory bound below what is used already.
  Co<absl::Status> enforce(NodeAllocatable allocatable);

  // Counts a pod that runs already (after a restart of the agent) in its QoS class, without touching anything.
  void adopt(const core::Pod& pod);
  // The same of a cgroup outside that exists already (systemReservedCgroup, kubeReservedCgroup); NotFound where it does
  // not. It is the only thing outside kubepods that is changed, and only on the configuration's word.
  Co<absl::Status> enforce_existing(std::string cgroup, NodeAllocatable reserved);

  // Makes the pod's cgroup and sets what its spec asks for; of an existing one it sets what has changed. The QoS
  // classes follow first.
  Co<absl::Status> ensure(std::shared_ptr<const core::Pod> pod);
  // Kills what is left in the pod's cgroup and removes it with all below; nothing there is fine. An error where it
  // could not within the budget; leftovers() lists it until it is gone.
  Co<absl::Status> remove(PodUid uid);

  // What CRI's cgroup_parent is for this pod.
  std::string cri_parent(const core::Pod& pod) const;
  // Below a hierarchy's mount, for those who read usage.
  std::string path_of(api::Qos qos, const PodUid& uid) const;
  std::string kubepods_path() const;
  // The QoS class under which the pod's cgroup stands; nothing where it has none.
  std::optional<api::Qos> found_in(const PodUid& uid) const;
  bool exists(const PodUid& uid) const { return found_in(uid).has_value(); }
  // Pods that have a cgroup.
  std::vector<PodUid> list() const;
  std::vector<Leftover> leftovers() const;

  const Hierarchy& hierarchy() const { return hierarchy_; }
  DriverKind driver() const { return options_.driver; }

 private:
  Co<absl::Status> update_burstable();
  Co<absl::Status> remove_one(PodUid uid, api::Qos qos, Instant deadline);
  void note_leftover(const PodUid& uid, api::Qos qos, const absl::Status& reason);
  Instant call_deadline() const { return after(loop_.now(), options_.call_limit); }

  Loop& loop_;
  Offload& offload_;
  Tree& tree_;
  Signals& signals_;
  Hierarchy hierarchy_;
  Options options_;
  Name root_;
  CgroupfsDriver cgroupfs_;
  Driver* systemd_;
  Driver* driver_;
  // What was written, so that it is written again only where it has changed.
  std::map<PodUid, Limits> set_;
  // Requested CPU of burstable pods, in thousandths.
  std::map<PodUid, int64_t> burstable_milli_cpu_;
  std::optional<int64_t> burstable_shares_;
  std::map<PodUid, Leftover> leftovers_;
};

}  // namespace podwright::cgroups
