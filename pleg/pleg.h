// Pleg: pod lifecycle events. The runtime's own events drive it; a slow full list catches what was missed, a fast one
// stands in while the event stream is down. An event is only a mark on a pod: marks are lossless and may repeat.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/co/bell.h"
#include "base/co/scope.h"
#include "base/co/sink.h"
#include "base/step/step.h"
#include "cri/runtime.h"
#include "pleg/exit_hints.h"
#include "pleg/relist.h"
#include "pleg/runtime_cache.h"

namespace podwright::pleg {

class Pleg {
 public:
  struct Options {
    Duration relist_period = std::chrono::seconds(30);
    Duration relist_period_without_events = std::chrono::seconds(1);
    Duration list_deadline = std::chrono::minutes(2);
    // Without a good list for this long the runtime counts as unhealthy. Source: the generic PLEG's relist threshold.
    Duration healthy_within = std::chrono::minutes(3);
    // From a process's end to the look, in which the runtime's own event usually comes.
    Duration hint_patience = std::chrono::milliseconds(50);
  };

  Pleg(Loop& loop, cri::Runtime& runtime, cri::RuntimeEvents& events, RuntimeCache& cache, Steps& steps,
       Options options, Sink<PodEvent> sink);

  // Has the ends of containers' first processes watched too; before run(). `ends` outlives this.
  void watch_processes(ProcessEnds& ends);
  // The first process of a container that ran before the agent did, as its cgroup tells it.
  void watch_process(const ContainerId& id, int32_t pid);

  // Runs until cancelled.
  Co<void> run();

  // Empty where all is well; else upstream's words: "pleg was last seen active 4m0s ago; threshold is 3m0s".
  std::string unhealthy_because() const;
  bool event_stream_open() const { return open_; }
  // When the last good list ended; nothing before the first.
  std::optional<Instant> last_relist_ok() const { return last_good_; }

  // What happened so far.
  struct Counters {
    uint64_t relists = 0, failed_relists = 0;
    uint64_t runtime_events = 0, oom_events = 0;
    // Events whose container had to be asked for.
    uint64_t unknown_owners = 0;
    uint64_t pod_events = 0;
    uint64_t stream_openings = 0;
    // Ends of processes, and those of them that the runtime's own event did not follow in time.
    uint64_t exit_hints = 0, exit_hints_alone = 0;
  };
  const Counters& counters() const { return counters_; }
  uint64_t relists() const { return counters_.relists; }

 private:
  void on_event(const cri::Event& event);
  void on_open(bool open);
  Co<void> find_owner(std::string id);
  void relist_soon();
  void on_process_end(const ContainerId& id);
  Co<void> look_after_hint(ContainerId id);
  Co<absl::Status> relist();
  void tell(const cri::Event& event, const PodUid& uid);
  void mark(PodEvent event);

  Loop& loop_;
  cri::Runtime& runtime_;
  cri::RuntimeEvents& events_;
  RuntimeCache& cache_;
  Steps& steps_;
  Options options_;
  Sink<PodEvent> sink_;
  AllStates states_;
  std::set<std::string> oom_killed_;
  std::optional<Instant> last_good_;
  // Events of containers that no look has seen, by ID, while their owner is asked for.
  std::map<std::string, std::vector<cri::Event>> asking_;
  Counters counters_;
  std::optional<ExitHints> hints_;
  bool open_ = false;
  bool relist_now_ = true;
  Bell bell_;
  Slots questions_;
  Scope scope_;
};

}  // namespace podwright::pleg
