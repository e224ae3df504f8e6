#include "base/systemd/memory_units.h"

namespace podwright {

Co<absl::Status> MemoryUnits::take_time(Instant deadline) {
  const Instant ready = after(loop_->now(), std::chrono::microseconds(loop_->rng().below(5'000)));
  const Wait wait = co_await sleep_until(*loop_, std::min(ready, deadline));
  if (wait == Wait::kCancelled) co_return absl::CancelledError("the flow is stopping");
  if (ready > deadline) co_return absl::DeadlineExceededError("systemd did not answer in time");
  co_return failure_;
}

Co<absl::Status> MemoryUnits::start_slice(std::string name, SliceProperties properties, Instant deadline) {
  calls_.push_back("start " + name);
  const absl::Status waited = co_await take_time(deadline);
  if (!waited.ok()) co_return waited;
  SliceProperties& slice = slices_[name];
  const auto take = [](std::optional<uint64_t>& to, const std::optional<uint64_t>& from) {
    if (from) to = from;
  };
  take(slice.cpu_weight, properties.cpu_weight);
  take(slice.cpu_quota_per_sec_us, properties.cpu_quota_per_sec_us);
  take(slice.cpu_quota_period_us, properties.cpu_quota_period_us);
  take(slice.memory_max, properties.memory_max);
  take(slice.tasks_max, properties.tasks_max);
  if (changed_) changed_(name, true);
  co_return absl::OkStatus();
}

Co<absl::Status> MemoryUnits::stop(std::string name, Instant deadline) {
  calls_.push_back("stop " + name);
  const absl::Status waited = co_await take_time(deadline);
  if (!waited.ok()) co_return waited;
  slices_.erase(name);
  if (changed_) changed_(name, false);
  co_return absl::OkStatus();
}

}  // namespace podwright
