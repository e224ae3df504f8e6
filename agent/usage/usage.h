// Usage: takes snapshots of what node and pods use. One is taken on each tick, so that rates have a sample before them,
// and on demand where the last is older than the caller wants; callers that come meanwhile share it. Reading happens in
// offloaded work, a piece for each pod: one that hangs leaves its pod out of this and the next snapshots and holds up
// nothing else.
//
// What takes long to sum up (directories, writable layers) is found by flows of their own at a pace that costs little,
// and joined to each snapshot as of then. Loop thread only.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "agent/usage/disk_walk.h"
#include "agent/usage/node_reader.h"
#include "agent/usage/pod_reader.h"
#include "agent/usage/snapshot.h"
#include "base/co/bell.h"
#include "base/co/offload.h"
#include "base/co/scope.h"
#include "base/step/step.h"
#include "cri/runtime.h"

namespace podwright::usage {

struct Options {
  // Between two ticks. Source: the kubelet's eviction loop and cAdvisor's housekeeping.
  Duration period = std::chrono::seconds(10);
  // How long nothing may come back before the pods that are still out are left out.
  Duration patience = std::chrono::seconds(2);
  // Between two walks of what has no bound; what has one is walked on each tick.
  Duration disk_period = std::chrono::seconds(60);
  // How long after somebody wanted full depth the ticks have it too, so that scrapes find it ready.
  Duration full_for = std::chrono::seconds(120);
  // Of one call of the runtime.
  Duration call_deadline = std::chrono::seconds(10);
};

// The next multiple of `period`, so that all that happens on a tick happens at once and shares a snapshot.
Instant next_tick(Instant now, Duration period);

class Usage {
 public:
  Usage(Loop& loop, Offload& offload, Tree& tree, cri::Runtime& runtime, cri::Images& images, Steps& steps,
        cgroups::Hierarchy hierarchy, NodeTarget node, std::function<std::vector<PodTarget>()> pods, Options options);

  // From the next snapshot on; before run().
  void set_node(NodeTarget node);

  // Takes snapshots on the tick until cancelled.
  Co<void> run();

  // A snapshot of at least this depth that is not older than `max_age`. Null only where the caller was cancelled before
  // there was any.
  Co<SnapshotPtr> take(Depth depth, Duration max_age);
  // The newest; null before the first.
  SnapshotPtr last() const { return newest_; }

  // Looks anew at what the runtime's layers and images take, and where they are.
  Co<void> refresh_layers();

  // Ends readings in flight.
  Co<void> close() { return scope_.close(); }

  Loop& loop() { return loop_; }
  Offload& offload() { return offload_; }

 private:
  struct Gather;
  struct Rate {
    Instant at;
    uint64_t usage_ns = 0;
    std::optional<uint64_t> nano_cores;
  };
  struct PodDisk {
    Instant begun;
    std::map<ContainerName, DiskUsage> logs;
    std::map<std::string, DiskUsage> volumes;
  };

  bool is_fresh(const SnapshotPtr& snapshot, Depth depth, Instant oldest) const;
  Co<SnapshotPtr> reach(Depth depth, Duration max_age);
  Co<void> read(Depth depth);
  void add_pieces(Gather& gather, std::vector<PodTarget> targets, Depth depth);
  void publish(Gather& gather, Depth depth, std::size_t missing);
  void set_rate(CgroupUsage& cgroup, std::map<std::string, Rate>& rates) const;
  void add_disk(PodUsage& pod) const;

  Co<void> measure_disk();
  Co<void> measure_pod(PodTarget target);
  Co<DiskUsage> walk(std::string path);

  Loop& loop_;
  Offload& offload_;
  Tree& tree_;
  cri::Runtime& runtime_;
  cri::Images& images_;
  Steps& steps_;
  std::shared_ptr<const cgroups::Hierarchy> hierarchy_;
  NodeTarget node_;
  std::function<std::vector<PodTarget>()> pods_;
  Options options_;

  SnapshotPtr newest_, newest_full_;
  uint64_t next_number_ = 1;
  std::optional<Depth> reading_;
  Instant full_until_ = Instant::min();
  Notice read_;
  // Pods (and with an empty UID the node) whose reading has not come back.
  std::shared_ptr<std::set<PodUid>> out_ = std::make_shared<std::set<PodUid>>();
  std::map<std::string, Rate> rates_;  // by cgroup

  std::map<PodUid, PodDisk> disks_;
  std::set<PodUid> walking_;
  std::map<ContainerId, DiskUsage> layers_;
  std::optional<DiskUsage> images_used_, layers_used_;
  ImagePlaces places_;
  Instant layers_at_ = Instant::min();
  std::string layers_error_;
  Scope scope_;
};

}  // namespace podwright::usage
