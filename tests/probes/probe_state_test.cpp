#include "probes/probe_state.h"

#include <doctest/doctest.h>

#include <string>
#include <vector>

namespace podwright::probes {
namespace {

ProbeState after_all(ProbeKind kind, const std::string& outcomes, Thresholds thresholds, ProbeState state = {}) {
  for (const char c : outcomes) {
    const Outcome outcome = c == 's'   ? Outcome::kSuccess
                            : c == 'w' ? Outcome::kWarning
                            : c == 'f' ? Outcome::kFailure
                                       : Outcome::kError;
    state = next(kind, state, outcome, thresholds);
  }
  return state;
}

TEST_CASE("before any threshold each kind has its own verdict") {
  CHECK(verdict_of(ProbeKind::kLiveness, {}) == Verdict::kSuccess);
  CHECK(verdict_of(ProbeKind::kReadiness, {}) == Verdict::kFailure);
  CHECK(verdict_of(ProbeKind::kStartup, {}) == Verdict::kUnknown);
}

TEST_CASE("outcomes lead to verdicts and holds") {
  struct Row {
    ProbeKind kind;
    std::string outcomes;  // s: success, w: warning, f: failure, e: error
    Thresholds thresholds;
    Verdict verdict;
    bool on_hold;
  };
  const auto live = ProbeKind::kLiveness, ready = ProbeKind::kReadiness, start = ProbeKind::kStartup;
  const auto good = Verdict::kSuccess, bad = Verdict::kFailure, unknown = Verdict::kUnknown;
  const std::vector<Row> rows = {
      {ready, "s", {1, 3}, good, false},     {ready, "w", {1, 3}, good, false},
      {ready, "ss", {3, 3}, bad, false},     {ready, "sss", {3, 3}, good, false},
      {ready, "sff", {1, 3}, good, false},   {ready, "sfff", {1, 3}, bad, false},
      {ready, "sfffs", {1, 3}, good, false}, {ready, "sfsfsf", {1, 2}, good, false},
      {ready, "sfef", {1, 2}, bad, false},   {ready, "seee", {1, 1}, good, false},
      {ready, "e", {1, 1}, bad, false},      {live, "ff", {1, 3}, good, false},
      {live, "fff", {1, 3}, bad, true},      {live, "fffs", {1, 3}, bad, true},
      {live, "sssss", {1, 3}, good, false},  {start, "ff", {1, 3}, unknown, false},
      {start, "fff", {1, 3}, bad, true},     {start, "ffs", {1, 3}, good, true},
      {start, "sfff", {1, 3}, good, true},   {start, "eeee", {1, 1}, unknown, false},
  };
  for (const Row& row : rows) {
    CAPTURE(name_of(row.kind));
    CAPTURE(row.outcomes);
    const ProbeState state = after_all(row.kind, row.outcomes, row.thresholds);
    CHECK(verdict_of(row.kind, state) == row.verdict);
    CHECK(state.on_hold == row.on_hold);
  }
}

TEST_CASE("a steady probe's state stays the same, so that nothing is written for it") {
  const ProbeState once = after_all(ProbeKind::kReadiness, "s", {1, 3});
  CHECK(after_all(ProbeKind::kReadiness, "sss", {1, 3}) == once);
  const ProbeState failed = after_all(ProbeKind::kReadiness, "sfff", {1, 3});
  CHECK(after_all(ProbeKind::kReadiness, "sffffff", {1, 3}) == failed);
}

TEST_CASE("a startup probe that is known to have passed is not run again") {
  const ProbeState state = passed_state(ProbeKind::kStartup);
  CHECK(state.on_hold);
  CHECK(verdict_of(ProbeKind::kStartup, state) == Verdict::kSuccess);
}

TEST_CASE("a readiness known to have passed needs its failure threshold to fail") {
  const ProbeState state = passed_state(ProbeKind::kReadiness);
  CHECK(verdict_of(ProbeKind::kReadiness, after_all(ProbeKind::kReadiness, "ff", {1, 3}, state)) == Verdict::kSuccess);
  CHECK(verdict_of(ProbeKind::kReadiness, after_all(ProbeKind::kReadiness, "fff", {1, 3}, state)) == Verdict::kFailure);
}

}  // namespace
}  // namespace podwright::probes
