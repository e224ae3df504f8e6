#include "probes/hooks.h"

#include <fmt/ranges.h>

#include <algorithm>

#include "base/limits.h"
#include "base/status/annotate.h"
#include "probes/http_get.h"
#include "probes/outcome.h"

namespace podwright::probes {

namespace {

Flow flow_of(const ProbeTarget& target) {
  return {"pod/" + target.pod.text(), {{"pod", target.pod}, {"uid", target.uid}, {"container", target.container}}};
}

HookOutcome failed(const ProbeTarget& target, std::string_view what, absl::Status status) {
  HookOutcome outcome;
  outcome.message =
      cut_text(fmt::format("{} lifecycle hook for Container \"{}\" in Pod \"{}_{}({})\" failed - error: {}", what,
                           target.container, target.pod.name, target.pod.ns, target.uid, text_of(status)),
               limits::kProbeTextBytes);
  outcome.status = std::move(status);
  return outcome;
}

}  // namespace

Hooks::Hooks(Loop& loop, Net& net, cri::Runtime& runtime, Steps& steps, HookOptions options)
    : loop_(loop), runtime_(runtime), steps_(steps), options_(std::move(options)), targets_(net, options_.targets) {}

Co<HookOutcome> Hooks::run(ProbeTarget target, HookAction action, Instant deadline) {
  if (auto* exec = std::get_if<ExecAction>(&action)) {
    co_return co_await run_exec(std::move(target), std::move(*exec), deadline);
  }
  if (auto* http = std::get_if<HttpGetAction>(&action)) {
    co_return co_await run_http(std::move(target), std::move(*http), deadline);
  }
  if (auto* sleep = std::get_if<SleepAction>(&action)) {
    co_return co_await run_sleep(std::move(target), *sleep, deadline);
  }
  co_return failed(target, "Tcp", absl::InvalidArgumentError("a hook cannot be a tcpSocket"));
}

Co<HookOutcome> Hooks::run_exec(ProbeTarget target, ExecAction action, Instant deadline) {
  const std::string command = fmt::format("{}", fmt::join(action.command, " "));
  Step step(steps_, flow_of(target), StepKind::kExec, fmt::format("hook in {}", target.container), deadline);
  // Without a time-out of the runtime: a hook ends with its call, which the deadline cuts.
  const auto answer =
      co_await runtime_.exec_sync(target.id, std::move(action.command), std::chrono::seconds(0), deadline);
  absl::Status status = answer.status();
  if (answer.ok() && answer->exit_code != 0) {
    status = make_status(absl::StatusCode::kUnknown, "command '{}' exited with {}: {}", command, answer->exit_code,
                         answer->stderr_bytes.empty() ? answer->stdout_bytes : answer->stderr_bytes);
  }
  step.end(status);
  if (status.ok()) co_return HookOutcome{};
  co_return failed(target, fmt::format("Exec ({})", command), std::move(status));
}

Co<HookOutcome> Hooks::run_http(ProbeTarget target, HttpGetAction action, Instant deadline) {
  const std::string what = fmt::format("HTTP ({})", action.path);
  auto resolved = co_await targets_.resolve(target, action.host, deadline);
  if (!resolved.ok()) co_return failed(target, what, resolved.status());
  HttpGet get{loop_, targets_, *std::move(resolved), options_.user_agent, false};
  auto answer = co_await http_get(get, action, deadline);
  std::string fallback;
  if (!answer.ok() && action.https && is_http_answer_to_https(answer.status())) {
    // Source: pkg/kubelet/lifecycle/handlers.go; hooks went over plain HTTP whatever their scheme said before 1.25.
    fallback = cut_text(fmt::format("request to HTTPS lifecycle hook got HTTP response, retried with HTTP: {}",
                                    text_of(answer.status())),
                        limits::kProbeTextBytes);
    action.https = false;
    answer = co_await http_get(get, action, deadline);
  }
  HookOutcome outcome = answer.ok() ? HookOutcome{} : failed(target, what, answer.status());
  outcome.http_fallback = std::move(fallback);
  co_return outcome;
}

Co<HookOutcome> Hooks::run_sleep(ProbeTarget target, SleepAction action, Instant deadline) {
  const Instant until = std::min(after(loop_.now(), std::max(action.time, std::chrono::seconds(0))), deadline);
  Step step(steps_, flow_of(target), StepKind::kHook, fmt::format("sleep of {}", target.container), until);
  absl::Status status;
  if (co_await sleep_until(loop_, until) == Wait::kCancelled) status = absl::CancelledError("the hook was stopped");
  step.end(status);
  if (status.ok()) co_return HookOutcome{};
  co_return failed(target, "Sleep", std::move(status));
}

}  // namespace podwright::probes
