#include "agent/sync/absorb.h"

#include <algorithm>

#include "agent/sync/restart.h"

namespace podwright::sync {
namespace {

using pods::ContainerRecord;
using pods::ExitRecord;
using pods::InstanceState;

constexpr char kUnknownReason[] = "ContainerStatusUnknown";
constexpr char kUnknownMessage[] = "The container could not be located when the pod was terminated";

// How long ago a wall time was, clamped to what can be: the wall clock may have been stepped.
Instant instant_of(WallTime then, Instant now, WallTime wall) {
  const Duration age = std::clamp(wall - then, Duration::zero(), Duration(now.time_since_epoch()));
  return now - age;
}

ExitRecord exit_of(const cri::ContainerStatus& status, const ContainerRecord& rec, Instant now, WallTime wall) {
  ExitRecord exit;
  exit.container = status.id;
  exit.exit_code = status.exit_code;
  exit.reason = status.reason;
  exit.message = status.message;
  exit.started_at = status.started_at;
  exit.finished_at = status.finished_at;
  exit.restart_count = status.attempt;
  // Where we saw it run, the end is as old as the news of it; otherwise (adoption) as its wall age says.
  exit.learnt_at =
      rec.id == status.id && rec.state == InstanceState::kRunning ? now : instant_of(status.finished_at, now, wall);
  return exit;
}

void take_over(ContainerRecord& rec, const cri::ContainerStatus& status) {
  if (rec.id == status.id) return;
  if (rec.exit) rec.last_exit = rec.exit;
  rec.exit.reset();
  rec.id = status.id;
  rec.started = false;
  rec.ready = false;
  rec.post_start_done = false;
  rec.probes.clear();
  rec.started_at = WallTime();
  rec.running_since = Instant();
  rec.termination_message_path.clear();
  rec.state = InstanceState::kNone;
}

void note_running(ContainerRecord& rec, const cri::ContainerStatus& status, Instant now, WallTime wall) {
  if (rec.state == InstanceState::kRunning && rec.running_since != Instant()) {
    if (rec.started_at == WallTime()) rec.started_at = status.started_at;
    return;
  }
  rec.state = InstanceState::kRunning;
  if (status.started_at != WallTime()) rec.started_at = status.started_at;
  rec.running_since = instant_of(status.started_at, now, wall);
}

}  // namespace

Absorbed absorb(pods::PodRecord& record, const pods::PodPtr& pod, const pleg::PodRuntime& seen, Instant now,
                WallTime wall, bool in_flight) {
  Absorbed result;
  const pods::PodRecord before = record;
  std::map<ContainerName, const cri::ContainerStatus*> newest;
  for (const auto& status : seen.containers) newest.try_emplace(status.name, &status);  // newest first

  for (const auto& [name, status] : newest) {
    ContainerRecord& rec = record.containers[name];
    if (pods::is_older(rec, status->id, status->attempt)) continue;
    take_over(rec, *status);
    rec.sandbox = status->sandbox;
    rec.attempt = status->attempt;
    switch (status->state) {
      case cri::ContainerState::kCreated:
        if (rec.state != InstanceState::kStarting) rec.state = InstanceState::kCreated;
        break;
      case cri::ContainerState::kRunning: note_running(rec, *status, now, wall); break;
      case cri::ContainerState::kExited: {
        ExitRecord exit = exit_of(*status, rec, now, wall);
        const bool news = !rec.exit || rec.exit->container != status->id;
        if (!news) exit.learnt_at = rec.exit->learnt_at;
        rec.exit = exit;
        rec.state = InstanceState::kExited;
        rec.ready = false;
        if (news) result.ended.push_back(std::move(exit));
        break;
      }
      case cri::ContainerState::kUnknown: break;
    }
  }

  for (auto& [name, rec] : record.containers) {
    const bool known = seen.find(rec.id) != nullptr;
    const bool was_running =
        rec.state == InstanceState::kRunning || (rec.state == InstanceState::kStarting && !rec.id.empty());
    if (known || !was_running || in_flight) continue;
    ExitRecord exit;
    exit.container = rec.id;
    exit.known = false;
    exit.exit_code = 137;
    exit.reason = kUnknownReason;
    exit.message = kUnknownMessage;
    exit.started_at = rec.started_at;
    exit.finished_at = wall;
    exit.learnt_at = now;
    exit.restart_count = rec.attempt;
    if (rec.exit) rec.last_exit = rec.exit;
    rec.exit = exit;
    rec.state = InstanceState::kExited;
    rec.ready = false;
    result.ended.push_back(std::move(exit));
  }

  if (!seen.sandboxes.empty()) {
    const auto& sandbox = seen.sandboxes.front();
    if (record.sandbox.id.empty() && sandbox.state == cri::SandboxState::kReady) {
      record.sandbox.id = sandbox.id;
      record.sandbox.attempt = sandbox.attempt;
      record.sandbox.making = false;
    }
    for (const auto& one : seen.sandboxes) {
      if (one.id == record.sandbox.id && !one.ips.empty()) record.pod_ips = one.ips;
    }
  }

  if (pod) {
    for (const auto& container : pods::containers_of(pod)) {
      const auto found = record.containers.find(container.name);
      if (found == record.containers.end()) continue;
      ContainerRecord& rec = found->second;
      if (rec.sandbox.empty()) continue;  // a reset of the pod has undone it
      if (!rec.exit || rec.exit->exit_code != 0 || !rec.exit->known || rec.succeeded_for_good) continue;
      if (container.kind == pods::ContainerKind::kInit || always_restarts(*pod, container)) continue;
      if (restart_after(*pod, container, 0) != Restart::kNo || pod->metadata().has_deletiontimestamp()) continue;
      rec.succeeded_for_good = true;
      result.needs_power_safe = true;
    }
  }
  result.changed = !(record == before);
  return result;
}

}  // namespace podwright::sync
