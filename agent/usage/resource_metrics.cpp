// Source: pkg/kubelet/metrics/collectors/resource_metrics.go.
#include "agent/usage/exposition.h"
#include "agent/usage/metrics_pages.h"

namespace podwright::usage {
namespace {

using Type = Exposition::Type;

constexpr double kNsPerSecond = 1e9;

// One sample of a family: its labels, its value and when it was read.
struct Row {
  std::string labels;
  double value = 0;
  WallTime at;
};

void write(Exposition& out, std::string_view name, Type type, std::string_view help, const std::vector<Row>& rows) {
  out.family(name, type, help);
  for (const Row& row : rows) out.sample(row.labels, "", row.value, row.at);
}

// The rows of the families that node, pods and containers have alike.
struct Rows {
  std::vector<Row> cpu, memory, swap, swap_limit, start;

  void add(const CgroupUsage& from, const std::string& labels) {
    if (from.cpu) cpu.push_back({labels, static_cast<double>(from.cpu->usage_ns) / kNsPerSecond, from.at});
    if (!from.memory) return;
    memory.push_back({labels, static_cast<double>(from.memory->working_set_bytes), from.at});
    if (from.memory->swap_bytes) swap.push_back({labels, static_cast<double>(*from.memory->swap_bytes), from.at});
    if (from.memory->swap_limit_bytes) {
      swap_limit.push_back({labels, static_cast<double>(*from.memory->swap_limit_bytes), from.at});
    }
  }
};

}  // namespace

std::string resource_metrics(const Snapshot& snapshot) {
  Rows node, pods, containers;
  node.add(snapshot.node.root, "");
  for (const PodUsagePtr& pod : snapshot.pods) {
    const std::string pod_labels = labels_text({{"namespace", pod->key.ns}, {"pod", pod->key.name}});
    if (pod->cgroup) {
      pods.add(*pod->cgroup, pod_labels);
    } else {
      if (const auto cpu = pod->cpu_usage_ns()) {
        pods.cpu.push_back({pod_labels, static_cast<double>(*cpu) / kNsPerSecond, pod->at()});
      }
      if (const auto memory = pod->working_set_bytes()) {
        pods.memory.push_back({pod_labels, static_cast<double>(*memory), pod->at()});
      }
    }
    for (const ContainerUsage& container : pod->containers) {
      const std::string labels =
          labels_text({{"container", container.name.value}, {"namespace", pod->key.ns}, {"pod", pod->key.name}});
      containers.add(container.cgroup, labels);
      const WallTime started = container.cgroup.started_at;
      if (started == WallTime()) continue;
      containers.start.push_back({labels, std::chrono::duration<double>(started.time_since_epoch()).count(), {}});
    }
  }
  Exposition out;
  write(out, "container_cpu_usage_seconds_total", Type::kCounter, "CPU time used by the container, in core-seconds.",
        containers.cpu);
  write(out, "container_memory_working_set_bytes", Type::kGauge, "Working set of the container, in bytes.",
        containers.memory);
  write(out, "container_start_time_seconds", Type::kGauge, "Start of the container, in seconds since the Unix epoch.",
        containers.start);
  write(out, "container_swap_limit_bytes", Type::kGauge, "Swap that the container may use, in bytes.",
        containers.swap_limit);
  write(out, "container_swap_usage_bytes", Type::kGauge, "Swap used by the container, in bytes.", containers.swap);
  write(out, "node_cpu_usage_seconds_total", Type::kCounter, "CPU time used by the node, in core-seconds.", node.cpu);
  write(out, "node_memory_working_set_bytes", Type::kGauge, "Working set of the node, in bytes.", node.memory);
  write(out, "node_swap_usage_bytes", Type::kGauge, "Swap used by the node, in bytes.", node.swap);
  write(out, "pod_cpu_usage_seconds_total", Type::kCounter, "CPU time used by the pod, in core-seconds.", pods.cpu);
  write(out, "pod_memory_working_set_bytes", Type::kGauge, "Working set of the pod, in bytes.", pods.memory);
  write(out, "pod_swap_usage_bytes", Type::kGauge, "Swap used by the pod, in bytes.", pods.swap);
  const double failed = snapshot.node.root.cpu || snapshot.node.root.memory ? 0 : 1;
  write(out, "resource_scrape_error", Type::kGauge, "1 if the numbers could not be read, 0 otherwise.",
        {{"", failed, {}}});
  write(out, "scrape_error", Type::kGauge, "Deprecated: resource_scrape_error tells the same.", {{"", failed, {}}});
  return std::move(out).take();
}

}  // namespace podwright::usage
