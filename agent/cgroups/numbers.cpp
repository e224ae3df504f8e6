#include "agent/cgroups/numbers.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <limits>

namespace podwright::cgroups {
namespace {

constexpr int64_t kSharesPerCpu = 1024;
// Source: the kernel's bounds of cpu.shares.
constexpr int64_t kLeastShares = 2;
constexpr int64_t kMostShares = 262'144;
// Source: the kernel refuses a quota under 1 ms.
constexpr int64_t kLeastQuotaUs = 1'000;

// a * b / c without overflow; the most there is where the result has no room.
int64_t scale(int64_t a, int64_t b, int64_t c) {
  const __int128 result = static_cast<__int128>(a) * b / c;
  return static_cast<int64_t>(std::min<__int128>(result, std::numeric_limits<int64_t>::max()));
}

int64_t amount_of(const api::Amounts& amounts, const std::string& resource) {
  const auto found = amounts.find(resource);
  return found == amounts.end() ? 0 : found->second;
}

}  // namespace

int64_t milli_cpu_to_shares(int64_t milli_cpu) {
  if (milli_cpu <= 0) return kLeastShares;
  return std::clamp(scale(milli_cpu, kSharesPerCpu, 1000), kLeastShares, kMostShares);
}

int64_t milli_cpu_to_quota_us(int64_t milli_cpu, std::chrono::microseconds period) {
  if (milli_cpu <= 0) return 0;
  return std::max(scale(milli_cpu, period.count(), 1000), kLeastQuotaUs);
}

int64_t shares_to_weight(int64_t shares) {
  if (shares == 0) return 0;
  return 1 + (std::clamp(shares, kLeastShares, kMostShares) - kLeastShares) * 9999 / (kMostShares - kLeastShares);
}

std::optional<std::string> huge_page_name(std::string_view size) {
  uint64_t number = 0;
  const auto [end, error] = std::from_chars(size.data(), size.data() + size.size(), number);
  if (error != std::errc() || number == 0) return std::nullopt;
  const std::string_view unit = size.substr(static_cast<std::size_t>(end - size.data()));
  int shift = 0;
  if (unit == "Ki" || unit == "kB") shift = 10;
  if (unit == "Mi") shift = 20;
  if (unit == "Gi") shift = 30;
  if (shift == 0 && !unit.empty()) return std::nullopt;
  if (number > (std::numeric_limits<uint64_t>::max() >> shift)) return std::nullopt;
  uint64_t value = number << shift;
  const char* const units[] = {"B", "KB", "MB", "GB", "TB"};
  std::size_t at = 0;
  while (at < 4 && value >= 1024 && value % 1024 == 0) {
    value /= 1024;
    ++at;
  }
  return fmt::format("{}{}", value, units[at]);
}

Limits pod_limits(api::Qos qos, const api::Amounts& requests, const api::Amounts& limits,
                  const PodLimitOptions& options) {
  Limits result;
  const bool bounds_cpu = qos != api::Qos::kBestEffort && amount_of(limits, "cpu") > 0;
  const bool bounds_memory = qos != api::Qos::kBestEffort && amount_of(limits, "memory") > 0;
  result.cpu_shares = qos == api::Qos::kBestEffort ? kLeastShares : milli_cpu_to_shares(amount_of(requests, "cpu"));
  // What a pod no longer asks for (a resize, an ended init step) is lifted again.
  result.cpu_period_us = options.cfs_period.count();
  result.cpu_quota_us =
      bounds_cpu && options.cfs_quota ? milli_cpu_to_quota_us(amount_of(limits, "cpu"), options.cfs_period) : -1;
  result.memory_bytes = bounds_memory ? amount_of(limits, "memory") : -1;
  result.pids = options.pids_limit;
  for (const std::string& size : options.huge_page_sizes) result.hugetlb_bytes[size] = 0;
  for (const auto& [resource, amount] : limits) {
    constexpr std::string_view kPrefix = "hugepages-";
    if (!resource.starts_with(kPrefix)) continue;
    const auto size = huge_page_name(std::string_view(resource).substr(kPrefix.size()));
    if (size && result.hugetlb_bytes.contains(*size)) result.hugetlb_bytes[*size] = amount;
  }
  return result;
}

}  // namespace podwright::cgroups
