// The state machine of one probe of one container ID, as a pure function.
//
//   Counting --threshold of equal outcomes--> published (and, where the verdict is final, on hold)
//
// Source of the rules: pkg/kubelet/prober/worker.go. One thing differs on purpose: a state belongs to a container ID,
// so a replacement starts from ProbeState{} and inherits neither counters nor verdict of its predecessor.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace podwright::probes {

enum class ProbeKind { kLiveness, kReadiness, kStartup };
inline constexpr int kProbeKinds = 3;
// "Liveness", "Readiness", "Startup": as events and metrics write it.
std::string_view name_of(ProbeKind kind);

// What one run of a probe said.
enum class Outcome {
  kSuccess,
  kFailure,
  kWarning,  // counts as success and is told as an event
  kError,    // could not be run at all: counts as nothing
};
std::string_view name_of(Outcome outcome);

// What a probe says about its container, once enough outcomes agreed.
enum class Verdict { kUnknown, kSuccess, kFailure };
std::string_view name_of(Verdict verdict);

struct Thresholds {
  int32_t success = 1;
  int32_t failure = 3;
  bool operator==(const Thresholds&) const = default;
};

struct ProbeState {
  bool last_ok = true;            // the newest outcome; before the first it is a success with a run of none
  int32_t run = 0;                // how many alike in a row, counted up to their threshold
  std::optional<bool> published;  // the verdict; nothing until a threshold was first reached
  bool on_hold = false;           // no more probing of this container ID
  bool operator==(const ProbeState&) const = default;
};

// What stands before a threshold was first reached: readiness Failure, liveness Success, startup Unknown.
Verdict initial_verdict(ProbeKind kind);
Verdict verdict_of(ProbeKind kind, const ProbeState& state);

// The state after one more outcome. A liveness failure and any startup verdict put the probe on hold, so that a
// container is not killed twice.
ProbeState next(ProbeKind kind, ProbeState state, Outcome outcome, const Thresholds& thresholds);

// The state of a probe that is known to have passed although no counters are: a container that was seen started
// before the agent lost its table.
ProbeState passed_state(ProbeKind kind);

}  // namespace podwright::probes
