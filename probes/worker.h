// What Probes keeps of a container and of each probe of it. Private to this folder.
#pragma once

#include <algorithm>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "probes/probes.h"

namespace podwright::probes {

struct Probes::Worker {
  Worker(Loop& l, ProbeKind k) : kind(k), trigger(l), run_scope(l), call_scope(l) {}

  // Defaults come with the spec; what is below them cannot be waited for.
  Duration period() const { return std::max<Duration>(spec.period, std::chrono::seconds(1)); }
  Duration timeout() const { return std::max<Duration>(spec.timeout, std::chrono::seconds(1)); }
  void count(Outcome outcome, Duration took);

  void spawn_run(Co<void> run);
  void spawn_call(Co<void> call);
  // The first lines of the two flows; false where it has to end at once.
  bool begin_run();
  bool begin_call();
  // Ends both. A flow is cancelled once, only while it runs, and not by itself: it looks at `stopped` after each wait
  // and after each news.
  void stop();
  Co<void> join();

  const ProbeKind kind;
  ProbeSpec spec;
  ProbeState state;
  // Ended: probes no more and tells nothing any more.
  bool stopped = false;
  Bell trigger;
  Flow flow;
  std::string what;

  // How long the present probe waited for its turn.
  Duration waited{0};
  bool exec_late = false;  // a call outlasts its probe
  std::optional<uint32_t> processes_before;
  uint32_t leftovers = 0;
  bool leftovers_told = false;
  bool foreign_told = false;

  uint64_t successful = 0, failed = 0, unknown = 0;
  std::array<uint32_t, kDurationBuckets.size() + 1> durations{};
  Duration total_time{0};

  enum class Part { kNone, kBeginning, kRunning };
  Part run_part = Part::kNone, call_part = Part::kNone;
  bool telling = false;
  // The probing and, apart from it since it may outlast its probe, an exec call.
  Scope run_scope, call_scope;
};

struct Probes::Watched {
  explicit Watched(Loop& loop) : startup_changed(loop) {}

  // Whether the probes other than the startup probe may run.
  bool started() const {
    const auto startup = workers.find(ProbeKind::kStartup);
    if (startup == workers.end() || startup->second->stopped) return true;
    return verdict_of(ProbeKind::kStartup, startup->second->state) == Verdict::kSuccess;
  }

  ProbedContainer container;
  std::map<ProbeKind, WorkerPtr> workers;
  Notice startup_changed;
};

}  // namespace podwright::probes
