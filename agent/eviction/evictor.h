// Evictor: keeps the node from running out of memory, disk or processes. Every period it takes a fresh snapshot, stops
// pods that are over their own limit of local storage, and where a threshold is met it first frees what nothing uses
// (dead containers, unused images) and then stops one pod, waits for its end, and measures again in the next round.
//
//   measure --> pods over local limits? --> stop them, end of the round
//           --> decide(): conditions, thresholds to act on --> reclaim --> measured enough? end of the round
//                                                          --> rank() --> stop the first that may be stopped
//
// Loop thread only.
#pragma once

#include <absl/status/statusor.h>

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "agent/events/event_recorder.h"
#include "agent/eviction/decide.h"
#include "agent/eviction/local_storage.h"
#include "agent/eviction/rank.h"
#include "base/co/loop.h"
#include "base/step/step.h"

namespace podwright::eviction {

struct Options {
  std::vector<Threshold> thresholds;
  // How long a condition stays after it was last seen (evictionPressureTransitionPeriod).
  Duration transition = std::chrono::minutes(5);
  // The most that a pod gets in a soft eviction (evictionMaxPodGracePeriod).
  std::chrono::seconds max_pod_grace{0};
  // Limits of local storage are enforced (localStorageCapacityIsolation).
  bool local_storage = true;
  // Static pods may be stopped, but for those of a critical priority.
  bool evict_static_pods = false;
  // Source: pkg/kubelet/eviction, monitoringInterval and podCleanupTimeout.
  Duration period = std::chrono::seconds(10);
  Duration cleanup_wait = std::chrono::seconds(30);
};

// What the evictor needs of the rest of the agent.
struct Surroundings {
  // A snapshot taken now; null where the caller is stopping.
  std::function<Co<usage::SnapshotPtr>()> measure;
  // Pods that run and are not being stopped.
  std::function<std::vector<pods::PodPtr>()> active;
  // False where the pod is not there any more.
  std::function<bool(const PodUid&, pods::StopWish)> stop;
  // Nothing of the pod is left.
  std::function<bool(const PodUid&)> is_gone;
  // Called at each change.
  std::function<void(pods::NodePressure)> set_pressure;
  // Called in each round without pressure: static pods that were stopped for it may run again.
  std::function<void()> pressure_over;
  // Ways to free disk without stopping a pod.
  std::function<Co<absl::Status>()> remove_dead_containers;
  std::function<Co<absl::Status>(std::function<Co<bool>()> enough)> remove_unused_images;
};

class Evictor {
 public:
  Evictor(Loop& loop, events::EventRecorder& events, Steps& steps, Options options, Surroundings surroundings);

  // Runs until cancelled.
  Co<void> run();
  // One round; gives the pod that was stopped, if any.
  Co<std::optional<PodUid>> round();

  const pods::NodePressure& pressure() const { return pressure_; }
  // Pods stopped, by signal; local limits by what was exceeded.
  const std::map<std::string, uint64_t>& evictions() const { return evictions_; }

 private:
  std::vector<Candidate> candidates(const usage::Snapshot& snapshot) const;
  bool may_stop(const core::Pod& pod) const;
  void set_pressure(pods::NodePressure pressure);
  std::optional<PodUid> stop_over_local(const std::vector<Candidate>& candidates, const usage::NodeUsage& node);
  // True where it was enough.
  Co<bool> reclaim(Threshold threshold);
  Co<bool> is_over(Threshold threshold);
  std::optional<PodUid> stop_one(const usage::Snapshot& snapshot, const Threshold& threshold, const Level& level);
  bool stop(const core::Pod& pod, pods::StopReason reason, std::chrono::seconds grace, const std::string& message,
            std::string_view counted_as);

  Loop& loop_;
  events::EventRecorder& events_;
  Steps& steps_;
  Options options_;
  Surroundings around_;
  Memory memory_;
  pods::NodePressure pressure_;
  std::map<std::string, uint64_t> evictions_;
  // What was acted on last, so that the log tells of it once.
  std::optional<Signal> told_;
};

}  // namespace podwright::eviction
