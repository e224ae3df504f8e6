// The wait before a container starts again: none, then 10 s, then twice the last one, at most 5 min; back to none once
// a run lasted 10 min. Source: behaviours 8 (kuberuntime doBackOff, client-go flowcontrol).
#pragma once

#include <optional>
#include <string>

#include "agent/pods/containers.h"
#include "agent/pods/record.h"
#include "base/time/time.h"

namespace podwright::sync {

struct BackoffLimits {
  std::chrono::seconds initial{10};
  std::chrono::seconds max{300};
};

// A container that ran this long since its last restart has earned a fresh start.
inline constexpr std::chrono::seconds kBackoffReset{600};

// What an entry holds for: another image or other resources start anew.
std::string backoff_key(const pods::ContainerRef& container);

// When a container that ended at `ended` may start again; nothing where it may now.
std::optional<Instant> blocked_until(const pods::BackoffRecord& entry, const std::string& key, Instant ended,
                                     Instant now);

// The entry after a start that follows an end at `ended`.
pods::BackoffRecord next_backoff(const pods::BackoffRecord& entry, const std::string& key, Instant ended, Instant now,
                                 const BackoffLimits& limits);

}  // namespace podwright::sync
