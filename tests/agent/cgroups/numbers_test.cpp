#include "agent/cgroups/numbers.h"

#include <doctest/doctest.h>

using namespace podwright;
using namespace podwright::cgroups;

TEST_CASE("cpu becomes shares, quota and weight") {
  struct Row {
    int64_t milli_cpu, shares, quota_us, weight;
  };
  const Row rows[] = {
      {0, 2, 0, 1},
      {1, 2, 1000, 1},
      {2, 2, 1000, 1},
      {10, 10, 1000, 1},
      {100, 102, 10000, 4},
      {1000, 1024, 100000, 39},
      {1500, 1536, 150000, 59},
      {256000, 262144, 25600000, 10000},
      {-5, 2, 0, 1},
      {500, 512, 50000, 20},
      {999999, 262144, 99999900, 10000},
  };
  for (const Row& row : rows) {
    CAPTURE(row.milli_cpu);
    CHECK(milli_cpu_to_shares(row.milli_cpu) == row.shares);
    CHECK(milli_cpu_to_quota_us(row.milli_cpu, std::chrono::microseconds(100'000)) == row.quota_us);
    CHECK(shares_to_weight(row.shares) == row.weight);
  }
  CHECK(milli_cpu_to_quota_us(100, std::chrono::microseconds(5'000)) == 1000);
  CHECK(milli_cpu_to_shares(INT64_MAX) == 262144);
  CHECK(milli_cpu_to_quota_us(INT64_MAX, std::chrono::microseconds(100'000)) == INT64_MAX);
  CHECK(shares_to_weight(0) == 0);
  CHECK(shares_to_weight(INT64_MAX) == 10000);
}

TEST_CASE("sizes of huge pages have the kernel's names") {
  CHECK(*huge_page_name("2Mi") == "2MB");
  CHECK(*huge_page_name("2048kB") == "2MB");
  CHECK(*huge_page_name("1Gi") == "1GB");
  CHECK(*huge_page_name("64Ki") == "64KB");
  CHECK(*huge_page_name("1048576kB") == "1GB");
  for (const char* bad : {"", "Mi", "0Mi", "2Xi", "-2Mi", "99999999999999999999", "18446744073709551615Gi"}) {
    CAPTURE(bad);
    CHECK_FALSE(huge_page_name(bad));
  }
}

TEST_CASE("a pod's cgroup gets what its class and limits say") {
  using api::Qos;
  struct Row {
    const char* what;
    Qos qos;
    api::Amounts requests, limits;
    int64_t shares, quota_us, memory_bytes;
  };
  const Row rows[] = {
      {"guaranteed",
       Qos::kGuaranteed,
       {{"cpu", 1000}, {"memory", 1 << 20}},
       {{"cpu", 1000}, {"memory", 1 << 20}},
       1024,
       100000,
       1 << 20},
      {"burstable without limits", Qos::kBurstable, {{"cpu", 100}}, {}, 102, -1, -1},
      {"burstable, memory limited everywhere", Qos::kBurstable, {{"cpu", 100}}, {{"memory", 4096}}, 102, -1, 4096},
      {"burstable, cpu limited everywhere", Qos::kBurstable, {{"cpu", 100}}, {{"cpu", 200}}, 102, 20000, -1},
      {"burstable with a limit of zero", Qos::kBurstable, {}, {{"cpu", 0}, {"memory", 0}}, 2, -1, -1},
      {"best effort", Qos::kBestEffort, {}, {}, 2, -1, -1},
  };
  for (const Row& row : rows) {
    CAPTURE(row.what);
    const Limits limits = pod_limits(row.qos, row.requests, row.limits, {});
    CHECK(limits.cpu_shares == row.shares);
    CHECK(limits.cpu_quota_us == row.quota_us);
    CHECK(limits.cpu_period_us == 100000);
    CHECK(limits.memory_bytes == row.memory_bytes);
    CHECK(limits.pids == -1);
  }
}

TEST_CASE("the node's settings enter a pod's limits") {
  PodLimitOptions options;
  options.cfs_quota = false;
  options.pids_limit = 1000;
  options.huge_page_sizes = {"2MB", "1GB"};

  const Limits limits = pod_limits(api::Qos::kGuaranteed, {{"cpu", 1000}},
                                   {{"cpu", 1000}, {"hugepages-2Mi", 4 << 20}, {"hugepages-4Mi", 1}}, options);

  CHECK(limits.cpu_quota_us == -1);
  CHECK(limits.pids == 1000);
  CHECK(limits.hugetlb_bytes == std::map<std::string, int64_t>{{"2MB", 4 << 20}, {"1GB", 0}});
}
