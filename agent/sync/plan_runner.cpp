#include "agent/sync/plan_runner.h"

#include "agent/sync/restart.h"
#include "base/status/annotate.h"

namespace podwright::sync {

using pods::ContainerKind;
using pods::ContainerRef;
using pods::InstanceState;

Co<absl::Status> PlanRunner::commit(PodContext& pod, table::Durability durability) {
  Step step(parts_.steps, pod.flow, StepKind::kTableCommit,
            durability == table::Durability::kPowerSafe ? "record, power-safe" : "record");
  const absl::Status status = co_await parts_.table.commit(pod.record, durability);
  step.end(status);
  co_return status.ok() ? status : annotate(status, "keep the record of pod {}", pod.record.key);
}

void PlanRunner::wait_reason(PodContext& pod, const ContainerName& container, std::string reason, std::string message) {
  pod.waiting[container] = {std::move(reason), std::move(message)};
}

Co<RunOutcome> PlanRunner::run(PodContext& pod, PodPlan plan) {
  RunOutcome outcome;
  const Instant now = parts_.loop.now();
  for (const auto& waiting : plan.waiting) {
    const auto known = pod.waiting.find(waiting.container);
    const bool news = known == pod.waiting.end() || known->second.message != waiting.message;
    wait_reason(pod, waiting.container, waiting.reason, waiting.message);
    if (!news) continue;
    const auto container = pods::find_container(pod.pod, waiting.container);
    parts_.events.record(*pod.pod, container ? container->field_path : "", "Warning", "BackOff",
                         fmt::format("Back-off restarting failed container {} in pod {}_{}({})", waiting.container,
                                     pod.record.key.name, pod.record.key.ns, pod.uid));
  }
  for (const auto& extra : plan.sandbox.extras) {
    outcome.acted = true;
    const Instant deadline = after(now, parts_.options.runtime_request_timeout);
    log_info(pod.flow.subject, "removing a second sandbox", {{"sandbox_id", short_id(extra)}});
    absl::Status status =
        co_await parts_.strays.carry(pod.uid, "stop extra sandbox", parts_.runtime.stop_sandbox(extra, deadline));
    if (status.ok()) {
      status =
          co_await parts_.strays.carry(pod.uid, "remove extra sandbox", parts_.runtime.remove_sandbox(extra, deadline));
    }
    if (!status.ok() && outcome.error.ok()) outcome.error = annotate(status, "remove sandbox {}", short_id(extra));
  }

  if (plan.kill_all) {
    outcome.acted = true;
    const auto seen = parts_.cache.get(pod.uid);
    const std::chrono::seconds grace(pod.pod->spec().terminationgraceperiodseconds());
    if (seen) {
      const absl::Status status = co_await kill_pod(pod, seen, after(parts_.loop.now(), grace), grace);
      if (!status.ok()) {
        outcome.error = status;
      }
    }
    // What they came to decides what follows: one that succeeded when it was told to end does not run again.
    co_return outcome;
  } else if (!plan.kills.empty()) {
    outcome.acted = true;
    std::vector<absl::Status> results(plan.kills.size());
    std::vector<Co<void>> flows;
    for (std::size_t i = 0; i < plan.kills.size(); ++i) {
      const auto& kill = plan.kills[i];
      const auto grace = kill.grace.value_or(std::chrono::seconds(pod.pod->spec().terminationgraceperiodseconds()));
      flows.push_back(
          kill_flow(pod, kill.container, kill.id, kill.message, grace, after(parts_.loop.now(), grace), &results[i]));
    }
    co_await run_all(parts_.loop, std::move(flows));
    for (const auto& result : results) {
      if (!result.ok() && outcome.error.ok()) outcome.error = result;
    }
    if (co_await is_stopping()) co_return outcome;
    // Where it runs again whatever it came to, the next plan starts it: by then its end is in the record, and the
    // back-off counts from it.
    if (pod.pod->spec().restartpolicy() == "Always") co_return outcome;
  }
  if (plan.finished || !outcome.error.ok()) co_return outcome;

  if (!plan.removals.empty()) {
    outcome.acted = true;
    if (plan.reset_all) {
      pod.record.initialized_in = SandboxId();
      for (auto& [name, rec] : pod.record.containers) {
        rec.sandbox = SandboxId();
        rec.start_once = false;
        rec.succeeded_for_good = false;
        wait_reason(pod, name, "RestartingAllContainers", "");
      }
      if (absl::Status status = co_await commit(pod, table::Durability::kCrashSafe); !status.ok()) {
        outcome.error = status;
        co_return outcome;
      }
    }
    const absl::Status status = co_await remove_containers(pod, plan.removals);
    if (!status.ok()) outcome.error = status;
    co_return outcome;
  }

  if (!plan.sandbox.create && plan.starts.empty()) co_return outcome;
  outcome.acted = true;
  absl::Status status = co_await prepare(pod);
  if (status.ok() && plan.sandbox.create) status = co_await ensure_sandbox(pod, plan.sandbox);
  if (status.ok()) status = co_await start_all(pod, plan, outcome);
  if (!status.ok() && outcome.error.ok()) outcome.error = status;
  co_return outcome;
}

// ---- what must stand before a sandbox ----

Co<absl::Status> PlanRunner::prepare(PodContext& pod) {
  {
    Step step(parts_.steps, pod.flow, StepKind::kCgroup, "pod cgroup");
    const pods::PodPtr spec = pod.pod;
    const absl::Status status = co_await parts_.cgroups.ensure(spec);
    step.end(status);
    if (!status.ok()) {
      parts_.events.record(*pod.pod, "", "Warning", "FailedCreatePodContainer",
                           fmt::format("unable to ensure pod container exists: {}", text_of(status)));
      co_return annotate(status, "make the cgroup of pod {}", pod.record.key);
    }
  }
  const Instant deadline = after(parts_.loop.now(), parts_.options.volume_timeout);
  Step step(parts_.steps, pod.flow, StepKind::kVolume, "volumes", deadline);
  volumes::PodFacts facts{parts_.node.host_ip, parts_.node.host_ips, pod.record.pod_ips};
  const auto before = pod.record.volumes;
  const absl::Status status = co_await parts_.volumes.setup(pod.pod, facts, &pod.record.volumes, deadline);
  step.end(status);
  if (pod.record.volumes != before) {
    if (absl::Status kept = co_await commit(pod, table::Durability::kCrashSafe); !kept.ok()) co_return kept;
  }
  if (!status.ok()) {
    if (!absl::IsCancelled(status)) {
      parts_.events.record(*pod.pod, "", "Warning", "FailedMount", text_of(status));
      pod.trouble = text_of(status);
    }
    co_return annotate(status, "set up the volumes of pod {}", pod.record.key);
  }
  co_return absl::OkStatus();
}

// ---- sandbox ----

// The range outlives the power too: files in the pod's volumes belong to its IDs.
Co<absl::Status> PlanRunner::ensure_user_namespace(PodContext& pod) {
  if (!wants_user_namespace(*pod.pod) || pod.record.userns_base) co_return absl::OkStatus();
  const auto base = parts_.user_namespaces.take(pod.uid);
  if (!base.ok()) {
    parts_.events.record(*pod.pod, "", "Warning", "FailedCreatePodSandBox",
                         fmt::format("Failed to create pod sandbox: {}", text_of(base.status())));
    pod.trouble = text_of(base.status());
    co_return base.status();
  }
  pod.record.userns_base = *base;
  co_return co_await commit(pod, table::Durability::kPowerSafe);
}

Co<absl::Status> PlanRunner::ensure_sandbox(PodContext& pod, const SandboxPlan& plan) {
  if (absl::Status mapped = co_await ensure_user_namespace(pod); !mapped.ok()) co_return mapped;
  const std::string cgroup_parent = parts_.cgroups.cri_parent(*pod.pod);
  auto resolved =
      containers::make_sandbox_config(pod.pod, plan.attempt, parts_.node, cgroup_parent, pod.record.userns_base);
  if (!resolved.ok()) {
    parts_.events.record(*pod.pod, "", "Warning", "FailedCreatePodSandBox",
                         fmt::format("Failed to create pod sandbox: {}", text_of(resolved.status())));
    pod.trouble = text_of(resolved.status());
    co_return annotate(resolved.status(), "configure the sandbox of pod {}", pod.record.key);
  }
  for (const auto& [reason, message] : resolved->warnings) {
    parts_.events.record(*pod.pod, "", "Warning", reason, message);
  }
  if (!plan.replaces.empty()) {
    parts_.events.record(*pod.pod, "", "Normal", "SandboxChanged",
                         "Pod sandbox changed, it will be killed and re-created.");
    log_info(pod.flow.subject, "replacing the sandbox", {{"sandbox_id", short_id(plan.replaces)}, {"why", plan.why}});
  }
  if (absl::Status made = parts_.tree.make_directories(resolved->config.log_directory, 0755); !made.ok()) {
    parts_.events.record(*pod.pod, "", "Warning", "FailedCreatePodSandBox",
                         fmt::format("Failed to create pod sandbox: {}", text_of(made)));
    co_return annotate(made, "make the log directory of pod {}", pod.record.key);
  }
  absl::Status status = co_await run_sandbox(pod, resolved->config, plan.attempt);
  if (!status.ok()) {
    if (!absl::IsCancelled(status)) {
      parts_.events.record(*pod.pod, "", "Warning", "FailedCreatePodSandBox",
                           fmt::format("Failed to create pod sandbox: {}", text_of(status)));
      pod.trouble = text_of(status);
    }
    co_return annotate(status, "run the sandbox of pod {}", pod.record.key);
  }
  pod.trouble.clear();
  co_return absl::OkStatus();
}

Co<absl::Status> PlanRunner::run_sandbox(PodContext& pod, cri::SandboxConfig config, uint32_t attempt) {
  // Twice the usual: the runtime may have to pull the pause image. Source: the kubelet's RunPodSandbox time-out.
  const Instant deadline = after(parts_.loop.now(), 2 * parts_.options.runtime_request_timeout);
  auto lease = co_await parts_.governor.acquire(StartGovernor::Rank::kBeginning, deadline);
  if (!lease.ok()) co_return lease.status();

  pod.record.sandbox = {SandboxId(), attempt, true};
  pod.record.boot = parts_.boot;
  pod.record.initialized_in = SandboxId();
  pod.record.pod_ips.clear();
  if (absl::Status kept = co_await commit(pod, table::Durability::kCrashSafe); !kept.ok()) co_return kept;

  Step step(parts_.steps, pod.flow, StepKind::kSandbox, fmt::format("sandbox attempt {}", attempt), deadline);
  absl::StatusOr<SandboxId> id =
      co_await parts_.strays.carry(pod.uid, "RunPodSandbox", parts_.runtime.run_sandbox(config, deadline));
  step.end(id.status());
  *lease = StartGovernor::Lease();

  if (absl::IsCancelled(id.status())) co_return id.status();
  // Whatever the answer was, what the runtime has by the pod's labels is what counts.
  const auto seen = co_await parts_.cache.inspect(pod.uid);
  if (!id.ok()) {
    if (absl::IsAlreadyExists(id.status())) {
      // An earlier attempt holds the name; where it does not show up it stays reserved, so the next try is another one.
      pod.record.sandbox.attempt = attempt + 1;
      pod.record.sandbox.making = false;
    }
    co_return id.status();
  }
  pod.record.sandbox = {*id, attempt, false};
  log_info(pod.flow.subject, "sandbox runs", {{"sandbox_id", short_id(*id)}, {"attempt", attempt}});
  if (!seen.ok()) co_return annotate(seen.status(), "look at the new sandbox");
  for (const auto& sandbox : (*seen)->sandboxes) {
    if (sandbox.id == *id) pod.record.pod_ips = sandbox.ips;
  }
  parts_.table.put(pod.record);
  co_return absl::OkStatus();
}

Co<absl::Status> PlanRunner::remove_containers(PodContext& pod, std::vector<ContainerId> ids) {
  absl::Status first;
  for (const auto& id : ids) {
    const Instant deadline = after(parts_.loop.now(), parts_.options.runtime_request_timeout);
    Step step(parts_.steps, pod.flow, StepKind::kRemove, fmt::format("container {}", short_id(id)), deadline);
    const absl::Status status =
        co_await parts_.strays.carry(pod.uid, "RemoveContainer", parts_.runtime.remove_container(id, deadline));
    step.end(status);
    if (!status.ok() && first.ok()) first = annotate(status, "remove container {}", short_id(id));
  }
  co_return first;
}

}  // namespace podwright::sync
