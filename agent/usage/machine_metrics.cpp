// machine_* and cadvisor_version_info. Source: google/cadvisor metrics/prometheus_machine.go.
#include "agent/usage/exposition.h"
#include "agent/usage/machine.h"

namespace podwright::usage {

using Type = Exposition::Type;

namespace {

std::string text_of(uint64_t number) {
  return fmt::format("{}", number);
}

void write_topology(Exposition& out, const Machine& machine, const std::string& labels) {
  out.family("machine_cpu_cache_capacity_bytes", Type::kGauge, "Size of a cache of a core or NUMA node.");
  for (const CpuCache& cache : machine.caches) {
    const std::string node = text_of(cache.node), level = text_of(cache.level);
    const std::string core = cache.shared ? std::string() : text_of(cache.core);
    out.sample(labels, labels_text({{"core_id", core}, {"level", level}, {"node_id", node}, {"type", cache.type}}),
               static_cast<double>(cache.bytes));
  }
  out.family("machine_thread_siblings_count", Type::kGauge, "Threads of the thread's core.");
  for (const CpuThread& cpu : machine.threads) {
    const std::string core = text_of(cpu.core), node = text_of(cpu.node), thread = text_of(cpu.thread);
    out.sample(labels, labels_text({{"core_id", core}, {"node_id", node}, {"thread_id", thread}}), cpu.siblings);
  }
  out.family("machine_node_memory_capacity_bytes", Type::kGauge, "Memory of a NUMA node.");
  for (const NumaNode& node : machine.nodes) {
    out.sample(labels, labels_text({{"node_id", text_of(node.id)}}), static_cast<double>(node.memory_bytes));
  }
  out.family("machine_node_hugepages_count", Type::kGauge, "Huge pages of a NUMA node, by size in kB.");
  for (const NumaNode& node : machine.nodes) {
    for (const auto& [kilobytes, count] : node.huge_pages) {
      out.sample(labels, labels_text({{"node_id", text_of(node.id)}, {"page_size", text_of(kilobytes)}}),
                 static_cast<double>(count));
    }
  }
  out.family("machine_node_distance", Type::kGauge, "Distance between NUMA nodes.");
  for (const NumaNode& node : machine.nodes) {
    for (std::size_t i = 0; i < node.distances.size() && i < machine.nodes.size(); ++i) {
      out.sample(labels, labels_text({{"node_id", text_of(node.id)}, {"target_node_id", text_of(machine.nodes[i].id)}}),
                 static_cast<double>(node.distances[i]));
    }
  }
}

}  // namespace

void write_machine(Exposition& out, const Machine& machine) {
  const std::string labels = labels_text(
      {{"boot_id", machine.boot_id}, {"machine_id", machine.machine_id}, {"system_uuid", machine.system_uuid}});
  const auto write = [&](const char* name, const char* help, std::string_view more, double value) {
    out.family(name, Type::kGauge, help);
    out.sample(labels, more, value);
  };
  write("machine_cpu_cores", "Logical CPUs.", "", static_cast<double>(machine.threads.size()));
  write("machine_cpu_physical_cores", "Physical cores.", "", static_cast<double>(machine.cores()));
  write("machine_cpu_sockets", "Sockets.", "", static_cast<double>(machine.sockets()));
  write("machine_memory_bytes", "Memory, in bytes.", "", static_cast<double>(machine.memory_bytes));
  write("machine_swap_bytes", "Swap, in bytes.", "", static_cast<double>(machine.swap_bytes));
  write("machine_scrape_error", "1 if the machine could not be looked at, 0 otherwise.", "",
        machine.memory_bytes > 0 ? 0 : 1);
  write("machine_nvm_avg_power_budget_watts", "Power budget of non-volatile memory; 0 as none is looked for.", "", 0);
  out.family("machine_nvm_capacity", Type::kGauge, "Non-volatile memory by mode; 0 as none is looked for.");
  for (const char* mode : {"app_direct_mode", "memory_mode", "other_mode"}) {
    out.sample(labels, labels_text({{"mode", mode}}), 0);
  }
  write_topology(out, machine, labels);
  out.family("cadvisor_version_info", Type::kGauge, "1, with the versions of kernel and system; no cadvisor is used.");
  out.sample(labels_text({{"cadvisorRevision", ""},
                          {"cadvisorVersion", ""},
                          {"dockerVersion", ""},
                          {"kernelVersion", machine.kernel_version},
                          {"osVersion", machine.os_version}}),
             "", 1);
}

}  // namespace podwright::usage
