#include "agent/eviction/decide.h"

#include <algorithm>

namespace podwright::eviction {
namespace {

// When the condition of this signal was last seen.
Instant& seen(Memory& memory, Signal signal) {
  if (is_memory(signal)) return memory.memory_seen;
  return is_disk(signal) ? memory.disk_seen : memory.pid_seen;
}

bool is_recent(Instant seen_at, Duration transition, Instant now) {
  return seen_at != Instant::min() && now - seen_at < transition;
}

}  // namespace

int64_t Amount::of(int64_t capacity) const {
  if (!percent) return value;
  return static_cast<int64_t>(static_cast<double>(capacity) * (*percent / 100));
}

bool is_met(const Threshold& threshold, const Level& level, bool reclaimed) {
  int64_t wanted = threshold.amount.of(level.capacity);
  if (reclaimed) wanted += threshold.minimum_reclaim.of(level.capacity);
  return level.available < wanted;
}

Verdict decide(const std::vector<Threshold>& thresholds, const Levels& levels, Memory& memory, Duration transition,
               Instant now) {
  std::map<std::size_t, Instant> met_since;
  for (std::size_t i = 0; i < thresholds.size(); ++i) {
    const auto level = levels.find(thresholds[i].signal);
    if (level == levels.end()) {
      // What is not told now may still hold: its time goes on.
      if (const auto known = memory.met_since.find(i); known != memory.met_since.end()) met_since.insert(*known);
      continue;
    }
    if (!is_met(thresholds[i], level->second, memory.acted_on.contains(i))) continue;
    const auto known = memory.met_since.find(i);
    met_since[i] = known == memory.met_since.end() ? now : known->second;
    seen(memory, thresholds[i].signal) = now;
  }
  memory.met_since = std::move(met_since);

  Verdict verdict;
  verdict.pressure = {.memory = is_recent(memory.memory_seen, transition, now),
                      .disk = is_recent(memory.disk_seen, transition, now),
                      .pid = is_recent(memory.pid_seen, transition, now)};
  memory.acted_on.clear();
  for (const auto& [i, since] : memory.met_since) {
    const Threshold& threshold = thresholds[i];
    if (threshold.grace && now - since < *threshold.grace) continue;
    memory.acted_on.insert(i);
    const auto level = levels.find(threshold.signal);
    if (level == levels.end()) continue;
    // The same reading is not acted on twice: what the last round did is not in it.
    const auto before = memory.levels_at.find(threshold.signal);
    if (before != memory.levels_at.end() && level->second.at <= before->second) continue;
    verdict.act_on.push_back(threshold);
  }
  for (const auto& [signal, level] : levels) memory.levels_at[signal] = level.at;
  // By signal, and of one signal the hard one first, whose victims get less time.
  std::stable_sort(verdict.act_on.begin(), verdict.act_on.end(), [](const Threshold& a, const Threshold& b) {
    return std::pair(a.signal, !a.is_hard()) < std::pair(b.signal, !b.is_hard());
  });
  return verdict;
}

}  // namespace podwright::eviction
