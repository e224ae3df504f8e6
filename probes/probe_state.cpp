#include "probes/probe_state.h"

#include <algorithm>
#include <cstdlib>

namespace podwright::probes {

std::string_view name_of(ProbeKind kind) {
  switch (kind) {
    case ProbeKind::kLiveness: return "Liveness";
    case ProbeKind::kReadiness: return "Readiness";
    case ProbeKind::kStartup: return "Startup";
  }
  std::abort();  // not one of the enumerators: memory is broken
}

std::string_view name_of(Outcome outcome) {
  switch (outcome) {
    case Outcome::kSuccess: return "success";
    case Outcome::kFailure: return "failure";
    case Outcome::kWarning: return "warning";
    case Outcome::kError: return "error";
  }
  std::abort();  // not one of the enumerators: memory is broken
}

std::string_view name_of(Verdict verdict) {
  switch (verdict) {
    case Verdict::kUnknown: return "Unknown";
    case Verdict::kSuccess: return "Success";
    case Verdict::kFailure: return "Failure";
  }
  std::abort();  // not one of the enumerators: memory is broken
}

Verdict initial_verdict(ProbeKind kind) {
  switch (kind) {
    case ProbeKind::kLiveness: return Verdict::kSuccess;
    case ProbeKind::kReadiness: return Verdict::kFailure;
    case ProbeKind::kStartup: return Verdict::kUnknown;
  }
  std::abort();  // not one of the enumerators: memory is broken
}

Verdict verdict_of(ProbeKind kind, const ProbeState& state) {
  if (!state.published) return initial_verdict(kind);
  return *state.published ? Verdict::kSuccess : Verdict::kFailure;
}

ProbeState next(ProbeKind kind, ProbeState state, Outcome outcome, const Thresholds& thresholds) {
  if (state.on_hold || outcome == Outcome::kError) return state;
  const bool ok = outcome != Outcome::kFailure;
  const int32_t threshold = std::max(1, ok ? thresholds.success : thresholds.failure);
  // Counting on beyond the threshold would change nothing but the state, and each change is written to the table.
  state.run = ok == state.last_ok ? std::min(std::max(state.run, 0), threshold - 1) + 1 : 1;
  state.last_ok = ok;
  if (state.run < threshold) return state;
  state.published = ok;
  if (kind == ProbeKind::kStartup || (kind == ProbeKind::kLiveness && !ok)) {
    state.on_hold = true;
    state.run = 0;
  }
  return state;
}

ProbeState passed_state(ProbeKind kind) {
  ProbeState state;
  state.published = true;
  state.on_hold = kind == ProbeKind::kStartup;
  return state;
}

}  // namespace podwright::probes
