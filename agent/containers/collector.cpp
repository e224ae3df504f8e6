#include "agent/containers/collector.h"

#include <algorithm>
#include <map>

#include "base/status/annotate.h"

namespace podwright::containers {
namespace {

const Flow kFlow{"collector", LogSubject{{"flow", "collector"}}};

PodUid uid_of(const cri::ContainerStatus& container) {
  const auto found = container.labels.find(cri::kPodUidLabel);
  return PodUid(found == container.labels.end() ? "" : found->second);
}

// The UID at the end of "<namespace>_<name>_<uid>".
PodUid uid_of_log_dir(const std::string& name) {
  const auto at = name.rfind('_');
  return PodUid(at == std::string::npos ? "" : name.substr(at + 1));
}

// The container's ID at the end of a link "<pod>_<namespace>_<container>-<id>.log".
std::string id_of_link(const std::string& name) {
  const auto dash = name.rfind('-');
  const auto dot = name.rfind(".log");
  if (dash == std::string::npos || dot == std::string::npos || dot < dash) return "";
  return name.substr(dash + 1, dot - dash - 1);
}

}  // namespace

CollectorPlan plan_collection(const std::vector<cri::SandboxStatus>& sandboxes,
                              const std::vector<cri::ContainerStatus>& containers, const CollectorFacts& facts,
                              const CollectorOptions& options) {
  CollectorPlan plan;
  std::map<std::pair<PodUid, ContainerName>, std::vector<const cri::ContainerStatus*>> dead;
  std::set<SandboxId> used;
  for (const auto& container : containers) {
    const PodUid uid = uid_of(container);
    if (uid.empty()) continue;
    if (container.state == cri::ContainerState::kRunning) {
      used.insert(container.sandbox);
    } else {
      dead[{uid, container.name}].push_back(&container);
    }
  }
  for (auto& [key, instances] : dead) {
    std::sort(instances.begin(), instances.end(), [](const auto* a, const auto* b) {
      return std::tie(a->created_at, a->attempt) > std::tie(b->created_at, b->attempt);
    });
    const bool known = facts.known.contains(key.first);
    // A pod that is gone keeps none; what belongs to nobody goes only once every source has spoken.
    const int kept = known || !facts.sources_ready ? std::max(options.kept_per_container, 0) : 0;
    for (std::size_t i = 0; i < instances.size(); ++i) {
      // The newest may be about to start, or nobody can say what it does.
      const bool may_live = i == 0 && instances[i]->state != cri::ContainerState::kExited;
      if (static_cast<int>(i) < kept || (may_live && (known || !facts.sources_ready))) {
        used.insert(instances[i]->sandbox);
      } else {
        plan.containers.push_back(instances[i]->id);
      }
    }
  }
  std::map<PodUid, std::vector<const cri::SandboxStatus*>> by_pod;
  for (const auto& sandbox : sandboxes) {
    if (!sandbox.uid.empty()) by_pod[sandbox.uid].push_back(&sandbox);
  }
  for (auto& [uid, all] : by_pod) {
    std::sort(all.begin(), all.end(), [](const auto* a, const auto* b) {
      return std::tie(a->created_at, a->attempt) > std::tie(b->created_at, b->attempt);
    });
    const bool known = facts.known.contains(uid);
    if (!known && !facts.sources_ready) continue;
    for (std::size_t i = 0; i < all.size(); ++i) {
      if (all[i]->state == cri::SandboxState::kReady || used.contains(all[i]->id)) continue;
      if (known && i == 0) continue;  // the newest says how the pod stands
      plan.sandboxes.push_back(all[i]->id);
    }
  }
  return plan;
}

Collector::Collector(Loop& loop, Offload& offload, Tree& tree, cri::Runtime& runtime, volumes::PodVolumes& volumes,
                     events::EventRecorder& events, Steps& steps, const NodeFacts& node, CollectorOptions options,
                     std::function<CollectorFacts()> facts)
    : loop_(loop),
      offload_(offload),
      tree_(tree),
      runtime_(runtime),
      volumes_(volumes),
      events_(events),
      steps_(steps),
      node_(node),
      options_(options),
      facts_(std::move(facts)),
      slots_(loop, options.parallel) {}

Co<void> Collector::run() {
  while (co_await sleep_until(loop_, after(loop_.now(), options_.period)) == Wait::kLate) {
    const absl::Status status = co_await collect();
    if (co_await is_stopping()) co_return;
    const std::string text = status.ok() ? "" : text_of(status);
    if (!text.empty() && text != last_error_) {
      log_warning(kFlow.subject, "collection failed, will be tried again", {{"error", text}});
      events_.record_node(events::kWarning, "ContainerGCFailed", text);
    }
    last_error_ = text;
  }
}

Co<void> Collector::remove_container(ContainerId id, absl::Status* result) {
  const Instant deadline = after(loop_.now(), options_.call_deadline);
  auto slot = co_await slots_.acquire(deadline);
  if (!slot.ok()) {
    *result = slot.status();
    co_return;
  }
  const absl::Status status = co_await runtime_.remove_container(id, deadline);
  if (!status.ok() && !absl::IsNotFound(status)) *result = annotate(status, "remove container {}", short_id(id));
}

Co<void> Collector::remove_sandbox(SandboxId id, absl::Status* result) {
  const Instant deadline = after(loop_.now(), options_.call_deadline);
  auto slot = co_await slots_.acquire(deadline);
  if (!slot.ok()) {
    *result = slot.status();
    co_return;
  }
  // One that died by itself still holds its network. Source: pkg/kubelet/kuberuntime/kuberuntime_gc.go, removeSandbox.
  absl::Status status = co_await runtime_.stop_sandbox(id, deadline);
  if (status.ok() || absl::IsNotFound(status)) status = co_await runtime_.remove_sandbox(id, deadline);
  if (!status.ok() && !absl::IsNotFound(status)) *result = annotate(status, "remove sandbox {}", short_id(id));
}

template <class Id>
Co<absl::Status> Collector::remove_all(std::vector<Id> ids, Co<void> (Collector::*remove)(Id, absl::Status*)) {
  std::vector<absl::Status> results(ids.size());
  std::vector<Co<void>> flows;
  for (std::size_t i = 0; i < ids.size(); ++i) flows.push_back((this->*remove)(ids[i], &results[i]));
  co_await run_all(loop_, std::move(flows));
  for (const auto& result : results) {
    if (!result.ok()) co_return result;
  }
  co_return absl::OkStatus();
}

Co<absl::Status> Collector::collect() {
  const Instant deadline = after(loop_.now(), options_.call_deadline);
  Step step(steps_, kFlow, StepKind::kRemove, "what pods left behind", deadline);
  auto sandboxes = co_await runtime_.list_sandboxes({}, deadline);
  if (!sandboxes.ok()) co_return annotate(sandboxes.status(), "list all sandboxes");
  auto containers = co_await runtime_.list_containers({}, deadline);
  if (!containers.ok()) co_return annotate(containers.status(), "list all containers");
  const CollectorFacts facts = facts_();
  const CollectorPlan plan = plan_collection(*sandboxes, *containers, facts, options_);

  absl::Status first = co_await remove_all(plan.containers, &Collector::remove_container);
  if (co_await is_stopping()) co_return absl::CancelledError("the agent stops");
  const absl::Status removed = co_await remove_all(plan.sandboxes, &Collector::remove_sandbox);
  if (co_await is_stopping()) co_return absl::CancelledError("the agent stops");
  if (first.ok()) first = removed;
  std::set<std::string> live;
  for (const auto& container : *containers) {
    if (container.state != cri::ContainerState::kExited) live.insert(container.id.value);
  }
  if (facts.sources_ready) {
    const absl::Status logs = co_await collect_log_directories();
    if (!logs.ok() && first.ok()) first = logs;
    const absl::Status links = co_await collect_log_links(std::move(live));
    if (!links.ok() && first.ok()) first = links;
    const absl::Status directories = co_await collect_directories();
    if (!directories.ok() && first.ok()) first = directories;
  }
  step.end(first);
  co_return first;
}

// Who is known is asked before each removal: pods come while the collection waits for others.
Co<absl::Status> Collector::collect_log_directories() {
  Tree& tree = tree_;
  const std::string logs = node_.pod_logs_dir;
  const auto pods = co_await offload(loop_, offload_, [&tree, logs] { return tree.list(logs); });
  if (absl::IsNotFound(pods.status())) co_return absl::OkStatus();
  if (!pods.ok()) co_return pods.status();
  absl::Status first;
  for (const auto& entry : *pods) {
    const PodUid uid = uid_of_log_dir(entry.name);
    if (uid.empty() || entry.type != FileType::kDirectory || facts_().known.contains(uid)) continue;
    const std::string path = join_path(logs, entry.name);
    const absl::Status status = co_await offload(loop_, offload_, [&tree, path] { return tree.remove_tree(path); });
    if (!status.ok() && first.ok()) first = status;
  }
  co_return first;
}

Co<absl::Status> Collector::collect_log_links(std::set<std::string> live_ids) {
  Tree& tree = tree_;
  const std::string links = node_.container_logs_dir;
  co_return co_await offload(loop_, offload_, [&tree, links, live_ids]() -> absl::Status {
    const auto names = tree.list(links);
    if (absl::IsNotFound(names.status())) return absl::OkStatus();
    if (!names.ok()) return names.status();
    absl::Status first;
    for (const auto& entry : *names) {
      if (entry.type != FileType::kSymlink) continue;
      const std::string path = join_path(links, entry.name);
      // Rotation may have taken the file away for a moment: while the container lives its link stays.
      if (live_ids.contains(id_of_link(entry.name)) || tree.info_followed(path).ok()) continue;
      const absl::Status status = tree.remove_file(path);
      if (!status.ok() && !absl::IsNotFound(status) && first.ok()) first = status;
    }
    return first;
  });
}

Co<absl::Status> Collector::collect_directories() {
  const auto uids = co_await volumes_.pods_on_disk();
  if (!uids.ok()) co_return uids.status();
  absl::Status first;
  for (const auto& uid : *uids) {
    if (facts_().known.contains(uid)) continue;
    const absl::Status status = co_await volumes_.teardown(uid, {}, after(loop_.now(), options_.call_deadline));
    if (!status.ok() && first.ok()) first = annotate(status, "orphaned pod directory {}", uid);
  }
  co_return first;
}

}  // namespace podwright::containers
