// Which call of the ports is meant: for durations, faults and the record of calls of the fake runtime.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "api/ids.h"
#include "base/time/time.h"

namespace podwright::cri {

enum class Method {
  kVersion,
  kStatus,
  kCgroupDriver,
  kRunSandbox,
  kStopSandbox,
  kRemoveSandbox,
  kSandboxStatus,
  kListSandboxes,
  kCreateContainer,
  kStartContainer,
  kStopContainer,
  kRemoveContainer,
  kContainerStatus,
  kListContainers,
  kUpdateResources,
  kReopenLog,
  kExecSync,
  kExecUrl,
  kAttachUrl,
  kPortForwardUrl,
  kListStats,
  kListImages,
  kImageStatus,
  kPullImage,
  kRemoveImage,
  kImageFsInfo,
};

// One call as the runtime received it.
struct Call {
  uint64_t number = 0;  // grows, from 1 on
  Method method = Method::kVersion;
  // Whose pod, as far as the call or the runtime's own records tell.
  PodUid uid;
  ContainerName container;
  // Of the container or sandbox; for an image call the image.
  std::string id;
  Instant at;
};

using CallMatch = std::function<bool(const Call&)>;

}  // namespace podwright::cri
