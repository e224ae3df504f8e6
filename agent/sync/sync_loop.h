// SyncLoop: one flow that takes the next event from one merged queue and only ever marks pods: it makes workers, hands
// them wishes, pokes them, and lets them go. It never waits for anything but its queue, so no pod can hold up another.
//
//   sources --SourceUpdate-->  |         |--> admission --> PodWorker(uid) --ended--> |
//   PLEG, probes, strays ----> |  queue  |--> poke(uid)                               | next of the same full name
//   timers ------------------> |         |--> sweeps, collection
//
// Until a source has delivered a complete list, its pods are adopted and probed, never removed; what only the runtime
// knows is let be until all sources have spoken.
#pragma once

#include <deque>
#include <map>
#include <memory>
#include <set>
#include <variant>

#include "agent/admission/admission.h"
#include "agent/sync/parts.h"
#include "agent/sync/pod_worker.h"
#include "pleg/pleg.h"

namespace podwright::sync {

struct LoopOptions {
  // The sources that there are.
  std::set<pods::SourceKind> sources;
  // Between two sweeps over all pods; the net below the events.
  std::chrono::seconds sweep_period{60};
};

class SyncLoop {
 public:
  SyncLoop(Parts& parts, LoopOptions options, admission::NodeCapacity capacity);
  ~SyncLoop();

  // Adopts what the table and the runtime have. Call once, after the first complete look at the runtime.
  void adopt(std::vector<pods::PodRecord> records, const std::vector<pleg::PodRuntimePtr>& running);

  // The news that comes from below; cheap, never waits.
  void on_source(pods::SourceUpdate update);
  void on_pod_event(const pleg::PodEvent& event);
  void on_probe(const probes::ProbeResult& result);
  void on_stray_ended(const PodUid& uid);
  void poke(const PodUid& uid);
  // Asks for the end of a pod (eviction, shutdown).
  bool stop_pod(const PodUid& uid, pods::StopWish stop);

  // Takes events until cancelled. Workers are joined at its end; containers run on.
  Co<void> run();

  // When the loop last took an event or found none waiting: for the health check `syncloop`.
  Instant last_turn() const { return last_turn_; }
  bool sources_ready() const;
  std::size_t workers() const { return workers_.size(); }
  // Pods that have a worker or wait for one: what collection must leave alone.
  std::set<PodUid> known_pods() const;
  // Whether a pod may still use what it was given: devices, ports, its name.
  bool holds_resources(const PodUid& uid) const;
  void set_capacity(admission::NodeCapacity capacity) { capacity_ = std::move(capacity); }
  const admission::NodeCapacity& capacity() const { return capacity_; }

 private:
  struct Ended {
    PodUid uid;
  };
  struct Poke {
    PodUid uid;
  };
  using Event = std::variant<pods::SourceUpdate, Poke, Ended, probes::ProbeResult>;

  void push(Event event);
  void handle(pods::SourceUpdate update);
  void handle(const Poke& poke);
  void handle(const Ended& ended);
  void handle(const probes::ProbeResult& result);

  void add(pods::PodUpdate update);
  void update(pods::PodUpdate update);
  void remove(const pods::PodUpdate& update);
  void source_complete(pods::SourceKind source);
  void show_waiting(const pods::PodUpdate& update);
  void admit_and_start(pods::PodUpdate update);
  void start_worker(PodUid uid, pods::PodRecord record);
  void start_next(const std::string& full_name);
  bool name_is_held(const std::string& full_name, const PodUid& by_other_than) const;
  std::vector<pods::PodPtr> active_pods(const PodUid& except) const;
  Co<void> sweep();

  Parts& parts_;
  LoopOptions options_;
  admission::NodeCapacity capacity_;
  std::deque<Event> queue_;
  Bell bell_;
  std::map<PodUid, std::unique_ptr<PodWorker>> workers_;
  // Pods that wait for the end of another of the same full name, first come first served.
  std::map<std::string, std::deque<pods::PodUpdate>> waiting_;
  std::set<pods::SourceKind> complete_;
  // Adopted pods that their source has named since.
  std::set<PodUid> confirmed_;
  Instant last_turn_;
  Scope scope_;
};

}  // namespace podwright::sync
