#include "base/limits.h"
#include "base/status/annotate.h"
#include "probes/probers.h"

namespace podwright::probes {

ProbeOutcome unresolved(const absl::Status& status, const std::string& host, std::string_view doing) {
  ProbeOutcome outcome;
  const bool refused = absl::IsPermissionDenied(status) || host.empty();
  outcome.result = refused ? Outcome::kError : Outcome::kFailure;
  outcome.text =
      cut_text(refused ? text_of(status) : fmt::format("{}{}", doing, text_of(status)), limits::kProbeTextBytes);
  return outcome;
}

Co<ProbeOutcome> probe_tcp(Attempt attempt, TcpAction action) {
  const Instant deadline = after(attempt.loop.now(), attempt.timeout);
  auto resolved = co_await attempt.targets.resolve(attempt.target, action.host, deadline);
  if (!resolved.ok()) co_return unresolved(resolved.status(), action.host, "dial tcp: ");
  ProbeOutcome outcome;
  outcome.foreign_target = resolved->foreign;
  const auto stream = co_await attempt.targets.dial(*std::move(resolved), action.port, deadline);
  outcome.result = stream.ok() ? Outcome::kSuccess : Outcome::kFailure;
  if (stream.ok()) {
    (*stream)->set_linger_reset();
  } else {
    outcome.text = text_of(stream.status());
  }
  co_return outcome;
}

}  // namespace podwright::probes
