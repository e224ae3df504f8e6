// What of the node is under pressure, and which threshold is to be acted on now. A pure function of levels, what was
// remembered of the rounds before, and the time.
// Source: pkg/kubelet/eviction/eviction_manager.go, synchronize, and helpers.go.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <vector>

#include "agent/eviction/signals.h"
#include "agent/pods/pod.h"
#include "base/time/time.h"

namespace podwright::eviction {

// An amount of the signal's resource, or a part of its capacity.
struct Amount {
  std::optional<double> percent;  // 0..100
  int64_t value = 0;
  bool operator==(const Amount&) const = default;

  int64_t of(int64_t capacity) const;
};

struct Threshold {
  Signal signal = Signal::kMemory;
  Amount amount;
  // How long it must be met before it is acted on; nothing: a hard one, at once.
  std::optional<Duration> grace;
  // What must be free beyond the amount before it counts as over.
  Amount minimum_reclaim;

  bool is_hard() const { return !grace; }
};

// What is remembered from round to round. Thresholds are named by their place in the list, which does not change.
struct Memory {
  std::map<std::size_t, Instant> met_since;
  // Those acted on in the last round: over only once the minimum is reclaimed too.
  std::set<std::size_t> acted_on;
  Instant memory_seen = Instant::min(), disk_seen = Instant::min(), pid_seen = Instant::min();
  std::map<Signal, Instant> levels_at;
};

struct Verdict {
  pods::NodePressure pressure;
  // To be acted on now, in the order of acting.
  std::vector<Threshold> act_on;
};

// Whether less is left than the threshold says, and, where `reclaimed`, less than that and the minimum to reclaim.
bool is_met(const Threshold& threshold, const Level& level, bool reclaimed);

Verdict decide(const std::vector<Threshold>& thresholds, const Levels& levels, Memory& memory, Duration transition,
               Instant now);

}  // namespace podwright::eviction
