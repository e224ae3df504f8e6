// The end of containers: preStop, TERM, KILL, sidecar order, sandboxes (behaviours 11).
#include <algorithm>

#include "agent/sync/plan_runner.h"
#include "agent/sync/probe_targets.h"
#include "base/status/annotate.h"

namespace podwright::sync {

using pods::ContainerKind;
using pods::ContainerRef;

namespace {

// The window that TERM has at least, whatever preStop left of the grace.
constexpr std::chrono::seconds kShortestTerm{2};

std::chrono::seconds remaining(Instant deadline, Instant now) {
  const Duration left = std::max(deadline - now, Duration(kShortestTerm));
  return std::chrono::ceil<std::chrono::seconds>(left);
}

}  // namespace

// One round of stopping a whole pod: who is stopped, and who of them has ended.
struct StopRound {
  struct One {
    std::optional<ContainerRef> container;
    ContainerId id;
    // Its place in the order: 0 is first; a stage begins when all earlier ones have ended.
    int stage = 0;
    bool ended = false;
    absl::Status result;
  };
  explicit StopRound(Loop& loop) : changed(loop) {}
  std::vector<One> all;
  Notice changed;
  Instant deadline;
  std::chrono::seconds grace{0};

  bool may_begin(const One& one) const {
    return std::all_of(all.begin(), all.end(), [&one](const One& o) { return o.stage >= one.stage || o.ended; });
  }
};

void PlanRunner::note_fallback(PodContext& pod, const ContainerRef& container, const probes::HookOutcome& outcome) {
  if (outcome.http_fallback.empty()) return;
  parts_.events.record(*pod.pod, container.field_path, "Warning", "LifecycleHTTPFallback", outcome.http_fallback);
}

Co<void> PlanRunner::pre_stop(PodContext& pod, std::optional<ContainerRef> container, ContainerId id,
                              std::string message, std::chrono::seconds grace, Instant deadline) {
  const bool first = pod.pre_stop_begun.insert(id).second;
  if (!first || !pod.pod) co_return;
  const std::string name = container ? container->name.value : std::string(short_id(id));
  const std::string text = message.empty() ? fmt::format("Stopping container {}", name) : message;
  const std::string path = container ? container->field_path : "";
  parts_.events.record(*pod.pod, path, "Normal", "Killing", text);
  log_info(pod.flow.subject, "killing container",
           {{"container", name}, {"container_id", short_id(id)}, {"why", text}, {"grace", Duration(grace)}});
  if (!container || !container->spec->lifecycle().has_prestop() || grace <= std::chrono::seconds(0)) co_return;
  const auto action = hook_action(container->spec->lifecycle().prestop(), *container);
  absl::Status status = action.status();
  if (action.ok()) {
    Step step(parts_.steps, pod.flow, StepKind::kHook, fmt::format("preStop of {}", name), deadline);
    const probes::HookOutcome outcome =
        co_await parts_.hooks.run(probe_target(pod, *container, id, parts_.node), *action, deadline);
    step.end(outcome.status);
    status = outcome.status;
    note_fallback(pod, *container, outcome);
  }
  if (status.ok() || absl::IsCancelled(status)) co_return;
  parts_.events.record(*pod.pod, path, "Warning", "FailedPreStopHook", "PreStopHook failed");
  log_warning(pod.flow.subject, "preStop failed", {{"container", name}, {"error", text_of(status)}});
}

Co<absl::Status> PlanRunner::stop_container(PodContext& pod, std::optional<ContainerRef> container, ContainerId id,
                                            std::chrono::seconds grace, Instant deadline) {
  const std::string name = container ? container->name.value : std::string(short_id(id));
  const auto timeout =
      grace > std::chrono::seconds(0) ? remaining(deadline, parts_.loop.now()) : std::chrono::seconds(0);
  const Instant call_deadline = after(parts_.loop.now(), timeout + parts_.options.runtime_request_timeout);
  Step step(parts_.steps, pod.flow, StepKind::kStop, fmt::format("container {} within {}s", name, timeout.count()),
            call_deadline);
  const absl::Status status =
      co_await parts_.strays.carry(pod.uid, "StopContainer", parts_.runtime.stop_container(id, timeout, call_deadline));
  step.end(status);
  if (status.ok() || absl::IsNotFound(status)) co_return absl::OkStatus();
  co_return annotate(status, "stop container {}", name);
}

Co<absl::Status> PlanRunner::kill_container(PodContext& pod, std::optional<ContainerRef> container, ContainerId id,
                                            std::string message, std::chrono::seconds grace, Instant deadline) {
  co_await pre_stop(pod, container, id, std::move(message), grace, deadline);
  if (co_await is_stopping()) co_return absl::CancelledError("the stop was told to go on");
  co_return co_await stop_container(pod, container, id, grace, deadline);
}

Co<void> PlanRunner::kill_flow(PodContext& pod, std::optional<ContainerRef> container, ContainerId id,
                               std::string message, std::chrono::seconds grace, Instant deadline,
                               absl::Status* result) {
  *result = co_await kill_container(pod, std::move(container), std::move(id), std::move(message), grace, deadline);
}

Co<void> PlanRunner::stop_flow(PodContext& pod, std::size_t index, StopRound* round) {
  const StopRound::One one = round->all[index];
  // The hooks of all containers begin at once; only the signals go in order.
  co_await pre_stop(pod, one.container, one.id, "", round->grace, round->deadline);
  // Stages after the first wait for the earlier ones, but never beyond what is left of the grace.
  while (!round->may_begin(round->all[index])) {
    if (co_await round->changed.wait_until(round->deadline) != Wait::kRung) break;
  }
  absl::Status status = absl::CancelledError("the stop was told to go on");
  if (!co_await is_stopping()) {
    status = co_await stop_container(pod, one.container, one.id, round->grace, round->deadline);
  }
  round->all[index].result = status;
  round->all[index].ended = true;
  round->changed.notify();
}

Co<absl::Status> PlanRunner::kill_pod(PodContext& pod, pleg::PodRuntimePtr seen, Instant deadline,
                                      std::chrono::seconds grace) {
  StopRound round(parts_.loop);
  round.deadline = deadline;
  round.grace = grace;
  std::vector<ContainerRef> specs;
  if (pod.pod) specs = pods::containers_of(pod.pod);
  const auto spec_of = [&specs](const ContainerName& name) -> std::optional<ContainerRef> {
    for (const auto& spec : specs) {
      if (spec.name == name) return spec;
    }
    return std::nullopt;
  };
  for (const auto& status : seen->containers) {
    if (status.state != cri::ContainerState::kRunning && status.state != cri::ContainerState::kUnknown) continue;
    round.all.push_back({spec_of(status.name), status.id, 0, false, {}});
  }
  // Sidecars come after all others, the last one of the spec first.
  int stage = 0;
  for (auto spec = specs.rbegin(); spec != specs.rend(); ++spec) {
    if (spec->kind != ContainerKind::kSidecar) continue;
    const auto runs = std::find_if(round.all.begin(), round.all.end(), [&spec](const StopRound::One& one) {
      return one.container && one.container->name == spec->name;
    });
    if (runs != round.all.end()) runs->stage = ++stage;
  }
  std::vector<Co<void>> flows;
  for (std::size_t i = 0; i < round.all.size(); ++i) flows.push_back(stop_flow(pod, i, &round));
  co_await run_all(parts_.loop, std::move(flows));
  if (co_await is_stopping()) co_return absl::CancelledError("the stop was told to go on");
  absl::Status first;
  for (const auto& one : round.all) {
    if (!one.result.ok() && first.ok()) first = one.result;
  }
  for (const auto& sandbox : seen->sandboxes) {
    const Instant call_deadline = after(parts_.loop.now(), parts_.options.runtime_request_timeout);
    Step step(parts_.steps, pod.flow, StepKind::kStopSandbox, fmt::format("sandbox {}", short_id(sandbox.id)),
              call_deadline);
    const absl::Status status =
        co_await parts_.strays.carry(pod.uid, "StopPodSandbox", parts_.runtime.stop_sandbox(sandbox.id, call_deadline));
    step.end(status);
    if (!status.ok() && !absl::IsNotFound(status) && first.ok()) {
      first = annotate(status, "stop sandbox {}", short_id(sandbox.id));
    }
  }
  if (!first.ok() && !absl::IsCancelled(first) && pod.pod) {
    parts_.events.record(*pod.pod, "", "Warning", "FailedKillPod",
                         fmt::format("error killing pod: {}", text_of(first)));
  }
  co_return first;
}

}  // namespace podwright::sync
