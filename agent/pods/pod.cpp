#include "agent/pods/pod.h"

#include <cstdlib>
#include <utility>

namespace podwright::pods {
namespace {

// Source: pkg/apis/scheduling, SystemCriticalPriority.
constexpr int32_t kSystemCriticalPriority = 2'000'000'000;

}  // namespace

PodUid uid_of(const core::Pod& pod) {
  return PodUid(pod.metadata().uid());
}

PodKey key_of(const core::Pod& pod) {
  return {pod.metadata().namespace_(), pod.metadata().name()};
}

Flow flow_of(const PodKey& key, const PodUid& uid) {
  return {"pod/" + key.text(), LogSubject{{"pod", key.text()}, {"uid", uid.value}}};
}

Flow flow_of(const core::Pod& pod) {
  return flow_of(key_of(pod), uid_of(pod));
}

std::string_view name_of(SourceKind kind) {
  switch (kind) {
    case SourceKind::kFile: return "file";
    case SourceKind::kHttp: return "http";
    case SourceKind::kApi: return "api";
  }
  std::abort();  // not one of the enumerators: memory is broken
}

std::optional<SourceKind> source_from(std::string_view name) {
  for (const SourceKind kind : {SourceKind::kFile, SourceKind::kHttp, SourceKind::kApi}) {
    if (name_of(kind) == name) return kind;
  }
  return std::nullopt;
}

bool is_static(const core::Pod& pod) {
  const auto& annotations = pod.metadata().annotations();
  const auto found = annotations.find(kConfigSourceAnnotation);
  return found != annotations.end() && found->second != name_of(SourceKind::kApi);
}

bool is_critical(const core::Pod& pod) {
  return is_static(pod) || pod.metadata().annotations().contains(kConfigMirrorAnnotation) ||
         (pod.spec().has_priority() && pod.spec().priority() >= kSystemCriticalPriority);
}

std::string_view name_of(StopReason reason) {
  switch (reason) {
    case StopReason::kFinished: return "finished";
    case StopReason::kRemoved: return "removed from its source";
    case StopReason::kOrphan: return "known to no source";
    case StopReason::kDeleted: return "deleted";
    case StopReason::kPreempted: return "preempted";
    case StopReason::kShutdown: return "node shutdown";
    case StopReason::kDeadline: return "active deadline exceeded";
    case StopReason::kEvicted: return "evicted";
    case StopReason::kRejected: return "rejected";
    case StopReason::kOverLimit: return "over its limit";
  }
  std::abort();  // not one of the enumerators: memory is broken
}

StopWish join(StopWish older, StopWish newer) {
  StopWish joined = newer.reason > older.reason ? newer : older;
  if (older.grace && newer.grace) {
    joined.grace = std::min(*older.grace, *newer.grace);
  } else {
    joined.grace = older.grace ? older.grace : newer.grace;
  }
  return joined;
}

Wish Wish::join(Wish older, Wish newer) {
  Wish joined = std::move(newer);
  if (!joined.pod) {
    joined.pod = std::move(older.pod);
    joined.origin = std::move(older.origin);
  }
  if (!joined.api_status) joined.api_status = std::move(older.api_status);
  if (older.stop && joined.stop) {
    joined.stop = pods::join(std::move(*older.stop), std::move(*joined.stop));
  } else if (older.stop) {
    joined.stop = std::move(older.stop);
  }
  return joined;
}

}  // namespace podwright::pods
