// The arithmetic from what a pod asks for to what its cgroup is set to; pure.
// Source: pkg/kubelet/cm/helpers_linux.go (MilliCPUToShares, MilliCPUToQuota, ResourceConfigForPod).
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "api/resources.h"
#include "base/time/time.h"

namespace podwright::cgroups {

// Values of one cgroup, in cgroup v1's terms; what is not set is left alone.
struct Limits {
  std::optional<int64_t> cpu_shares;
  std::optional<int64_t> cpu_quota_us;  // -1: none
  std::optional<int64_t> cpu_period_us;
  std::optional<int64_t> memory_bytes;  // -1: none
  std::optional<int64_t> pids;          // -1: none
  // By the kernel's page size name: "2MB", "1GB".
  std::map<std::string, int64_t> hugetlb_bytes;

  bool operator==(const Limits&) const = default;
};

// 1024 for each whole CPU, from 2 to 262144.
int64_t milli_cpu_to_shares(int64_t milli_cpu);
// Microseconds in each period, at least 1000; 0, which is none, for 0.
int64_t milli_cpu_to_quota_us(int64_t milli_cpu, std::chrono::microseconds period);
// cgroup v2's cpu.weight, by the line that libcontainer draws from [2, 262144] to [1, 10000]; 0 stays 0.
int64_t shares_to_weight(int64_t shares);
// "2MB" for "2Mi" (and for "2048kB", as /sys/kernel/mm/hugepages has it); nothing for what is not a size.
std::optional<std::string> huge_page_name(std::string_view size);

struct PodLimitOptions {
  bool cfs_quota = true;
  std::chrono::microseconds cfs_period{100'000};
  int64_t pids_limit = -1;
  // Kernel names of the page sizes that the node has.
  std::vector<std::string> huge_page_sizes;
};

// What the cgroup of a pod is set to. `limits` lists a resource only where every container declares it; cpu is in
// thousandths.
Limits pod_limits(api::Qos qos, const api::Amounts& requests, const api::Amounts& limits,
                  const PodLimitOptions& options);

}  // namespace podwright::cgroups
