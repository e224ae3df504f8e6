#include "agent/containers/resources.h"

#include <algorithm>

#include "api/amount.h"
#include "api/resources.h"

namespace podwright::containers {
namespace {

// Source: pkg/kubelet/cm/helpers_linux.go.
constexpr int64_t kLeastShares = 2;
constexpr int64_t kMostShares = 262144;
constexpr int64_t kSharesPerCpu = 1024;
constexpr int64_t kLeastQuotaUs = 1000;

// Source: pkg/kubelet/qos/policy.go.
constexpr int64_t kGuaranteedScore = -997;
constexpr int64_t kBestEffortScore = 1000;

bool is_node_critical(const core::Pod& pod) {
  return pods::is_critical(pod) && pod.spec().priorityclassname() == "system-node-critical";
}

bool is_sidecar(const core::Pod& pod, const core::Container& container) {
  return std::any_of(pod.spec().initcontainers().begin(), pod.spec().initcontainers().end(), [&](const auto& init) {
    return init.name() == container.name() && init.restartpolicy() == "Always";
  });
}

int64_t burstable_score(int64_t request, int64_t capacity) {
  if (capacity <= 0) return 999;
  const auto part = static_cast<int64_t>(static_cast<__int128>(1000) * request / capacity);
  const int64_t score = 1000 - part;
  if (score < 1000 + kGuaranteedScore) return 1000 + kGuaranteedScore;
  return score == kBestEffortScore ? score - 1 : score;
}

// A page size as the runtime writes it: "2MB" for hugepages-2Mi.
std::string page_size(const std::string& resource) {
  const int64_t bytes = api::units_of(std::string_view(resource).substr(std::string_view("hugepages-").size()));
  for (const auto& [unit, size] :
       {std::pair{"GB", int64_t{1} << 30}, {"MB", int64_t{1} << 20}, {"KB", int64_t{1} << 10}}) {
    if (bytes >= size && bytes % size == 0) return fmt::format("{}{}", bytes / size, unit);
  }
  return fmt::format("{}B", bytes);
}

}  // namespace

int64_t milli_to_shares(int64_t milli) {
  if (milli <= 0) return kLeastShares;
  return std::clamp(milli * kSharesPerCpu / 1000, kLeastShares, kMostShares);
}

int64_t milli_to_quota(int64_t milli, int64_t period_us) {
  if (milli <= 0) return 0;
  return std::max(milli * period_us / 1000, kLeastQuotaUs);
}

int64_t oom_score_adj(const core::Pod& pod, const core::Container& container, int64_t capacity) {
  if (is_node_critical(pod)) return kGuaranteedScore;
  switch (api::qos_of(pod)) {
    case api::Qos::kGuaranteed: return kGuaranteedScore;
    case api::Qos::kBestEffort: return kBestEffortScore;
    case api::Qos::kBurstable: break;
  }
  int64_t request = api::request_of(container, "memory");
  if (pod.spec().has_resources() && pod.spec().resources().requests().contains("memory")) {
    // What the pod asks for beyond its containers is spread over them evenly.
    int64_t asked = 0;
    for (const auto& one : pod.spec().containers()) asked += api::request_of(one, "memory");
    const int64_t total = api::units_of(pod.spec().resources().requests().at("memory"));
    const int count = std::max(pod.spec().containers_size(), 1);
    if (total > asked) request += (total - asked) / count;
  }
  int64_t score = burstable_score(request, capacity);
  if (is_sidecar(pod, container)) {
    // A sidecar goes no sooner than the regular container with the smallest request.
    int64_t least = -1;
    for (const auto& one : pod.spec().containers()) {
      const int64_t its = api::request_of(one, "memory");
      if (least < 0 || its < least) least = its;
    }
    score = std::min(score, burstable_score(std::max<int64_t>(least, 0), capacity));
  }
  return score;
}

cri::Resources container_resources(const core::Pod& pod, const core::Container& container, const NodeFacts& node) {
  cri::Resources resources;
  const int64_t cpu_limit = api::limit_of(container, "cpu");
  // A limit without a request stands for both.
  const int64_t cpu_request =
      api::has_request(container, "cpu") || cpu_limit == 0 ? api::request_of(container, "cpu") : cpu_limit;
  resources.cpu_shares = milli_to_shares(cpu_request);
  if (node.cpu_cfs_quota && cpu_limit > 0) {
    resources.cpu_period_us = node.cpu_cfs_quota_period.count();
    resources.cpu_quota_us = milli_to_quota(cpu_limit, resources.cpu_period_us);
  }
  resources.memory_bytes = api::limit_of(container, "memory");
  resources.oom_score_adj = oom_score_adj(pod, container, node.memory_capacity_bytes);
  if (!node.may_lower_oom_score) resources.oom_score_adj = std::max<int64_t>(resources.oom_score_adj, 0);
  for (const auto& [name, quantity] : container.resources().limits()) {
    if (!name.starts_with("hugepages-")) continue;
    resources.hugepages.push_back({page_size(name), static_cast<uint64_t>(api::units_of(quantity))});
  }
  if (node.cgroup_v2) resources.unified["memory.oom.group"] = "1";
  return resources;
}

}  // namespace podwright::containers
