#include "agent/status/container_status.h"

#include <algorithm>

namespace podwright::status {
namespace {

using pods::ContainerKind;
using pods::ContainerRecord;
using pods::InstanceState;

// Source of the texts: pkg/kubelet/kubelet_pods.go, convertToAPIContainerStatuses; the conformance suite reads them.
constexpr char kUnknownReason[] = "ContainerStatusUnknown";
constexpr char kGoneWhileDeleted[] =
    "The container could not be located when the pod was deleted.  The container used to be Running";
constexpr char kInitTakenAsDone[] =
    "Unable to get init container status from container runtime and pod has been initialized, treat it as exited "
    "normally";
// A container's share of the termination messages of its pod. Source: kubelet, MaxPodTerminationMessageLogLength.
constexpr std::size_t kPodMessageBytes = 12 << 10;

void set_time(meta::Time* to, WallTime from) {
  if (from == WallTime()) return;
  to->set_seconds(std::chrono::floor<std::chrono::seconds>(from.time_since_epoch()).count());
  to->set_nanos(0);
}

std::string runtime_id(const ContainerId& id) {
  return id.empty() ? "" : "containerd://" + id.value;
}

const cri::ContainerStatus* newest(const Inputs& in, const ContainerName& name) {
  if (!in.runtime) return nullptr;
  for (const auto& status : in.runtime->containers) {
    if (status.name == name) return &status;
  }
  return nullptr;
}

const ContainerRecord* record_of(const Inputs& in, const ContainerName& name) {
  if (in.record == nullptr) return nullptr;
  const auto found = in.record->containers.find(name);
  return found == in.record->containers.end() ? nullptr : &found->second;
}

// The instance to show; null where the runtime has only older ones than the record.
const cri::ContainerStatus* shown_instance(const Inputs& in, const ContainerName& name) {
  const auto* seen = newest(in, name);
  const auto* rec = record_of(in, name);
  const bool left_over =
      seen != nullptr && rec != nullptr && !rec->id.empty() && pods::is_older(*rec, seen->id, seen->attempt);
  return left_over ? nullptr : seen;
}

// Source: convertToAPIContainerStatuses; only what is to run again waits.
bool ended_for_good(const Inputs& in, const pods::ContainerRef& container, const core::ContainerState& state) {
  if (!state.has_terminated() || container.kind == ContainerKind::kSidecar) return false;
  const bool succeeded = state.terminated().exitcode() == 0;
  if (container.kind == ContainerKind::kInit) return succeeded;
  if (container.spec->restartpolicyrules_size() > 0) return false;
  const std::string& own = container.spec->restartpolicy();
  const std::string& policy = own.empty() ? in.pod->spec().restartpolicy() : own;
  return policy == "Never" || (policy == "OnFailure" && succeeded);
}

// Cuts a message to the container's share; the API refuses more.
std::string cut(const core::Pod& pod, std::string message) {
  const auto containers = static_cast<std::size_t>(pod.spec().containers_size() + pod.spec().initcontainers_size() +
                                                   pod.spec().ephemeralcontainers_size());
  const std::size_t share = kPodMessageBytes / std::max<std::size_t>(containers, 1);
  if (message.size() <= share) return message;
  std::size_t end = share;
  while (end > 0 && (static_cast<unsigned char>(message[end]) & 0xC0) == 0x80) --end;  // not inside a UTF-8 sequence
  message.resize(end);
  return message;
}

core::ContainerStateTerminated terminated_of(const Inputs& in, const pods::ExitRecord& exit) {
  core::ContainerStateTerminated state = to_terminated(exit);
  const auto extra = in.termination_messages.find(exit.container);
  if (extra != in.termination_messages.end() && !extra->second.empty()) {
    state.set_message(exit.message.empty() ? extra->second : exit.message + ": " + extra->second);
  }
  state.set_message(cut(*in.pod, state.message()));
  return state;
}

// The state of the newest instance as it was seen. False where there is none to show.
bool set_seen_state(const Inputs& in, const core::Container& spec, const cri::ContainerStatus& seen,
                    const ContainerRecord* rec, core::ContainerState* state) {
  switch (seen.state) {
    case cri::ContainerState::kCreated: state->mutable_waiting(); return true;
    case cri::ContainerState::kRunning:
      // Until postStart has ended the container shows as being created.
      if (spec.lifecycle().has_poststart() && rec != nullptr && rec->id == seen.id &&
          rec->state == InstanceState::kStarting) {
        return false;
      }
      set_time(state->mutable_running()->mutable_startedat(), seen.started_at);
      return true;
    case cri::ContainerState::kExited: {
      pods::ExitRecord exit;
      if (rec != nullptr && rec->exit && rec->exit->container == seen.id) {
        exit = *rec->exit;
      } else {
        exit.container = seen.id;
        exit.exit_code = seen.exit_code;
        exit.reason = seen.reason;
        exit.message = seen.message;
        exit.started_at = seen.started_at;
        exit.finished_at = seen.finished_at;
      }
      *state->mutable_terminated() = terminated_of(in, exit);
      return true;
    }
    case cri::ContainerState::kUnknown: return false;
  }
  std::abort();  // not one of the enumerators: memory is broken
}

const pods::ExitRecord* earlier_exit(const Inputs& in, const ContainerRecord* rec, const cri::ContainerStatus* seen,
                                     pods::ExitRecord& scratch) {
  if (rec != nullptr) {
    // While the newest instance runs, the newest end is an earlier one's.
    if (rec->exit && rec->exit->container != rec->id) return &*rec->exit;
    if (rec->last_exit) return &*rec->last_exit;
  }
  if (seen == nullptr || !in.runtime) return nullptr;
  bool first = true;
  for (const auto& status : in.runtime->containers) {
    if (status.name != seen->name) continue;
    if (std::exchange(first, false)) continue;
    if (status.state != cri::ContainerState::kExited) return nullptr;
    scratch.container = status.id;
    scratch.exit_code = status.exit_code;
    scratch.reason = status.reason;
    scratch.message = status.message;
    scratch.started_at = status.started_at;
    scratch.finished_at = status.finished_at;
    return &scratch;
  }
  return nullptr;
}

void set_waiting(core::ContainerStatus& status, const std::string& reason, const std::string& message) {
  if (status.state().has_terminated()) {
    *status.mutable_laststate()->mutable_terminated() = status.state().terminated();
  }
  status.mutable_state()->Clear();
  status.mutable_state()->mutable_waiting()->set_reason(reason);
  if (!message.empty()) status.mutable_state()->mutable_waiting()->set_message(message);
}

void set_init_taken_as_done(core::ContainerStatus& status) {
  auto* state = status.mutable_state()->mutable_terminated();
  state->set_exitcode(0);
  state->set_reason("Completed");
  state->set_message(kInitTakenAsDone);
}

// An init container whose end nobody saw, in a sandbox in which a regular one was begun since: it must have ended well.
bool ended_unseen(const Inputs& in, const ContainerRecord* rec) {
  if (rec == nullptr || !rec->exit || rec->exit->known || rec->sandbox.empty()) return false;
  if (in.record->initialized_in == rec->sandbox) return true;
  const auto& containers = in.pod->spec().containers();
  return std::any_of(containers.begin(), containers.end(), [&](const auto& container) {
    const auto* begun = record_of(in, ContainerName(container.name()));
    return begun != nullptr && begun->sandbox == rec->sandbox && !begun->id.empty();
  });
}

bool has_init(const core::Pod& pod) {
  return pod.spec().initcontainers_size() > 0;
}

// `rec` counts only where it is of the instance that is shown: a new one inherits nothing.
void set_ready(const Inputs& in, const pods::ContainerRef& container, const ContainerRecord* rec,
               core::ContainerStatus& status) {
  const bool running = status.state().has_running();
  if (container.kind == ContainerKind::kInit) {
    status.set_ready(status.state().has_terminated() && status.state().terminated().exitcode() == 0);
    status.set_started(running);
    return;
  }
  const bool started = running && rec != nullptr && (rec->started || !container.spec->has_startupprobe());
  status.set_started(started);
  if (container.kind == ContainerKind::kEphemeral) {
    status.set_ready(false);
    return;
  }
  status.set_ready(started && rec != nullptr && (rec->ready || !container.spec->has_readinessprobe()) && !in.terminal);
}

}  // namespace

core::ContainerStateTerminated to_terminated(const pods::ExitRecord& exit) {
  core::ContainerStateTerminated state;
  state.set_exitcode(exit.exit_code);
  state.set_reason(exit.reason);
  if (!exit.message.empty()) state.set_message(exit.message);
  set_time(state.mutable_startedat(), exit.started_at);
  set_time(state.mutable_finishedat(), exit.finished_at);
  state.set_containerid(runtime_id(exit.container));
  return state;
}

bool is_initialized(const Inputs& in) {
  if (in.record != nullptr && in.record->initialized_once) return true;
  for (const auto& container : in.pod->spec().containers()) {
    if (newest(in, ContainerName(container.name())) != nullptr) return true;
  }
  return false;
}

core::ContainerStatus container_status(const Inputs& in, const pods::ContainerRef& container) {
  core::ContainerStatus status;
  status.set_name(container.name.value);
  status.set_image(container.spec->image());
  status.set_imageid("");
  status.mutable_laststate();
  const auto* rec = record_of(in, container.name);
  const auto* seen = shown_instance(in, container.name);
  const std::string idle = has_init(*in.pod) ? "PodInitializing" : "ContainerCreating";

  bool shown = false;
  if (seen != nullptr) {
    status.set_restartcount(static_cast<int32_t>(seen->attempt));
    status.set_containerid(runtime_id(seen->id));
    if (!seen->image_ref.empty()) status.set_imageid(seen->image_ref);
    shown = set_seen_state(in, *container.spec, *seen, rec, status.mutable_state());
  } else if (container.kind == ContainerKind::kInit && ended_unseen(in, rec)) {
    set_init_taken_as_done(status);
    shown = true;
  } else if (rec != nullptr && rec->exit && rec->state == InstanceState::kExited) {
    // The runtime has forgotten it; the record has not.
    status.set_restartcount(static_cast<int32_t>(rec->exit->restart_count));
    status.set_containerid(runtime_id(rec->exit->container));
    shown = true;
    if (rec->exit->known || in.terminal || container.kind != ContainerKind::kRegular) {
      *status.mutable_state()->mutable_terminated() = terminated_of(in, *rec->exit);
    } else {
      // Upstream's shape for one that vanished: it waits, and what is known of its end is the last state.
      pods::ExitRecord gone = *rec->exit;
      gone.message = kGoneWhileDeleted;
      gone.reason = kUnknownReason;
      *status.mutable_laststate()->mutable_terminated() = to_terminated(gone);
      status.mutable_state()->mutable_waiting()->set_reason(idle);
    }
  } else if (container.kind == ContainerKind::kInit && is_initialized(in)) {
    set_init_taken_as_done(status);
    shown = true;
  }
  // The count of the newest instance that was made. An attempt that is only intended may yet come to nothing.
  if (rec != nullptr) {
    uint32_t count = rec->last_exit ? rec->last_exit->restart_count : 0;
    if (!rec->id.empty() && (seen == nullptr || seen->id != rec->id)) count = std::max(count, rec->attempt);
    status.set_restartcount(std::max<int32_t>(status.restartcount(), static_cast<int32_t>(count)));
  }
  if (!shown) {
    const bool creating =
        rec != nullptr && (rec->state == InstanceState::kCreating || rec->state == InstanceState::kCreated ||
                           rec->state == InstanceState::kStarting);
    status.mutable_state()->mutable_waiting()->set_reason(
        creating && container.kind == ContainerKind::kRegular && is_initialized(in) ? "ContainerCreating" : idle);
  }
  pods::ExitRecord scratch;
  if (!status.laststate().has_terminated()) {
    if (const auto* earlier = earlier_exit(in, rec, seen, scratch)) {
      *status.mutable_laststate()->mutable_terminated() = terminated_of(in, *earlier);
    }
  }
  const auto waiting = in.waiting.find(container.name);
  if (waiting != in.waiting.end() && !status.state().has_running() && !in.terminal &&
      !ended_for_good(in, container, status.state())) {
    set_waiting(status, waiting->second.reason, waiting->second.message);
  }
  if (!status.state().has_running() && !status.state().has_terminated() && !status.state().has_waiting()) {
    status.mutable_state()->mutable_waiting()->set_reason(idle);
  }
  set_ready(in, container, rec != nullptr && seen != nullptr && rec->id == seen->id ? rec : nullptr, status);
  return status;
}

}  // namespace podwright::status
