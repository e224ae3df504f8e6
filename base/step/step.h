// A Step is a named interval of a flow (a pod, a plugin, the node): every port call and every wait is inside one. It
// alone feeds the list of waits (`describe`, the debug bundle), the waterfall (`trace`), the duration and outcome
// metric, and the begin and end lines at -v=4.
//
//   Step step(steps, flow, StepKind::kRunPodSandbox, "sandbox attempt 0", deadline);
//   const auto id = co_await runtime.run_pod_sandbox(config, deadline);
//   step.end(id.status());
//
// A Step that dies without end() (its frame was destroyed) is taken off the list and counted as abandoned.
#pragma once

#include <absl/status/status.h>

#include <cstdint>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/log/log.h"
#include "base/time/time.h"

namespace podwright {

// What kind of work an interval is. Closed, since it labels metrics. `name_of` gives the label.
enum class StepKind {
  kAdmit,
  kWait,
  kSandbox,
  kStopSandbox,
  kRemoveSandbox,
  kCreate,
  kStart,
  kStop,
  kRemove,
  kInspect,
  kList,
  kPull,
  kImageStatus,
  kVolume,
  kCgroup,
  kExec,
  kProbe,
  kHook,
  kTableCommit,
  kSource,
  kStatusWrite,
  kPlugin,
  kEvents,
  kStats,
  kLog,
  kOther,
};
std::string_view name_of(StepKind kind);

// Which flow a step belongs to: its key for people ("pod/ns/name", "plugin/x") and the keys of its log lines.
struct Flow {
  std::string key;
  LogSubject subject;
};

// One interval, in flight or over.
struct StepRecord {
  uint64_t number = 0;  // grows; order of begin
  std::string flow;
  StepKind kind = StepKind::kOther;
  std::string what;
  Instant begin;
  Instant deadline = Instant::max();
  // Set once over.
  std::optional<Instant> end;
  absl::Status outcome;
};

class Steps {
 public:
  // `kept` finished steps are kept for each of the last `flows` flows.
  explicit Steps(Clock& clock, std::size_t kept = 64, std::size_t flows = 256)
      : clock_(clock), kept_(kept), flow_limit_(flows) {}

  // Called at each end, with the record: metrics and traces listen here.
  void listen(std::function<void(const StepRecord&)> listener) { listeners_.push_back(std::move(listener)); }

  // What is being waited for now, oldest first; of one flow, or of all where `flow` is empty.
  std::vector<StepRecord> in_flight(std::string_view flow = {}) const;
  // What a flow did, oldest first.
  std::vector<StepRecord> finished(std::string_view flow) const;
  void forget(std::string_view flow);

  Clock& clock() { return clock_; }

 private:
  friend class Step;
  Clock& clock_;
  std::size_t kept_;
  std::size_t flow_limit_;
  uint64_t next_ = 1;
  std::list<StepRecord> open_;
  std::map<std::string, std::vector<StepRecord>, std::less<>> done_;
  std::list<std::string> order_;  // of done_, oldest first
  std::vector<std::function<void(const StepRecord&)>> listeners_;

  void keep(StepRecord record);
};

class Step {
 public:
  Step(Steps& steps, const Flow& flow, StepKind kind, std::string what, Instant deadline = Instant::max(),
       std::source_location where = std::source_location::current());
  ~Step();
  Step(const Step&) = delete;
  Step& operator=(const Step&) = delete;

  void end(const absl::Status& outcome = absl::OkStatus());

 private:
  Steps* steps_;
  LogSubject subject_;
  std::source_location where_;
  std::list<StepRecord>::iterator record_;
  bool open_ = true;
};

}  // namespace podwright
