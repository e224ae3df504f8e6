// Rates: a bucket of tokens for calls to one server, and growing waits for things that keep failing. Both are plain
// state on the loop thread; nothing here waits by itself.
#pragma once

#include <cstddef>
#include <map>

#include "base/time/time.h"

namespace podwright {

// At most `burst` at once, and `per_second` in the long run. A rate of 0 or less means no bound.
class TokenBucket {
 public:
  TokenBucket(double per_second, std::size_t burst) : per_second_(per_second), burst_(static_cast<double>(burst)) {}

  // Takes a token, and says from when on it may be used. Tokens are lent in order: each later caller is told a later
  // instant, so nobody is overtaken.
  Instant reserve(Instant now);

 private:
  void refill(Instant now);

  double per_second_;
  double burst_;
  double tokens_ = 0;
  Instant filled_ = Instant::min();  // when tokens_ was right; min(): full, never used
};

// The wait before try n of one thing: the first, then twice the last, up to the longest.
struct GrowingWait {
  Duration first = 5ms;
  Duration longest = 1000s;

  Duration of(int failures) const;
};

// The wait of each key, which grows until the key is forgotten.
template <class Key>
class KeyWaits {
 public:
  explicit KeyWaits(GrowingWait wait = {}) : wait_(wait) {}

  Duration next(const Key& key) { return wait_.of(failures_[key]++); }
  void forget(const Key& key) { failures_.erase(key); }
  int failures(const Key& key) const {
    const auto found = failures_.find(key);
    return found == failures_.end() ? 0 : found->second;
  }

 private:
  GrowingWait wait_;
  std::map<Key, int> failures_;
};

}  // namespace podwright
