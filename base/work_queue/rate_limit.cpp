#include "base/work_queue/rate_limit.h"

#include <algorithm>
#include <cmath>

namespace podwright {

void TokenBucket::refill(Instant now) {
  if (filled_ == Instant::min()) {
    tokens_ = burst_;
  } else if (now > filled_) {
    const double seconds = std::chrono::duration<double>(now - filled_).count();
    tokens_ = std::min(burst_, tokens_ + seconds * per_second_);
  }
  filled_ = std::max(filled_, now);
}

Instant TokenBucket::reserve(Instant now) {
  if (per_second_ <= 0) return now;
  refill(now);
  tokens_ -= 1;
  if (tokens_ >= 0) return now;
  return after(now, Duration(static_cast<int64_t>(std::ceil(-tokens_ / per_second_ * 1e9))));
}

Duration GrowingWait::of(int failures) const {
  Duration wait = first;
  for (int i = 0; i < failures && wait < longest; ++i) wait *= 2;
  return std::min(wait, longest);
}

}  // namespace podwright
