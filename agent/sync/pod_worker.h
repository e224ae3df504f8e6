// PodWorker: the life of one pod, as one flow.
//
//   Syncing --stop wanted, or all ended for good--> Terminating --none runs--> Terminated --freed--> Finished
//
// Syncing      looks, plans and carries out, again whenever something changed or its wake-up comes
// Terminating  kills what runs, until a look finds nothing and no stray call is in flight
// Terminated   takes down volumes and the cgroup; the last status is published
// Finished     holds nothing any more; stays as a tombstone until its source drops the pod, so that a late update
//              cannot start the UID again
//
// At most one plan is in flight. A stop, or a spec that changes what runs, cuts or leaves what is in flight at once
// (style: leave, cut, never cut). Runs on the loop thread; owned by SyncLoop.
#pragma once

#include <functional>

#include "agent/sync/absorb.h"
#include "agent/sync/parts.h"
#include "agent/sync/plan_runner.h"
#include "agent/sync/pod_context.h"
#include "base/co/scope.h"

namespace podwright::sync {

enum class WorkerState { kSyncing, kTerminating, kTerminated, kFinished };
std::string_view name_of(WorkerState state);

// The state after a look. Never goes back to the left, so a stopped pod cannot start again.
WorkerState next_state(WorkerState now, bool stop_wanted, bool anything_runs, bool freed);

class PodWorker {
 public:
  // `finished` is told when the worker's flow has ended: the pod is gone in every respect.
  PodWorker(Parts& parts, PodUid uid, pods::PodRecord record, Sink<PodUid> finished);

  // Starts the flow in `scope`.
  void start(Scope& scope);

  // What is wanted. Joined with what is wanted already.
  void put(pods::Wish wish);

  // Something about the pod changed: look again.
  void poke();

  // The source has dropped the pod: once it is Finished, forget it. Implies a stop.
  void drop();
  bool is_dropped() const { return dropped_ || dropping_; }

  // An adopted pod was named by its source, which speaks for it from now on.
  void confirm(pods::SourceKind source, pods::Wish wish);

  // One outcome of a probe of this pod.
  void probe_result(const probes::ProbeResult& result);

  WorkerState state() const { return state_; }
  const PodContext& context() const { return pod_; }
  // May its containers still hold the pod's full name, ports and devices?
  bool holds_resources() const { return state_ == WorkerState::kSyncing || state_ == WorkerState::kTerminating; }
  bool is_admitted() const { return pod_.record.admitted; }
  // One line of what it waits for and what comes next.
  std::string waiting_for() const;

 private:
  // What the flow is told: wishes, marks and the end of the advance in flight. Joined, so nothing queues up.
  struct Note {
    std::optional<pods::Wish> wish;
    bool look = false;
    bool advanced = false;
    bool dropped = false;
    static Note join(Note older, Note newer);
  };

  Co<void> run();
  void take(Note note, bool& cut);
  Co<void> advance();
  Co<void> advance_syncing();
  Co<void> advance_terminating();
  Co<void> advance_terminated();
  Co<bool> look();
  Co<void> keep(const Absorbed& absorbed);
  Co<void> begin_termination(pods::StopWish stop);
  void finish_terminal();
  Co<absl::Status> remove_from_runtime();
  Co<void> read_termination_messages(std::vector<pods::ExitRecord> ended);
  void update_probes();
  Co<void> refresh_volumes();
  void publish();
  void show(pods::PodStatusPtr status);
  bool has_unkept_success(const pleg::PodRuntime& runtime) const;
  void fail(const absl::Status& error, std::optional<Instant> retry_at);
  std::optional<Instant> active_deadline() const;
  bool anything_runs() const;

  Parts& parts_;
  PodContext pod_;
  PlanRunner runner_;
  Sink<PodUid> finished_;
  WorkerState state_ = WorkerState::kSyncing;
  std::optional<pods::StopWish> stop_;
  bool dropping_ = false;  // drop() was called
  bool dropped_ = false;   // and the flow has seen it
  bool gone_ = false;      // nothing of it is left anywhere
  bool dirty_ = true;
  bool busy_ = false;
  pleg::PodRuntimePtr seen_;
  PodPlan last_plan_;
  Instant wake_at_ = Instant::max();
  Duration backoff_{0};
  pods::PodStatusPtr published_;
  std::shared_ptr<const core::PodStatus> api_status_;
  std::string last_error_;
  Inbox<Note> inbox_;
  // Made anew after each cut.
  std::unique_ptr<Scope> advance_scope_;
};

}  // namespace podwright::sync
