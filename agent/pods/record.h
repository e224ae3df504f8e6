// PodRecord: everything the agent needs to go on with one pod after a crash, an upgrade or a reboot. It is what
// plan_pod reads beside the spec and what was seen, and what the durable table (agent/table) keeps.
//
// A fact about a container holds for its container ID; across a reboot also for the boot ID. Nothing is inherited by
// name alone.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "agent/pods/pod.h"
#include "api/ids.h"
#include "base/time/time.h"
#include "probes/probe_state.h"

namespace podwright::pods {

// How a container ended, as the runtime told it or as we last knew it.
struct ExitRecord {
  ContainerId container;
  int32_t exit_code = 0;
  // False where nobody can tell any more: shown as 137/ContainerStatusUnknown, never as a real code.
  bool known = true;
  std::string reason, message;
  WallTime started_at, finished_at;
  // When we learnt of it. Durations (back-off) count from here.
  Instant learnt_at;
  uint32_t restart_count = 0;
  bool operator==(const ExitRecord&) const = default;
};

// A probe's counters belong to a container ID, like every other fact about a container.
using ProbeKind = probes::ProbeKind;
using ProbeRecord = probes::ProbeState;

// The wait before a container starts again; see agent/sync/backoff.h.
struct BackoffRecord {
  std::chrono::seconds delay{0};  // zero: no entry
  Instant updated_at;
  // What the entry holds for; another key (image, resources) starts anew.
  std::string key;
  bool operator==(const BackoffRecord&) const = default;
};

// Where the newest instance of a container stands, as far as we caused or saw it.
enum class InstanceState {
  kNone,      // never made, or all traces are gone
  kCreating,  // CreateContainer was about to be called: intent
  kCreated,
  kStarting,  // StartContainer was about to be called: intent
  kRunning,
  kExited,
};

struct ContainerRecord {
  InstanceState state = InstanceState::kNone;
  // Of the newest instance; the ID is empty while it is being created.
  ContainerId id;
  SandboxId sandbox;
  uint32_t attempt = 0;   // its restart count
  std::string image_ref;  // what it was created from
  std::string hash;
  // Passed its startup probe (or has none); holds for `id`.
  bool started = false;
  // The readiness last published; holds for `id`.
  bool ready = false;
  // When it was seen running; wall clock for the API, the Instant for the initial delays of probes.
  WallTime started_at;
  Instant running_since;
  // postStart ended well (or there is none); holds for `id`.
  bool post_start_done = false;
  // The newest end, and the one before it.
  std::optional<ExitRecord> exit;
  std::optional<ExitRecord> last_exit;
  BackoffRecord backoff;
  std::map<ProbeKind, ProbeRecord> probes;
  // A first start of a policy that is not Always was intended: it must not be intended twice (power-safe).
  bool start_once = false;
  // It ended well and must not run again (power-safe).
  bool succeeded_for_good = false;
  // Host path of its termination message, so that it is found again.
  std::string termination_message_path;
  bool operator==(const ContainerRecord&) const = default;
};

// Is `id`, of that attempt, an instance before the one the record knows? While one is being made, the attempt of the
// one at hand may be lower than intended: its name was taken, by a try whose answer got lost.
bool is_older(const ContainerRecord& record, const ContainerId& id, uint32_t attempt);

struct SandboxRecord {
  SandboxId id;  // empty while it is being made: intent
  uint32_t attempt = 0;
  bool making = false;
  bool operator==(const SandboxRecord&) const = default;
};

// A termination that has begun. The deadline is absolute and only moves earlier.
struct TerminationRecord {
  StopWish wish;
  Instant deadline;  // after this the runtime kills
  std::chrono::seconds grace{0};
  // When the API's deletion was asked for; zero where it was not.
  WallTime requested_at;
  bool operator==(const TerminationRecord&) const = default;
};

// A phase that is final, with what the status says.
struct TerminalRecord {
  bool succeeded = false;  // else failed
  std::string reason, message;
  bool operator==(const TerminalRecord&) const = default;
};

// A volume that was set up, and what is needed to undo it.
struct VolumeRecord {
  std::string name;
  std::string kind;  // "kubernetes.io/empty-dir"
  std::string path;
  bool mounted = false;  // a mount of ours is on the path
  bool operator==(const VolumeRecord&) const = default;
};

struct PodRecord {
  PodUid uid;
  PodKey key;
  SourceKind source = SourceKind::kFile;
  std::string origin;
  // The last seen spec; null where only the runtime knew the pod (an orphan without a record).
  PodPtr pod;

  // First seen by this agent (status.startTime), and when it was admitted; `admitted` false: not yet.
  WallTime first_seen;
  Instant active_since;
  bool admitted = false;

  // The boot that the sandbox, the containers and every Instant in here belong to.
  BootId boot;
  SandboxRecord sandbox;
  std::vector<std::string> pod_ips;
  std::map<ContainerName, ContainerRecord> containers;
  // All regular init containers ended well in this sandbox; empty: not in any.
  SandboxId initialized_in;
  bool initialized_once = false;

  std::optional<TerminationRecord> termination;
  std::optional<TerminalRecord> terminal;
  std::vector<VolumeRecord> volumes;
  // First host ID of the user-namespace range; nothing where the pod uses the host's.
  std::optional<uint32_t> userns_base;

  // Devices given, by container and resource.
  std::map<ContainerName, std::map<ResourceName, std::vector<std::string>>> devices;

  // The last status acknowledged (published locally, or by the API), serialized core.v1.PodStatus.
  std::string last_status;

  bool operator==(const PodRecord&) const = default;
};

// After a reboot: Instants are over, sandboxes and containers are gone, deadlines have passed. Back-off and the active
// deadline go on by wall clock, which the caller has turned into Instants of the new boot by `wall_age`: how long ago
// (wall clock) an Instant of the old boot was, clamped to what it can be.
void carry_over_reboot(PodRecord& record, const BootId& boot, Instant now, WallTime wall);

}  // namespace podwright::pods
