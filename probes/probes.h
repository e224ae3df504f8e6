// Probes: runs the probes of all containers of the node, each as a flow of its own, and tells each outcome.
//
//   add() --flow per kind--> initial delay --> [startup passed?] --> probe --> next() --> Sink<ProbeResult>
//                                                 ^_______________________ every period |
//
// It belongs to a container ID: another ID under the same name starts from nothing. A startup probe gates the two
// others. An exec probe has at most one call outstanding: while a timed-out one has not returned, each tick counts as
// a failure and starts nothing. Nothing here records events or touches the table; the listener does.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/co/bell.h"
#include "base/co/scope.h"
#include "base/co/sink.h"
#include "base/net/net.h"
#include "base/step/step.h"
#include "cri/runtime.h"
#include "probes/outcome.h"
#include "probes/probe_state.h"
#include "probes/spec.h"
#include "probes/targets.h"

namespace podwright::probes {

struct ProbeOptions {
  TargetPolicy targets = TargetPolicy::kAllow;
  // Exec calls at once on the node. Source: case K101; the wait for a place does not count into a probe's timeout.
  std::size_t exec_limit = 8;
  // An exec call that has not returned by then is cut.
  Duration exec_call_limit = std::chrono::hours(1);
  // When the agent started: probes of its first period are spread over the period.
  Instant agent_started;
  std::string user_agent = "kube-probe/1.36";
  // How many processes run in the container's cgroup now; nothing where that cannot be told. Must not block. Empty:
  // leftovers of timed-out exec probes are not counted.
  std::function<std::optional<uint32_t>(const PodUid&, const ContainerId&)> processes_of;
};

// A running container and its probes.
struct ProbedContainer {
  ProbeTarget target;
  // When it was seen running, by our clock; the initial delay counts from here.
  Instant running_since;
  ProbeSpecs specs;
};

// One outcome, as news.
struct ProbeResult {
  PodUid uid;
  ContainerName container;
  ContainerId id;
  ProbeKind kind = ProbeKind::kLiveness;
  ProbeOutcome outcome;
  // After this outcome; to be kept in the durable table.
  ProbeState state;
  Verdict verdict = Verdict::kUnknown;
  // The verdict is another than before this outcome.
  bool changed = false;
  // The event to record; nothing after a plain success.
  std::optional<ProbeEvent> event;
  // A second one, of leftover processes of timed-out exec probes (reason ExecProbeLeftovers).
  std::optional<ProbeEvent> leftover_event;
  Duration took{0};
};

// What the probes of one container ID say together.
struct ContainerVerdicts {
  bool started = true;  // no startup probe, or it passed
  bool ready = true;    // started, and no readiness probe or its verdict is success
  bool liveness_failed = false;
  bool startup_failed = false;
  // The grace of the kill that a failed probe asks for, where that probe names one.
  std::optional<std::chrono::seconds> termination_grace;
  bool operator==(const ContainerVerdicts&) const = default;
};

// Pure: for the statuses of containers that this agent does not probe (yet). Readiness is a function of the spec and
// the states, never of whether a flow exists.
ContainerVerdicts verdicts_of(const ProbeSpecs& specs, const std::map<ProbeKind, ProbeState>& states);

// Upper edges of the buckets of prober_probe_duration_seconds; the last bucket is without an edge.
inline constexpr std::array<double, 11> kDurationBuckets = {.005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10};

// For metrics, `describe` and the debug page.
struct ProbeSnapshot {
  ProbeTarget target;
  ProbeKind kind = ProbeKind::kLiveness;
  ProbeState state;
  uint64_t successful = 0, failed = 0, unknown = 0;
  std::array<uint32_t, kDurationBuckets.size() + 1> durations{};
  Duration total_time{0};
  // An exec call that timed out and has not returned.
  bool exec_outstanding = false;
  // Processes beyond those of the last good exec probe.
  uint32_t leftover_processes = 0;
};

class Probes {
 public:
  Probes(Loop& loop, Net& net, cri::Runtime& runtime, Steps& steps, ProbeOptions options, Sink<ProbeResult> results);
  ~Probes();

  // Starts probing a running container. The same ID again only takes over changed addresses and specs, counters stay;
  // another ID of the same name ends the old one's probes. `restored` is what the table knows of this ID.
  void add(ProbedContainer container, std::map<ProbeKind, ProbeState> restored = {});

  // The container runs no more; or the pod is gone. Calls in flight are cut, and tell nothing any more.
  void remove(const PodUid& uid, const ContainerName& container);
  void remove(const PodUid& uid);

  // The pod is being terminated: readiness goes on, the two others end for good, for containers added later too, until
  // remove(uid).
  void stop_liveness_and_startup(const PodUid& uid);

  // Probes soon instead of at the next tick, which then comes a period later.
  void trigger(const PodUid& uid, const ContainerName& container, ProbeKind kind);

  // Nothing where this container ID is not being probed.
  std::optional<ContainerVerdicts> verdicts(const PodUid& uid, const ContainerName& container,
                                            const ContainerId& id) const;
  std::map<ProbeKind, ProbeState> states(const PodUid& uid, const ContainerName& container,
                                         const ContainerId& id) const;

  std::vector<ProbeSnapshot> snapshot() const;
  const TargetCounts& target_counts() const { return targets_.counts(); }

  // Ends all probing and joins it.
  Co<void> close();

 private:
  // A container and its probes; one probe of it.
  struct Watched;
  struct Worker;
  using WatchedPtr = std::shared_ptr<Watched>;
  using WorkerPtr = std::shared_ptr<Worker>;
  using Key = std::pair<PodUid, ContainerName>;

  WatchedPtr find(const PodUid& uid, const ContainerName& container, const ContainerId& id) const;
  // Starts and ends workers so that there is one for each probe of the specs.
  void take_specs(const WatchedPtr& watched, const std::map<ProbeKind, ProbeState>& restored);
  void start(const WatchedPtr& watched, ProbeKind kind, ProbeState state);
  void stop(const WatchedPtr& watched, const WorkerPtr& worker);
  void end(const WatchedPtr& watched);

  Co<void> run(WatchedPtr watched, WorkerPtr worker);
  Instant first_tick(const Watched& watched, const Worker& worker);
  // False where the flow is stopping.
  static Co<bool> wait_for_startup(WatchedPtr watched);
  Co<ProbeOutcome> probe(WatchedPtr watched, WorkerPtr worker);
  Co<ProbeOutcome> probe_once(WatchedPtr watched, WorkerPtr worker);
  Co<ProbeOutcome> probe_exec(WatchedPtr watched, WorkerPtr worker, ExecAction action);
  using ExecAnswer = OneShot<absl::StatusOr<cri::ExecResult>>;
  Co<void> call_exec(WorkerPtr worker, ContainerId id, ExecAction action, std::shared_ptr<ExecAnswer> answer);
  void count_leftovers(const Watched& watched, Worker& worker, bool good);
  void tell(const WatchedPtr& watched, const WorkerPtr& worker, ProbeOutcome outcome, Duration took);

  Loop& loop_;
  cri::Runtime& runtime_;
  Steps& steps_;
  ProbeOptions options_;
  Sink<ProbeResult> results_;
  Targets targets_;
  Slots exec_slots_;
  std::map<Key, WatchedPtr> watched_;
  std::set<PodUid> terminating_;
  // Told to stop, and perhaps not at their end yet; close() joins them.
  std::vector<WorkerPtr> stopping_;
};

}  // namespace podwright::probes
