// The cgroups above those of pods: which driver makes them, and what bounds all pods together.
#include <algorithm>

#include "agent/agent.h"
#include "agent/usage_targets.h"
#include "api/amount.h"
#include "base/status/annotate.h"

namespace podwright {
namespace {

const LogSubject kWho{{"flow", "agent"}};
constexpr Duration kRuntimeCall = 5s;

int64_t amount(const config::StringMap& quantities, const std::string& name) {
  const auto found = quantities.find(name);
  if (found == quantities.end()) return 0;
  return name == "cpu" ? api::milli_of(found->second) : api::units_of(found->second);
}

cgroups::NodeAllocatable reserved_of(const config::StringMap& quantities, bool compressible_only) {
  cgroups::NodeAllocatable reserved;
  reserved.milli_cpu = amount(quantities, "cpu");
  if (compressible_only) return reserved;
  if (quantities.contains("memory")) reserved.memory_bytes = amount(quantities, "memory");
  if (quantities.contains("pid")) reserved.pids = amount(quantities, "pid");
  return reserved;
}

// Capacity less the reservations; what eviction keeps free counts in admission alone. Source: container manager,
// getNodeAllocatableInternalAbsolute.
cgroups::NodeAllocatable pods_bound(const config::CgroupSettings& settings, const Machine& machine) {
  cgroups::NodeAllocatable all;
  const int64_t cpu = static_cast<int64_t>(machine.cores) * 1000 - amount(settings.system_reserved, "cpu") -
                      amount(settings.kube_reserved, "cpu");
  const int64_t memory =
      machine.memory_bytes - amount(settings.system_reserved, "memory") - amount(settings.kube_reserved, "memory");
  all.milli_cpu = std::max<int64_t>(cpu, 0);
  if (machine.memory_bytes > 0) all.memory_bytes = std::max<int64_t>(memory, 0);
  return all;
}

}  // namespace

Co<void> Agent::settle_cgroups() {
  // What the runtime says wins: with two drivers in one tree neither holds its bounds.
  const auto said = co_await ports_.runtime.cgroup_driver(after(ports_.loop.now(), kRuntimeCall));
  if (said.ok()) {
    const bool systemd = *said == cri::CgroupDriver::kSystemd;
    if (systemd != config_.cgroups.systemd_driver) {
      log_info(kWho, "the cgroup driver is the runtime's",
               {{"runtime", systemd ? "systemd" : "cgroupfs"}, {"cgroupDriver", systemd ? "cgroupfs" : "systemd"}});
    }
    const absl::Status used = cgroups_.use(systemd ? cgroups::DriverKind::kSystemd : cgroups::DriverKind::kCgroupfs);
    if (!used.ok()) {
      log_error(kWho, "the runtime's cgroup driver cannot be used, set SystemdCgroup = false in its configuration",
                {{"error", text_of(used)}});
    }
    usage_->set_node(usage_node(config_, cgroups_.driver()));
  } else if (!absl::IsUnimplemented(said.status())) {
    log_warning(kWho, "could not ask the runtime for its cgroup driver", {{"error", text_of(said.status())}});
  }
  const absl::Status roots = co_await cgroups_.start();
  if (!roots.ok()) {
    log_error(kWho, "could not make the cgroups of pods; pods cannot start until this is mended",
              {{"error", text_of(roots)}});
    co_return;
  }
  co_await bound_reserved();
}

// enforceNodeAllocatable.
Co<void> Agent::bound_reserved() {
  const config::CgroupSettings& settings = config_.cgroups;
  const auto enforces = [&settings](std::string_view what) {
    const auto& all = settings.enforce_node_allocatable;
    return std::find(all.begin(), all.end(), what) != all.end();
  };
  if (enforces("pods")) {
    const absl::Status bound = co_await cgroups_.enforce(pods_bound(settings, machine_));
    if (!bound.ok()) {
      log_warning(kWho, "could not bound all pods by the node's allocatable", {{"error", text_of(bound)}});
      events_.record_node(events::kWarning, "FailedNodeAllocatableEnforcement",
                          fmt::format("Failed to update Node Allocatable Limits: {}", text_of(bound)));
    }
  }
  struct Reservation {
    const char* name;
    const config::StringMap& amounts;
    const std::string& cgroup;
  };
  for (const Reservation& one :
       {Reservation{"system-reserved", settings.system_reserved, settings.system_reserved_cgroup},
        Reservation{"kube-reserved", settings.kube_reserved, settings.kube_reserved_cgroup}}) {
    const bool compressible = enforces(fmt::format("{}-compressible", one.name));
    if (!enforces(one.name) && !compressible) continue;
    const absl::Status bound = co_await cgroups_.enforce_existing(one.cgroup, reserved_of(one.amounts, compressible));
    if (bound.ok()) continue;
    log_warning(kWho, "could not enforce a reservation", {{"what", one.name}, {"error", text_of(bound)}});
    events_.record_node(
        events::kWarning, "FailedNodeAllocatableEnforcement",
        fmt::format("Failed to enforce {} Cgroup Limits on {}: {}", one.name, one.cgroup, text_of(bound)));
  }
}

}  // namespace podwright
