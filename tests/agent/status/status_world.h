// The inputs of compute_status in the words of a test.
#pragma once

#include "agent/status/compute.h"
#include "tests/agent/sample_pods.h"

namespace podwright::status {

struct StatusWorld {
  explicit StatusWorld(pods::PodPtr p) : pod(std::move(p)) { record.first_seen = wall; }

  core::PodStatus status() {
    Inputs in;
    in.pod = pod;
    in.runtime = seen.ptr();
    in.record = &record;
    in.waiting = waiting;
    in.terminal = terminal;
    in.sandbox_ready = !seen.runtime().sandboxes.empty();
    in.host_ip = "192.0.2.1";
    in.host_ips = {"192.0.2.1"};
    in.termination_messages = messages;
    in.previous = previous ? &*previous : nullptr;
    in.api = api ? &*api : nullptr;
    in.now = wall;
    return compute_status(in);
  }
  // What is seen of a container, as the record holds it after the look.
  pods::ContainerRecord& note(const std::string& name) {
    auto& rec = record.containers[ContainerName(name)];
    for (const auto& status : seen.runtime().containers) {
      if (status.name.value != name) continue;
      rec.id = status.id;
      rec.sandbox = status.sandbox;
      rec.attempt = status.attempt;
      rec.state = status.state == cri::ContainerState::kRunning  ? pods::InstanceState::kRunning
                  : status.state == cri::ContainerState::kExited ? pods::InstanceState::kExited
                                                                 : pods::InstanceState::kCreated;
      if (status.state == cri::ContainerState::kExited) {
        rec.exit = pods::ExitRecord{.container = status.id,
                                    .exit_code = status.exit_code,
                                    .reason = status.reason,
                                    .message = status.message,
                                    .restart_count = status.attempt};
      }
      break;
    }
    return rec;
  }

  pods::PodPtr pod;
  Seen seen;
  pods::PodRecord record;
  std::map<ContainerName, WaitingReason> waiting;
  std::map<ContainerId, std::string> messages;
  std::optional<core::PodStatus> previous, api;
  bool terminal = false;
  WallTime wall{1'000'000s};
};

// "Running", "Waiting CrashLoopBackOff", "Terminated 1 Error".
inline std::string text_of(const core::ContainerState& state) {
  if (state.has_running()) return "Running";
  if (state.has_terminated()) {
    return fmt::format("Terminated {} {}", state.terminated().exitcode(), state.terminated().reason());
  }
  return state.has_waiting() ? "Waiting " + state.waiting().reason() : "";
}

}  // namespace podwright::status
