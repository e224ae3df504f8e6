#include "agent/pods/record.h"

namespace podwright::pods {
namespace {

// A container that lived when the machine went down ended then; nobody saw how.
void end_with_the_boot(ContainerRecord& container, Instant now, WallTime wall) {
  if (container.state == InstanceState::kRunning || container.state == InstanceState::kStarting) {
    ExitRecord exit;
    exit.container = container.id;
    exit.known = false;
    exit.exit_code = 137;
    exit.reason = "ContainerStatusUnknown";
    exit.message = "The container could not be located when the pod was terminated";
    exit.started_at = container.started_at;
    exit.finished_at = wall;
    exit.learnt_at = now;
    exit.restart_count = container.attempt;
    if (container.exit) container.last_exit = std::move(container.exit);
    container.exit = std::move(exit);
    container.state = InstanceState::kExited;
  } else if (container.state != InstanceState::kExited) {
    container.state = InstanceState::kNone;
  }
}

}  // namespace

bool is_older(const ContainerRecord& record, const ContainerId& id, uint32_t attempt) {
  if (record.id == id) return false;
  if (!record.id.empty()) return attempt < record.attempt;
  if (record.last_exit) return id == record.last_exit->container || attempt <= record.last_exit->restart_count;
  return attempt < record.attempt;
}

void carry_over_reboot(PodRecord& record, const BootId& boot, Instant now, WallTime wall) {
  if (record.boot == boot) return;
  record.boot = boot;
  record.sandbox.id = SandboxId();
  record.sandbox.making = false;
  record.initialized_in = SandboxId();
  record.pod_ips.clear();
  for (auto& [name, container] : record.containers) {
    end_with_the_boot(container, now, wall);
    container.started = false;
    container.ready = false;
    container.post_start_done = false;
    container.probes.clear();
    if (container.exit) {
      // The Instant of another boot says nothing; the wall clock tells the age, which is no less than nothing.
      const Duration age = std::max(Duration::zero(), wall - container.exit->finished_at);
      container.exit->learnt_at = now - std::min(age, now.time_since_epoch());
    }
    if (container.backoff.delay > std::chrono::seconds(0)) {
      container.backoff.updated_at = container.exit ? container.exit->learnt_at : now;
    }
  }
  const Duration active = std::max(Duration::zero(), wall - record.first_seen);
  record.active_since = now - std::min(active, now.time_since_epoch());
  // What the kernel kept of the boot is gone with it: nothing is left to wait for.
  if (record.termination) record.termination->deadline = now;
}

}  // namespace podwright::pods
