// How each handler of a probe runs once. Private to this folder. A prober that is cancelled returns an outcome that
// its caller drops.
#pragma once

#include <absl/status/statusor.h>

#include <string>
#include <string_view>

#include "base/co/loop.h"
#include "cri/runtime.h"
#include "probes/outcome.h"
#include "probes/spec.h"
#include "probes/targets.h"

namespace podwright::probes {

// Where a prober runs and against whom.
struct Attempt {
  Loop& loop;
  Targets& targets;
  ProbeTarget target;
  Duration timeout;
  std::string user_agent;
};

// The text in double quotes, with quotes, backslashes and control characters escaped as Go's %q does.
std::string quoted(std::string_view text);

// "command "test -f /ok" timed out".
std::string late_text(const ExecAction& action);
// Where the command could not be run at all, an error. The runtime's own time-out is a failure.
ProbeOutcome outcome_of(const ExecAction& action, const absl::StatusOr<cri::ExecResult>& answer);

// What follows for a probe from a target that cannot be resolved: a refused target or a pod without an address counts
// as nothing, a name that leads nowhere is a failure.
ProbeOutcome unresolved(const absl::Status& status, const std::string& host, std::string_view doing);

Co<ProbeOutcome> probe_tcp(Attempt attempt, TcpAction action);
Co<ProbeOutcome> probe_http(Attempt attempt, HttpGetAction action);
Co<ProbeOutcome> probe_grpc(Attempt attempt, GrpcAction action);

}  // namespace podwright::probes
