// Lifecycle hooks: runs one postStart or preStop handler to its end, its deadline or its cancellation.
#pragma once

#include <absl/status/status.h>

#include <string>

#include "base/co/loop.h"
#include "base/net/net.h"
#include "base/step/step.h"
#include "cri/runtime.h"
#include "probes/spec.h"
#include "probes/targets.h"

namespace podwright::probes {

struct HookOptions {
  TargetPolicy targets = TargetPolicy::kAllow;
  std::string user_agent = "kube-lifecycle/1.36";
};

struct HookOutcome {
  // Cancelled and DeadlineExceeded as they came; InvalidArgument for a handler that cannot be run (tcpSocket).
  absl::Status status;
  // Of the event FailedPostStartHook or FailedPreStopHook; empty after a success.
  std::string message;
  // An HTTPS hook got a plain HTTP answer and was run over HTTP: Warning event LifecycleHTTPFallback with this text.
  std::string http_fallback;
};

class Hooks {
 public:
  Hooks(Loop& loop, Net& net, cri::Runtime& runtime, Steps& steps, HookOptions options = {});

  // The status code of an HTTP hook is not looked at: only a failed exchange fails the hook. A sleep that the deadline
  // cuts short is a success: the pod's grace is what bounds it.
  Co<HookOutcome> run(ProbeTarget target, HookAction action, Instant deadline);

  const TargetCounts& target_counts() const { return targets_.counts(); }

 private:
  Co<HookOutcome> run_exec(ProbeTarget target, ExecAction action, Instant deadline);
  Co<HookOutcome> run_http(ProbeTarget target, HttpGetAction action, Instant deadline);
  Co<HookOutcome> run_sleep(ProbeTarget target, SleepAction action, Instant deadline);

  Loop& loop_;
  cri::Runtime& runtime_;
  Steps& steps_;
  HookOptions options_;
  Targets targets_;
};

}  // namespace podwright::probes
