// PlanRunner: carries out what plan_pod() decided, in the order of behaviours 6. Every call with an effect is noted in
// the table before it is made (intent), runs through Strays, and is looked up by its labels where its outcome is
// unknown. Cancelling a run leaves shared work, cuts hooks, and leaves calls with an effect to Strays.
#pragma once

#include "agent/sync/parts.h"
#include "agent/sync/plan.h"
#include "agent/sync/pod_context.h"

namespace podwright::sync {

// How a run ended.
struct RunOutcome {
  // The first thing that failed and is worth another try after `retry_at`.
  absl::Status error;
  std::optional<Instant> retry_at;
  // The runtime was touched: look at the pod before the next plan.
  bool acted = false;
};

class PlanRunner {
 public:
  explicit PlanRunner(Parts& parts) : parts_(parts) {}

  Co<RunOutcome> run(PodContext& pod, PodPlan plan);

  // Kills one container: preStop (unless `grace` is zero or it has begun), then StopContainer with what is left until
  // `deadline`, at least 2 s. NotFound is success.
  Co<absl::Status> kill_container(PodContext& pod, std::optional<pods::ContainerRef> container, ContainerId id,
                                  std::string message, std::chrono::seconds grace, Instant deadline);

  // Kills everything of the pod, sidecars after the regular containers in reverse order (behaviours 11), then stops its
  // sandboxes. What still runs is told by the next look.
  Co<absl::Status> kill_pod(PodContext& pod, pleg::PodRuntimePtr seen, Instant deadline, std::chrono::seconds grace);

 private:
  Co<absl::Status> prepare(PodContext& pod);
  Co<absl::Status> ensure_user_namespace(PodContext& pod);
  Co<absl::Status> ensure_sandbox(PodContext& pod, const SandboxPlan& plan);
  Co<absl::Status> run_sandbox(PodContext& pod, cri::SandboxConfig config, uint32_t attempt);
  Co<absl::Status> start_all(PodContext& pod, const PodPlan& plan, RunOutcome& outcome);
  Co<absl::Status> start_one(PodContext& pod, const StartStep& step, const PodPlan& plan, RunOutcome& outcome);
  Co<absl::StatusOr<ContainerId>> create(PodContext& pod, const pods::ContainerRef& container, SandboxId sandbox,
                                         RunOutcome& outcome);
  // The devices of a container, booked for its pod and noted in the record. Nothing: it waits, and the outcome and its
  // reason say for what.
  Co<absl::StatusOr<std::optional<devices::ContainerSetup>>> take_devices(PodContext& pod,
                                                                          const pods::ContainerRef& container,
                                                                          RunOutcome& outcome);
  Co<absl::StatusOr<cri::ContainerConfig>> make_config(PodContext& pod, const pods::ContainerRef& container,
                                                       uint32_t attempt, const images::ImageOutcome& image,
                                                       devices::ContainerSetup setup);
  Co<absl::Status> start_created(PodContext& pod, const pods::ContainerRef& container, ContainerId id);
  Co<absl::Status> post_start(PodContext& pod, const pods::ContainerRef& container, ContainerId id);
  Co<absl::Status> remove_containers(PodContext& pod, std::vector<ContainerId> ids);
  // preStop, within what is left of the grace; its failure is told and does not stop the kill.
  Co<void> pre_stop(PodContext& pod, std::optional<pods::ContainerRef> container, ContainerId id, std::string message,
                    std::chrono::seconds grace, Instant deadline);
  // TERM, and KILL at the deadline.
  Co<absl::Status> stop_container(PodContext& pod, std::optional<pods::ContainerRef> container, ContainerId id,
                                  std::chrono::seconds grace, Instant deadline);
  void note_fallback(PodContext& pod, const pods::ContainerRef& container, const probes::HookOutcome& outcome);
  Co<void> kill_flow(PodContext& pod, std::optional<pods::ContainerRef> container, ContainerId id, std::string message,
                     std::chrono::seconds grace, Instant deadline, absl::Status* result);
  Co<void> stop_flow(PodContext& pod, std::size_t index, struct StopRound* round);

  Co<absl::Status> commit(PodContext& pod, table::Durability durability);
  void wait_reason(PodContext& pod, const ContainerName& container, std::string reason, std::string message);

  Parts& parts_;
};

}  // namespace podwright::sync
