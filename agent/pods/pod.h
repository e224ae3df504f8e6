// The vocabulary of pods: what sources deliver, what a worker is asked for, and why it stops.
#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "api/ids.h"
#include "api/types.h"
#include "base/step/step.h"
#include "base/time/time.h"

namespace podwright::pods {

// A pod as its source delivered it: decoded, managedFields and status taken out, defaulted, validated, then never
// changed. Only agent/sources makes one; hold a PodPtr over a co_await, never a reference into it from elsewhere.
using PodPtr = std::shared_ptr<const core::Pod>;
using PodStatusPtr = std::shared_ptr<const core::PodStatus>;

PodUid uid_of(const core::Pod& pod);
PodKey key_of(const core::Pod& pod);
Flow flow_of(const core::Pod& pod);
Flow flow_of(const PodKey& key, const PodUid& uid);

enum class SourceKind { kFile, kHttp, kApi };
inline constexpr int kSourceKinds = 3;
// "file", "http", "api": the value of the annotation kubernetes.io/config.source.
std::string_view name_of(SourceKind kind);
std::optional<SourceKind> source_from(std::string_view name);

inline constexpr char kConfigSourceAnnotation[] = "kubernetes.io/config.source";
inline constexpr char kConfigSeenAnnotation[] = "kubernetes.io/config.seen";
inline constexpr char kConfigHashAnnotation[] = "kubernetes.io/config.hash";
inline constexpr char kConfigMirrorAnnotation[] = "kubernetes.io/config.mirror";

// A static pod comes from a file or a URL rather than the API.
bool is_static(const core::Pod& pod);
// Static, a mirror, or of a priority of at least 2,000,000,000. Source: kubelet types, IsCriticalPod.
bool is_critical(const core::Pod& pod);
// The full name that only one pod may run under at a time.
inline std::string full_name(const core::Pod& pod) {
  return key_of(pod).text();
}

// One change of the set of pods that a source wants.
struct PodUpdate {
  enum class Op {
    kAdd,        // new in the source
    kUpdate,     // spec, labels, annotations or deletion changed
    kRemove,     // gone from the source
    kReconcile,  // only the API's status differs
    kDelete,     // got a deletionTimestamp
  };
  Op op = Op::kAdd;
  SourceKind source = SourceKind::kFile;
  PodPtr pod;
  // The status that came with it, of an API pod; null otherwise.
  PodStatusPtr api_status;
  // Where it came from, for people: a path or a URL.
  std::string origin;
};

// What a source tells at once: its changes, and whether it has delivered a complete list by now. Until it has, its
// pods may be adopted and probed, never removed.
struct SourceUpdate {
  SourceKind source = SourceKind::kFile;
  std::vector<PodUpdate> changes;
  bool complete = false;
};

// Something wrong with a source's input that a person should mend; kept and shown until the source withdraws it.
struct SourceProblem {
  SourceKind source = SourceKind::kFile;
  std::string origin;  // path or URL
  std::string text;    // empty: withdrawn
  // The pod that goes on with its last good version; empty where there is none.
  std::optional<PodKey> pod;
  bool operator==(const SourceProblem&) const = default;
};

// Why a pod is stopped. The order is the strength: of two reasons the stronger one is told.
enum class StopReason {
  kFinished,  // all its containers ended and none may start again
  kRemoved,   // gone from its source
  kOrphan,    // runs, and no source knows it
  kDeleted,   // deletionTimestamp
  kPreempted,
  kShutdown,
  kDeadline,  // activeDeadlineSeconds
  kEvicted,
  kRejected,   // admission said never
  kOverLimit,  // over its own limit of local storage; last, as the table keeps the numbers
};
std::string_view name_of(StopReason reason);

struct StopWish {
  StopReason reason = StopReason::kRemoved;
  // What overrides the spec's grace; at least 1 s is used.
  std::optional<std::chrono::seconds> grace;
  // What the pod's status shall say; empty where the reason says nothing there.
  std::string status_reason;
  std::string status_message;
  bool operator==(const StopWish&) const = default;
};

// What is wanted of a pod worker. Joined in its inbox: the newest spec, the earliest end, and a stop stays a stop.
struct Wish {
  PodPtr pod;
  PodStatusPtr api_status;
  std::string origin;
  std::optional<StopWish> stop;

  static Wish join(Wish older, Wish newer);
};

// Of two stops: the stronger reason, the shorter grace.
StopWish join(StopWish older, StopWish newer);

// Pressure of the node by eviction signals, as admission and status read it.
struct NodePressure {
  bool memory = false, disk = false, pid = false;
  bool operator==(const NodePressure&) const = default;
};

}  // namespace podwright::pods
