#include "pleg/runtime_cache.h"

#include <algorithm>

#include "base/status/annotate.h"

namespace podwright::pleg {
namespace {

// What the runtime's CRI part will say of such an end, until it does.
std::string reason_of(int32_t exit_code, bool oom_killed) {
  if (oom_killed) return "OOMKilled";
  return exit_code == 0 ? "Completed" : "Error";
}

}  // namespace

RuntimeCache::RuntimeCache(Loop& loop, cri::Runtime& runtime, Steps& steps, Options options)
    : loop_(loop),
      runtime_(runtime),
      steps_(steps),
      options_(options),
      slots_(loop, options.looks_at_once),
      scope_(loop) {}

PodRuntimePtr RuntimeCache::get(const PodUid& uid) const {
  const auto found = pods_.find(uid);
  return found == pods_.end() ? nullptr : found->second;
}

Co<absl::StatusOr<PodRuntimePtr>> RuntimeCache::inspect(PodUid uid) {
  auto& slot = looks_[uid];
  if (!slot) slot = std::make_shared<Look>(loop_);
  const std::shared_ptr<Look> look = slot;
  // A look that has begun already may have missed what the caller wants to see, so the next one is waited for.
  const uint64_t wanted = look->begun + 1;
  if (look->running) {
    look->again = true;
  } else {
    look->running = true;
    scope_.spawn("look at pod " + uid.value, run_looks(uid, look));
  }
  // The look at work and the next one, each with its wait for a place.
  const Instant deadline = after(loop_.now(), 4 * options_.look_deadline + 100ms);
  while (look->finished < wanted) {
    const Wait wait = co_await look->done.wait_until(deadline);
    if (wait == Wait::kCancelled) co_return absl::CancelledError("told to go on");
    if (wait == Wait::kLate) co_return absl::DeadlineExceededError("the runtime did not answer in time");
  }
  if (!look->result.ok()) co_return look->result;
  PodRuntimePtr seen = get(uid);
  if (!seen) co_return absl::NotFoundError(fmt::format("pod {} was forgotten meanwhile", uid));
  co_return seen;
}

Co<void> RuntimeCache::run_looks(PodUid uid, std::shared_ptr<Look> look) {
  do {
    look->again = false;
    look->dropped = false;
    ++look->begun;
    const uint64_t number = look->begun;
    const absl::Status status = co_await look_once(uid, look);
    if (co_await is_stopping()) co_return;
    look->result = status;
    look->finished = number;
    look->done.notify();
  } while (look->again);
  look->running = false;
  const auto found = looks_.find(uid);
  if (found != looks_.end() && found->second == look) looks_.erase(found);
}

Co<absl::Status> RuntimeCache::look_once(PodUid uid, std::shared_ptr<Look> look) {
  auto place = co_await slots_.acquire(after(loop_.now(), options_.look_deadline));
  if (!place.ok()) co_return annotate(place.status(), "wait to look at pod {}", uid);
  const Instant deadline = after(loop_.now(), options_.look_deadline);
  const Flow flow{"look/" + uid.value, LogSubject{{"uid", uid.value}}};
  Step step(steps_, flow, StepKind::kInspect, "runtime", deadline);
  auto pod = std::make_shared<PodRuntime>();
  pod->uid = uid;
  pod->good_at = loop_.now();
  cri::Filter filter;
  filter.labels[cri::kPodUidLabel] = uid.value;
  auto sandboxes = co_await runtime_.list_sandboxes(filter, deadline);
  if (!sandboxes.ok()) {
    step.end(sandboxes.status());
    co_return annotate(sandboxes.status(), "list the sandboxes of pod {}", uid);
  }
  auto containers = co_await runtime_.list_containers(filter, deadline);
  if (!containers.ok()) {
    step.end(containers.status());
    co_return annotate(containers.status(), "list the containers of pod {}", uid);
  }
  pod->sandboxes = *std::move(sandboxes);
  pod->containers = *std::move(containers);
  const absl::Status filled = co_await fill(pod, deadline);
  step.end(filled);
  if (!filled.ok()) co_return filled;
  if (!look->dropped) store(std::move(pod));
  co_return absl::OkStatus();
}

// The statuses behind a pod's lists.
Co<absl::Status> RuntimeCache::fill(std::shared_ptr<PodRuntime> pod, Instant deadline) {
  sort_newest_first(*pod);
  for (const auto& sandbox : pod->sandboxes) pod->key = sandbox.pod;
  if (pod->key.name.empty() && !pod->containers.empty()) {
    if (const auto owner = pod_of(pod->containers.front().labels)) pod->key = owner->second;
  }
  std::vector<absl::Status> results(pod->sandboxes.size() + pod->containers.size());
  std::vector<Co<void>> flows;
  for (std::size_t i = 0; i < pod->sandboxes.size(); ++i) {
    // Of those that are not ready nothing more is needed than the list says.
    if (i > 0 && pod->sandboxes[i].state != cri::SandboxState::kReady) continue;
    flows.push_back(fill_sandbox(pod, i, deadline, &results[i]));
  }
  const auto before = get(pod->uid);
  for (std::size_t i = 0; i < pod->containers.size(); ++i) {
    auto& container = pod->containers[i];
    const auto* known = before && final_.contains(container.id) ? before->find(container.id) : nullptr;
    if (known != nullptr) {
      container = *known;
      continue;
    }
    flows.push_back(fill_container(pod, i, deadline, &results[pod->sandboxes.size() + i]));
  }
  co_await run_all(loop_, std::move(flows));
  if (co_await is_stopping()) co_return absl::CancelledError("told to go on");
  for (const auto& result : results) {
    if (!result.ok()) co_return result;
  }
  // Whatever vanished between the list and its status call is gone.
  std::erase_if(pod->containers, [](const auto& container) { return container.id.empty(); });
  std::erase_if(pod->sandboxes, [](const auto& sandbox) { return sandbox.id.empty(); });
  co_return absl::OkStatus();
}

Co<void> RuntimeCache::fill_sandbox(std::shared_ptr<PodRuntime> pod, std::size_t index, Instant deadline,
                                    absl::Status* result) {
  const SandboxId id = pod->sandboxes[index].id;
  auto status = co_await runtime_.sandbox_status(id, deadline);
  if (absl::IsNotFound(status.status())) {
    pod->sandboxes[index].id = SandboxId();
  } else if (!status.ok()) {
    *result = annotate(status.status(), "status of sandbox {}", short_id(id));
  } else {
    status->labels = pod->sandboxes[index].labels;
    pod->sandboxes[index] = *std::move(status);
  }
}

Co<void> RuntimeCache::fill_container(std::shared_ptr<PodRuntime> pod, std::size_t index, Instant deadline,
                                      absl::Status* result) {
  const ContainerId id = pod->containers[index].id;
  const SandboxId sandbox = pod->containers[index].sandbox;
  auto status = co_await runtime_.container_status(id, deadline);
  if (absl::IsNotFound(status.status())) {
    pod->containers[index].id = ContainerId();
  } else if (!status.ok()) {
    *result = annotate(status.status(), "status of container {}", short_id(id));
  } else {
    status->sandbox = sandbox;
    pod->containers[index] = *std::move(status);
  }
}

// Joins what was believed with what a status call has just said of a container.
void RuntimeCache::apply_told(const PodRuntime& pod, cri::ContainerStatus& container) {
  const auto started = started_.find(container.id);
  if (started != started_.end()) {
    if (container.state == cri::ContainerState::kCreated) {
      container.state = cri::ContainerState::kRunning;
      container.started_at = started->second;
    } else {
      started_.erase(started);
    }
  }
  const auto told = told_.find(container.id);
  const bool exited = container.state == cri::ContainerState::kExited;
  if (exited) final_.insert(container.id);
  if (told == told_.end()) return;
  if (!exited && pod.good_at <= after(told->second.told_at, options_.status_lag)) {
    // The status call was answered before the end that the runtime has told since.
    container.state = cri::ContainerState::kExited;
    container.exit_code = told->second.exit_code;
    container.finished_at = told->second.at;
    container.reason = reason_of(told->second.exit_code, told->second.oom_killed);
    return;
  }
  if (!exited || told->second.exit_code != container.exit_code) {
    ++contradictions_;
    log_warning(LogSubject{{"container_id", short_id(container.id)}}, "the runtime contradicts its own event",
                {{"event_exit_code", told->second.exit_code},
                 {"state", exited ? "exited" : "not exited"},
                 {"exit_code", container.exit_code}});
  }
  told_.erase(told);
}

void RuntimeCache::forget_container(const ContainerId& id) {
  final_.erase(id);
  told_.erase(id);
  started_.erase(id);
  owners_.erase(id.value);
}

void RuntimeCache::store(std::shared_ptr<PodRuntime> pod) {
  const auto before = get(pod->uid);
  for (auto& container : pod->containers) {
    owners_[container.id.value] = {pod->uid, false};
    apply_told(*pod, container);
  }
  for (const auto& sandbox : pod->sandboxes) {
    owners_[sandbox.id.value] = {pod->uid, true};
    if (sandbox.state != cri::SandboxState::kReady || !pod->ips_kept.empty()) continue;
    pod->ips_kept = sandbox.ips;
  }
  if (before) {
    if (pod->ips_kept.empty()) pod->ips_kept = before->ips_kept;
    for (const auto& container : before->containers) {
      if (pod->find(container.id) == nullptr) forget_container(container.id);
    }
    for (const auto& sandbox : before->sandboxes) {
      const auto same = [&sandbox](const auto& other) { return other.id == sandbox.id; };
      if (std::none_of(pod->sandboxes.begin(), pod->sandboxes.end(), same)) owners_.erase(sandbox.id.value);
    }
  }
  PodUid uid = pod->uid;
  pods_[std::move(uid)] = std::move(pod);
}

Co<absl::StatusOr<std::vector<PodRuntimePtr>>> RuntimeCache::look_at_all() {
  const Instant deadline = after(loop_.now(), options_.list_deadline);
  const Instant begin = loop_.now();
  auto sandboxes = co_await runtime_.list_sandboxes({}, deadline);
  if (!sandboxes.ok()) co_return annotate(sandboxes.status(), "list all sandboxes");
  auto containers = co_await runtime_.list_containers({}, deadline);
  if (!containers.ok()) co_return annotate(containers.status(), "list all containers");
  std::map<PodUid, std::shared_ptr<PodRuntime>> pods;
  const auto pod = [&](const PodUid& uid) {
    auto& slot = pods[uid];
    if (!slot) {
      slot = std::make_shared<PodRuntime>();
      slot->uid = uid;
      slot->good_at = begin;
    }
    return slot;
  };
  for (auto& sandbox : *sandboxes) {
    if (!sandbox.uid.empty()) pod(sandbox.uid)->sandboxes.push_back(std::move(sandbox));
  }
  for (auto& container : *containers) {
    if (const auto owner = pod_of(container.labels)) pod(owner->first)->containers.push_back(std::move(container));
  }
  std::vector<Co<void>> flows;
  for (auto& [uid, one] : pods) flows.push_back(fill_at_start(one));
  co_await run_all(loop_, std::move(flows));
  if (co_await is_stopping()) co_return absl::CancelledError("told to go on");
  std::vector<PodRuntimePtr> all;
  for (const auto& [uid, one] : pods) {
    if (PodRuntimePtr seen = get(uid)) all.push_back(std::move(seen));
  }
  co_return all;
}

Co<void> RuntimeCache::fill_at_start(std::shared_ptr<PodRuntime> pod) {
  // The wait for a place is bounded by the others' looks, which end by their own deadlines.
  auto place = co_await slots_.acquire(after(loop_.now(), options_.list_deadline));
  absl::Status status = place.status();
  if (status.ok()) status = co_await fill(pod, after(loop_.now(), options_.look_deadline));
  if (status.ok()) {
    store(std::move(pod));
  } else if (!absl::IsCancelled(status)) {
    log_warning(LogSubject{{"uid", pod->uid.value}}, "pod is left out of the first look", {{"error", text_of(status)}});
  }
}

void RuntimeCache::believe_started(const PodUid& uid, const ContainerId& id) {
  owners_[id.value] = {uid, false};
  started_[id] = loop_.clock().wall();
  const auto before = get(uid);
  const auto* known = before ? before->find(id) : nullptr;
  if (known == nullptr || known->state != cri::ContainerState::kCreated) return;
  auto pod = std::make_shared<PodRuntime>(*before);
  for (auto& container : pod->containers) {
    if (container.id != id) continue;
    container.state = cri::ContainerState::kRunning;
    container.started_at = started_[id];
  }
  pods_[uid] = std::move(pod);
}

std::optional<PodUid> RuntimeCache::believe_exit(const ContainerId& id, int32_t exit_code, WallTime at,
                                                 bool oom_killed) {
  const auto owner = owner_of(id.value);
  if (!owner) return std::nullopt;
  const auto before = get(*owner);
  const auto* known = before ? before->find(id) : nullptr;
  if (known != nullptr && known->state == cri::ContainerState::kExited) return owner;
  told_[id] = {*owner, loop_.now(), exit_code, at, oom_killed};
  if (known == nullptr) return owner;
  auto pod = std::make_shared<PodRuntime>(*before);
  for (auto& container : pod->containers) {
    if (container.id != id) continue;
    container.state = cri::ContainerState::kExited;
    container.exit_code = exit_code;
    container.finished_at = at;
    container.reason = reason_of(exit_code, oom_killed);
  }
  pods_[*owner] = std::move(pod);
  return owner;
}

std::optional<PodUid> RuntimeCache::owner_of(const std::string& id) const {
  const auto found = owners_.find(id);
  return found == owners_.end() ? std::nullopt : std::optional(found->second.uid);
}

bool RuntimeCache::is_sandbox(const std::string& id) const {
  const auto found = owners_.find(id);
  return found != owners_.end() && found->second.sandbox;
}

void RuntimeCache::note_lists(const std::vector<cri::SandboxStatus>& sandboxes,
                              const std::vector<cri::ContainerStatus>& containers) {
  for (const auto& sandbox : sandboxes) {
    if (!sandbox.uid.empty()) owners_[sandbox.id.value] = {sandbox.uid, true};
  }
  for (const auto& container : containers) {
    if (const auto owner = pod_of(container.labels)) owners_[container.id.value] = {owner->first, false};
  }
}

void RuntimeCache::forget_unlisted(const std::vector<cri::SandboxStatus>& sandboxes,
                                   const std::vector<cri::ContainerStatus>& containers) {
  std::set<std::string> kept;
  for (const auto& sandbox : sandboxes) kept.insert(sandbox.id.value);
  for (const auto& container : containers) kept.insert(container.id.value);
  for (const auto& [uid, pod] : pods_) {
    for (const auto& sandbox : pod->sandboxes) kept.insert(sandbox.id.value);
    for (const auto& container : pod->containers) kept.insert(container.id.value);
  }
  std::vector<std::string> gone;
  for (const auto& [id, owner] : owners_) {
    if (!kept.contains(id)) gone.push_back(id);
  }
  for (const auto& id : gone) forget_container(ContainerId(id));
}

AllStates RuntimeCache::states() const {
  AllStates all;
  for (const auto& [uid, pod] : pods_) all[uid] = states_of_pod(pod->sandboxes, pod->containers);
  return all;
}

std::vector<PodUid> RuntimeCache::unconfirmed() const {
  std::set<PodUid> uids;
  for (const auto& [id, told] : told_) uids.insert(told.uid);
  return {uids.begin(), uids.end()};
}

void RuntimeCache::drop(const PodUid& uid) {
  if (const auto look = looks_.find(uid); look != looks_.end()) look->second->dropped = true;
  pods_.erase(uid);
  std::vector<std::string> ids;
  for (const auto& [id, owner] : owners_) {
    if (owner.uid == uid) ids.push_back(id);
  }
  for (const auto& id : ids) forget_container(ContainerId(id));
}

}  // namespace podwright::pleg
