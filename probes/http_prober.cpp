#include "base/limits.h"
#include "base/status/annotate.h"
#include "probes/http_get.h"
#include "probes/probers.h"

namespace podwright::probes {

namespace {

// Of an answer's body in the text of a failure. The event's message has 1 KiB in all.
constexpr std::size_t kToldBodyBytes = 256;

}  // namespace

Co<ProbeOutcome> probe_http(Attempt attempt, HttpGetAction action) {
  const Instant deadline = after(attempt.loop.now(), attempt.timeout);
  auto resolved = co_await attempt.targets.resolve(attempt.target, action.host, deadline);
  if (!resolved.ok()) {
    const Url url{action.https, action.host, action.port, true, escape_target(action.path)};
    co_return unresolved(resolved.status(), action.host, fmt::format("Get \"{}\": dial tcp: ", url.text()));
  }
  ProbeOutcome outcome;
  outcome.foreign_target = resolved->foreign;
  HttpGet get{attempt.loop, attempt.targets, *std::move(resolved), attempt.user_agent, true};
  const auto answer = co_await http_get(std::move(get), std::move(action), deadline);
  if (!answer.ok()) {
    outcome.result = Outcome::kFailure;
    outcome.text = text_of(answer.status());
  } else if (answer->status >= 300 && answer->status < 400) {
    outcome.result = Outcome::kWarning;
    outcome.text = "Probe terminated redirects, Response body: " + answer->body;
  } else if (answer->status >= 200 && answer->status < 300) {
    outcome.result = Outcome::kSuccess;
    outcome.text = answer->body;
  } else {
    outcome.result = Outcome::kFailure;
    outcome.text = fmt::format("HTTP probe failed with statuscode: {}", answer->status);
    if (!answer->body.empty()) outcome.text += ", body: " + cut_text(answer->body, kToldBodyBytes);
  }
  outcome.text = cut_text(std::move(outcome.text), limits::kProbeTextBytes);
  co_return outcome;
}

}  // namespace podwright::probes
