#include "agent/sync/backoff.h"

#include <algorithm>
#include <map>

namespace podwright::sync {
namespace {

bool is_expired(const pods::BackoffRecord& entry, Instant ended) {
  return ended - entry.updated_at > kBackoffReset;
}

bool holds(const pods::BackoffRecord& entry, const std::string& key) {
  return entry.delay > std::chrono::seconds(0) && entry.key == key;
}

}  // namespace

std::string backoff_key(const pods::ContainerRef& container) {
  std::string key = container.spec->image();
  const auto& resources = container.spec->resources();
  const auto append = [&key](const auto& quantities, char mark) {
    std::map<std::string, std::string> sorted;
    for (const auto& [name, quantity] : quantities) sorted[name] = quantity.string();
    for (const auto& [name, quantity] : sorted) key += fmt::format("|{}{}={}", mark, name, quantity);
  };
  append(resources.limits(), 'l');
  append(resources.requests(), 'r');
  return key;
}

std::optional<Instant> blocked_until(const pods::BackoffRecord& entry, const std::string& key, Instant ended,
                                     Instant now) {
  if (!holds(entry, key) || is_expired(entry, ended)) return std::nullopt;
  const Instant until = after(ended, entry.delay);
  if (until <= now) return std::nullopt;
  return until;
}

pods::BackoffRecord next_backoff(const pods::BackoffRecord& entry, const std::string& key, Instant ended, Instant now,
                                 const BackoffLimits& limits) {
  pods::BackoffRecord next;
  next.key = key;
  next.updated_at = now;
  next.delay = !holds(entry, key) || is_expired(entry, ended) ? std::min(limits.initial, limits.max)
                                                              : std::min(2 * entry.delay, limits.max);
  return next;
}

}  // namespace podwright::sync
