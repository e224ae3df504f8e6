// Collector: the collection of what pods leave behind (behaviours 21): dead containers beyond the newest of each name,
// sandboxes that are not ready any more, log directories and links of pods that are gone, pod directories that nobody
// owns. Runs once a minute and after deaths; nothing of a pod that is known is touched beyond these rules, and nothing
// of an unknown one before every source has spoken.
#pragma once

#include <functional>
#include <set>
#include <string>
#include <vector>

#include "agent/containers/config.h"
#include "agent/events/event_recorder.h"
#include "agent/volumes/pod_volumes.h"
#include "base/co/offload.h"
#include "base/step/step.h"
#include "cri/runtime.h"

namespace podwright::containers {

struct CollectorOptions {
  std::chrono::seconds period{60};
  // maximum-dead-containers-per-container.
  int kept_per_container = 1;
  // Removals in flight at once.
  std::size_t parallel = 16;
  std::chrono::seconds call_deadline{120};
};

// What the sync loop tells the collector.
struct CollectorFacts {
  // Pods that have a worker or wait for one.
  std::set<PodUid> known;
  // Every source has delivered a complete list.
  bool sources_ready = false;
};

// What is to be removed, by what was listed; pure.
struct CollectorPlan {
  std::vector<ContainerId> containers;
  std::vector<SandboxId> sandboxes;
};
CollectorPlan plan_collection(const std::vector<cri::SandboxStatus>& sandboxes,
                              const std::vector<cri::ContainerStatus>& containers, const CollectorFacts& facts,
                              const CollectorOptions& options);

class Collector {
 public:
  Collector(Loop& loop, Offload& offload, Tree& tree, cri::Runtime& runtime, volumes::PodVolumes& volumes,
            events::EventRecorder& events, Steps& steps, const NodeFacts& node, CollectorOptions options,
            std::function<CollectorFacts()> facts);

  // Runs until cancelled.
  Co<void> run();
  // One pass now.
  Co<absl::Status> collect();

 private:
  Co<void> remove_container(ContainerId id, absl::Status* result);
  Co<void> remove_sandbox(SandboxId id, absl::Status* result);
  // Removes all of a kind, so many at once; the first error.
  template <class Id>
  Co<absl::Status> remove_all(std::vector<Id> ids, Co<void> (Collector::*remove)(Id, absl::Status*));
  Co<absl::Status> collect_log_directories();
  Co<absl::Status> collect_log_links(std::set<std::string> live_ids);
  Co<absl::Status> collect_directories();

  Loop& loop_;
  Offload& offload_;
  Tree& tree_;
  cri::Runtime& runtime_;
  volumes::PodVolumes& volumes_;
  events::EventRecorder& events_;
  Steps& steps_;
  const NodeFacts& node_;
  CollectorOptions options_;
  std::function<CollectorFacts()> facts_;
  Slots slots_;
  std::string last_error_;
};

}  // namespace podwright::containers
