// What a worker shows and is told: the published status, probes, termination messages.
#include <algorithm>

#include "agent/status/compute.h"
#include "agent/sync/pod_worker.h"
#include "agent/sync/probe_targets.h"
#include "api/resources.h"
#include "base/status/annotate.h"

namespace podwright::sync {
namespace {

// Source: pkg/kubelet/container, MaxContainerTerminationMessageLength and its fallback to the log.
constexpr std::size_t kMessageBytes = 4096;
constexpr std::size_t kFallbackBytes = 2048;
constexpr std::size_t kFallbackLines = 80;

// The last lines of a CRI log, without what the runtime put in front of each.
std::string last_log_lines(const std::string& tail) {
  std::vector<std::string> lines;
  std::size_t begin = 0;
  while (begin < tail.size()) {
    std::size_t end = tail.find('\n', begin);
    if (end == std::string::npos) end = tail.size();
    std::string_view line(tail.data() + begin, end - begin);
    // "<time> <stream> <tags> <text>"
    for (int part = 0; part < 3; ++part) {
      const auto space = line.find(' ');
      line = space == std::string_view::npos ? std::string_view() : line.substr(space + 1);
    }
    lines.emplace_back(line);
    begin = end + 1;
  }
  std::string text;
  const std::size_t first = lines.size() > kFallbackLines ? lines.size() - kFallbackLines : 0;
  for (std::size_t i = first; i < lines.size(); ++i) text += lines[i] + "\n";
  if (text.size() > kFallbackBytes) text.erase(0, text.size() - kFallbackBytes);
  return text;
}

}  // namespace

Co<void> PodWorker::read_termination_messages(std::vector<pods::ExitRecord> ended) {
  if (!pod_.pod) co_return;
  for (const auto& exit : ended) {
    for (const auto& container : pods::containers_of(pod_.pod)) {
      const auto found = pod_.record.containers.find(container.name);
      if (found == pod_.record.containers.end() || found->second.id != exit.container) continue;
      const std::string path = found->second.termination_message_path;
      std::string log_path;
      for (const auto& status : seen_->containers) {
        if (status.id == exit.container) log_path = status.log_path;
      }
      const bool falls_back = container.spec->terminationmessagepolicy() == "FallbackToLogsOnError" &&
                              exit.exit_code != 0 && exit.reason != "ContainerCannotRun";
      Tree& tree = parts_.tree;
      std::string text = co_await offload(parts_.loop, parts_.offload, [&tree, path, log_path, falls_back] {
        std::string message;
        if (!path.empty()) {
          const auto read = tree.read(path, 64 << 10);
          if (read.ok()) message = read->substr(0, kMessageBytes);
        }
        if (message.empty() && falls_back && !log_path.empty()) {
          const auto tail = tree.read_tail(log_path, 16 << 10);
          if (tail.ok()) message = last_log_lines(*tail);
        }
        return message;
      });
      if (text.empty()) continue;
      // It belongs to the end: kept in the record, so that it outlives the file.
      auto& rec = pod_.record.containers[container.name];
      if (rec.exit && rec.exit->container == exit.container) {
        rec.exit->message = rec.exit->message.empty() ? text : rec.exit->message + ": " + text;
        parts_.table.put(pod_.record);
      }
    }
  }
}

void PodWorker::confirm(pods::SourceKind source, pods::Wish wish) {
  pod_.record.source = source;
  put(std::move(wish));
}

void PodWorker::update_probes() {
  if (!pod_.pod || state_ != WorkerState::kSyncing) return;
  for (const auto& container : pods::containers_of(pod_.pod)) {
    if (container.kind == pods::ContainerKind::kInit || container.kind == pods::ContainerKind::kEphemeral) continue;
    const auto found = pod_.record.containers.find(container.name);
    if (found == pod_.record.containers.end()) continue;
    const auto& rec = found->second;
    if (rec.state != pods::InstanceState::kRunning) {
      parts_.probes.remove(pod_.uid, container.name);
      continue;
    }
    probes::ProbedContainer probed;
    probed.specs = probe_specs(container);
    if (probed.specs.empty()) continue;
    probed.target = probe_target(pod_, container, rec.id, parts_.node);
    probed.running_since = rec.running_since;
    parts_.probes.add(std::move(probed), rec.probes);
  }
}

void PodWorker::probe_result(const probes::ProbeResult& result) {
  const auto found = pod_.record.containers.find(result.container);
  if (found == pod_.record.containers.end() || found->second.id != result.id || !pod_.pod) return;
  auto& rec = found->second;
  if (result.event || result.leftover_event) {
    const auto container = pods::find_container(pod_.pod, result.container);
    const std::string path = container ? container->field_path : "";
    for (const auto& event : {result.event, result.leftover_event}) {
      if (event) parts_.events.record(*pod_.pod, path, "Warning", event->reason, event->message);
    }
  }
  if (rec.probes[result.kind] == result.state) return;
  rec.probes[result.kind] = result.state;
  if (!result.changed) {
    parts_.table.put(pod_.record);
    return;
  }
  const bool good = result.verdict == probes::Verdict::kSuccess;
  switch (result.kind) {
    case probes::ProbeKind::kReadiness: rec.ready = good; break;
    case probes::ProbeKind::kStartup: rec.started = good; break;
    case probes::ProbeKind::kLiveness: break;
  }
  log_info(pod_.flow.subject, "probe changed its verdict",
           {{"container", result.container}, {"probe", name_of(result.kind)}, {"verdict", name_of(result.verdict)}});
  parts_.table.put(pod_.record);
  publish();
  poke();
}

// A success that must not run again is told only once it cannot be lost: after the look that has kept it.
bool PodWorker::has_unkept_success(const pleg::PodRuntime& runtime) const {
  if (pod_.pod->spec().restartpolicy() == "Always") return false;
  return std::any_of(runtime.containers.begin(), runtime.containers.end(), [this](const auto& container) {
    if (container.state != cri::ContainerState::kExited || container.exit_code != 0) return false;
    const auto known = pod_.record.containers.find(container.name);
    return known != pod_.record.containers.end() && known->second.id == container.id && !known->second.exit;
  });
}

// Shows what the runtime was last seen to have, be it newer than the last look of this worker; the record learns of
// that by the next look.
void PodWorker::publish() {
  if (!pod_.pod) return;
  pleg::PodRuntimePtr runtime = seen_;
  if (seen_) {
    if (auto newest = parts_.cache.get(pod_.uid)) runtime = std::move(newest);
    if (has_unkept_success(*runtime)) return;
  } else if (published_) {
    // What was told last stands until the first look: an agent that starts knows nothing better.
    show(published_);
    return;
  }
  status::Inputs inputs;
  inputs.pod = pod_.pod;
  inputs.runtime = runtime;
  inputs.record = &pod_.record;
  inputs.waiting = pod_.waiting;
  inputs.terminal = state_ == WorkerState::kTerminated || state_ == WorkerState::kFinished;
  inputs.sandbox_ready = runtime && !last_plan_.sandbox.create && runtime->any_sandbox_ready();
  inputs.host_ip = parts_.node.host_ip;
  inputs.host_ips = parts_.node.host_ips;
  inputs.previous = published_.get();
  inputs.api = api_status_.get();
  inputs.now = parts_.loop.clock().wall();

  core::PodStatus status;
  if (!pod_.record.admitted && pod_.record.terminal) {
    status.set_phase("Failed");
    status.set_reason(pod_.record.terminal->reason);
    status.set_message(pod_.record.terminal->message);
    status.set_qosclass(std::string(api::name_of(api::qos_of(*pod_.pod))));
  } else {
    status = status::compute_status(inputs);
  }
  if (published_) {
    const std::string illegal = status::illegal_transition(*pod_.pod, *published_, status);
    if (!illegal.empty()) {
      log_error(pod_.flow.subject, "refused to publish a status", {{"error", illegal}});
      return;
    }
  }
  const std::string bytes = status.SerializeAsString();
  const std::string waits = waiting_for();
  const auto shown = parts_.board.find(pod_.uid);
  if (bytes == pod_.record.last_status && shown && shown->waiting_for == waits && shown->state == name_of(state_) &&
      shown->pod == pod_.pod) {
    return;
  }
  const bool news = !published_ || published_->phase() != status.phase();
  if (news) log_info(pod_.flow.subject, "pod phase", {{"phase", status.phase()}});
  if (bytes != pod_.record.last_status) {
    pod_.record.last_status = bytes;
    parts_.table.put(pod_.record);
  }
  show(std::make_shared<const core::PodStatus>(std::move(status)));
}

void PodWorker::show(pods::PodStatusPtr status) {
  published_ = std::move(status);
  pods::PodView view;
  view.uid = pod_.uid;
  view.pod = pod_.pod;
  view.status = published_;
  view.source = pod_.record.source;
  view.origin = pod_.record.origin;
  view.state = std::string(name_of(state_));
  view.waiting_for = waiting_for();
  parts_.board.put(std::move(view));
}

std::string PodWorker::waiting_for() const {
  const auto steps = parts_.steps.in_flight(pod_.flow.key);
  const Instant now = parts_.loop.now();
  if (!steps.empty()) {
    const auto& step = steps.back();
    return fmt::format("{} ({})", step.what, name_of(step.kind));
  }
  if (!last_error_.empty() && wake_at_ != Instant::max()) {
    return fmt::format("{}; next try in {}", last_error_, to_text(std::max(Duration(0), wake_at_ - now)));
  }
  for (const auto& waiting : last_plan_.waiting) {
    if (waiting.until <= now || state_ != WorkerState::kSyncing) continue;
    return fmt::format("container {}: {}, next start in {}", waiting.container, waiting.reason,
                       to_text(std::chrono::ceil<std::chrono::seconds>(waiting.until - now)));
  }
  for (const auto& [name, reason] : pod_.waiting) {
    if (state_ == WorkerState::kSyncing) return fmt::format("container {}: {} {}", name, reason.reason, reason.message);
  }
  return "";
}

}  // namespace podwright::sync
