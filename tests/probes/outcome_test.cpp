#include "probes/outcome.h"

#include <doctest/doctest.h>

#include "base/limits.h"
#include "probes/spec.h"

namespace podwright::probes {
namespace {

TEST_CASE("each outcome has the event that people know") {
  CHECK(!event_of(ProbeKind::kLiveness, {Outcome::kSuccess, "fine"}, Verdict::kSuccess));
  CHECK(event_of(ProbeKind::kReadiness, {Outcome::kFailure, "no"}, Verdict::kSuccess) ==
        ProbeEvent{"Unhealthy", "Readiness probe failed: no"});
  CHECK(event_of(ProbeKind::kLiveness, {Outcome::kWarning, "went away"}, Verdict::kSuccess) ==
        ProbeEvent{"ProbeWarning", "Liveness probe warning: went away"});
  CHECK(event_of(ProbeKind::kStartup, {Outcome::kError, "no such command"}, Verdict::kUnknown) ==
        ProbeEvent{"Unhealthy", "Startup probe errored and resulted in Unknown state: no such command"});
  CHECK(event_of(ProbeKind::kReadiness, {Outcome::kSuccess, "", true}, Verdict::kSuccess)->reason == "ProbeWarning");
}

TEST_CASE("an event's text is bounded") {
  const ProbeOutcome outcome{Outcome::kFailure, std::string(1 << 20, 'x')};
  CHECK(event_of(ProbeKind::kReadiness, outcome, Verdict::kFailure)->message.size() < limits::kProbeTextBytes + 64);
}

TEST_CASE("an event's text is UTF-8 whatever the container wrote") {
  const ProbeOutcome outcome{Outcome::kFailure, "a\xFF\xC3\xA4\xED\xA0\x80\xE2\x82"};
  const std::string hole = "\xEF\xBF\xBD";
  CHECK(event_of(ProbeKind::kReadiness, outcome, Verdict::kFailure)->message ==
        "Readiness probe failed: a" + hole + "\xC3\xA4" + hole + hole + hole + hole + hole);
}

TEST_CASE("a text is cut between characters") {
  CHECK(cut_text("abc", 3) == "abc");
  CHECK(cut_text("abcd", 3) == "abc");
  CHECK(cut_text("a\xC3\xA4z", 2) == "a");
  CHECK(cut_text("a\xC3\xA4z", 3) == "a\xC3\xA4");
  CHECK(cut_text("\xF0\x9F\x98\x80z", 3).empty());
  CHECK(cut_text(std::string(9, '\x80'), 5).size() == 5);
  CHECK(cut_text("abc", 0).empty());
}

TEST_CASE("references in a command are replaced by the environment") {
  const std::map<std::string, std::string> env = {{"A", "1"}, {"B", "$(A)"}, {"", "empty"}};
  CHECK(expand("x$(A)y", env) == "x1y");
  CHECK(expand("$(A)$(A)", env) == "11");
  CHECK(expand("$(B)", env) == "$(A)");
  CHECK(expand("$(NONE)", env) == "$(NONE)");
  CHECK(expand("$$(A)", env) == "$(A)");
  CHECK(expand("$$$(A)", env) == "$1");
  CHECK(expand("$(A", env) == "$(A");
  CHECK(expand("a$", env) == "a$");
  CHECK(expand("$A $", env) == "$A $");
  CHECK(expand("$()", env) == "empty");
  CHECK(expand("", env).empty());
}

}  // namespace
}  // namespace podwright::probes
