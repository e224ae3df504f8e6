#include "agent/cgroups/systemd_driver.h"

#include "base/status/annotate.h"

namespace podwright::cgroups {

SliceProperties to_properties(const Limits& limits) {
  const auto bound = [](const std::optional<int64_t>& value) -> std::optional<uint64_t> {
    if (!value) return std::nullopt;
    return *value < 0 ? SliceProperties::kInfinity : static_cast<uint64_t>(*value);
  };
  SliceProperties properties;
  if (limits.cpu_shares) properties.cpu_weight = static_cast<uint64_t>(shares_to_weight(*limits.cpu_shares));
  properties.memory_max = bound(limits.memory_bytes);
  properties.tasks_max = bound(limits.pids);
  if (limits.cpu_quota_us) {
    const int64_t period = limits.cpu_period_us.value_or(100'000);
    properties.cpu_quota_period_us = static_cast<uint64_t>(period);
    if (*limits.cpu_quota_us <= 0 || period <= 0) {
      properties.cpu_quota_per_sec_us = SliceProperties::kInfinity;
    } else {
      constexpr unsigned __int128 kStep = 10'000;
      const auto quota = static_cast<unsigned __int128>(*limits.cpu_quota_us);
      const unsigned __int128 per_second = quota * 1'000'000 / static_cast<unsigned __int128>(period);
      const unsigned __int128 rounded = (per_second + kStep - 1) / kStep * kStep;
      properties.cpu_quota_per_sec_us =
          rounded >= SliceProperties::kInfinity ? SliceProperties::kInfinity : static_cast<uint64_t>(rounded);
    }
  }
  return properties;
}

Co<absl::Status> SystemdDriver::make(Name name, Limits limits, Instant deadline) {
  const std::string slice = to_slice(name);
  const SliceProperties properties = to_properties(limits);
  const absl::Status started = co_await units_.start_slice(slice, properties, deadline);
  if (!started.ok()) co_return started;
  const std::string path = to_path(name, DriverKind::kSystemd);
  co_return co_await offload(loop_, offload_, [this, path, limits = std::move(limits)] {
    absl::Status status = hierarchy_.make(tree_, path);
    if (status.ok()) status = hierarchy_.set(tree_, path, limits);
    return status;
  });
}

Co<absl::Status> SystemdDriver::remove(Name name, Instant deadline) {
  const std::string slice = to_slice(name);
  const absl::Status stopped = co_await units_.stop(slice, deadline);
  if (!stopped.ok()) co_return stopped;
  // What systemd does not know of (a cgroup made beside it) is left below.
  const std::string path = to_path(name, DriverKind::kSystemd);
  co_return co_await offload(loop_, offload_, [this, path] { return hierarchy_.remove(tree_, path); });
}

}  // namespace podwright::cgroups
