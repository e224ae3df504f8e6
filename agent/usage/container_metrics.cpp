// Source: google/cadvisor metrics/prometheus.go and pkg/kubelet/server/server.go (the labels).
#include <algorithm>
#include <array>

#include "agent/usage/exposition.h"
#include "agent/usage/metrics_pages.h"

namespace podwright::usage {

// machine_metrics.cpp
void write_machine(Exposition& out, const Machine& machine);

namespace {

using Type = Exposition::Type;

constexpr double kUsPerSecond = 1e6;
constexpr double kMsPerSecond = 1e3;

// One cgroup with its labels.
struct Row {
  const CgroupUsage* cgroup = nullptr;
  std::string labels;
  // Set at the cgroup that tells the network: the sandbox, and the root.
  const std::vector<InterfaceUsage>* network = nullptr;
  const ContainerUsage* container = nullptr;
};

Row make_row(const CgroupUsage& cgroup, std::string_view ns, std::string_view pod, std::string_view container,
             std::string_view name, std::string_view image) {
  return {.cgroup = &cgroup,
          .labels = labels_text({{"container", container},
                                 {"id", cgroup.path},
                                 {"image", image},
                                 {"name", name},
                                 {"namespace", ns},
                                 {"pod", pod}})};
}

std::vector<Row> rows_of(const Snapshot& snapshot) {
  std::vector<Row> rows;
  rows.push_back(make_row(snapshot.node.root, "", "", "", "", ""));
  rows.back().network = &snapshot.node.network;
  for (const SystemContainer& system : snapshot.node.system) {
    rows.push_back(make_row(system.cgroup, "", "", "", "", ""));
  }
  for (const CgroupUsage& cgroup : snapshot.node.qos) {
    const bool known =
        std::any_of(rows.begin(), rows.end(), [&](const Row& row) { return row.cgroup->path == cgroup.path; });
    if (!known) rows.push_back(make_row(cgroup, "", "", "", "", ""));
  }
  for (const PodUsagePtr& pod : snapshot.pods) {
    const std::string &ns = pod->key.ns, &name = pod->key.name;
    if (pod->cgroup) rows.push_back(make_row(*pod->cgroup, ns, name, "", "", ""));
    if (pod->sandbox) {
      rows.push_back(make_row(*pod->sandbox, ns, name, "", pod->sandbox_id.value, ""));
      rows.back().network = &pod->network;
    }
    for (const ContainerUsage& container : pod->containers) {
      rows.push_back(make_row(container.cgroup, ns, name, container.name.value, container.id.value, container.image));
      rows.back().container = &container;
    }
  }
  return rows;
}

// A family with one sample for each cgroup that has the value.
struct Family {
  const char* name;
  Type type;
  const char* help;
  std::optional<double> (*value)(const CgroupUsage&);
};

double seconds_of(WallTime time) {
  return std::chrono::duration<double>(time.time_since_epoch()).count();
}

template <uint64_t CpuUsage::*kField, int64_t kPerUnit = 1>
std::optional<double> of_cpu(const CgroupUsage& from) {
  if (!from.cpu) return std::nullopt;
  return static_cast<double>((*from.cpu).*kField) / static_cast<double>(kPerUnit);
}

// What is not set is left out; shares, period and quota are set for some cgroups only.
template <std::optional<uint64_t> CpuUsage::*kField>
std::optional<double> set_of_cpu(const CgroupUsage& from) {
  if (!from.cpu || !((*from.cpu).*kField)) return std::nullopt;
  return static_cast<double>(*((*from.cpu).*kField));
}

template <uint64_t MemoryUsage::*kField>
std::optional<double> of_memory(const CgroupUsage& from) {
  if (!from.memory) return std::nullopt;
  return static_cast<double>((*from.memory).*kField);
}

// 0 is none, as upstream has it.
template <std::optional<uint64_t> MemoryUsage::*kField>
std::optional<double> limit_of(const CgroupUsage& from) {
  if (!from.memory) return std::nullopt;
  return static_cast<double>(((*from.memory).*kField).value_or(0));
}

template <uint64_t ProcessUsage::*kField>
std::optional<double> of_processes(const CgroupUsage& from) {
  if (!from.processes) return std::nullopt;
  return static_cast<double>((*from.processes).*kField);
}

template <Stall Pressure::*kField>
std::optional<double> stalled(const std::optional<Pressure>& from) {
  if (!from) return std::nullopt;
  return static_cast<double>(((*from).*kField).total_us) / kUsPerSecond;
}
template <Stall Pressure::*kField>
std::optional<double> cpu_stalled(const CgroupUsage& from) {
  return from.cpu ? stalled<kField>(from.cpu->pressure) : std::nullopt;
}
template <Stall Pressure::*kField>
std::optional<double> memory_stalled(const CgroupUsage& from) {
  return from.memory ? stalled<kField>(from.memory->pressure) : std::nullopt;
}
template <Stall Pressure::*kField>
std::optional<double> io_stalled(const CgroupUsage& from) {
  return stalled<kField>(from.io_pressure);
}

// No load reader runs, as by default upstream.
std::optional<double> zero(const CgroupUsage& from) {
  return from.cpu ? std::optional(0.0) : std::nullopt;
}

constexpr int64_t kNs = 1'000'000'000;

constexpr std::array kFamilies =
    std::to_array<Family>({
        {"container_last_seen", Type::kGauge, "When the container was last read, in seconds since the Unix epoch.",
         [](const CgroupUsage& from) { return std::optional(seconds_of(from.at)); }},
        {"container_start_time_seconds", Type::kGauge, "Start of the container, in seconds since the Unix epoch.",
         [](const CgroupUsage& from) {
           return from.started_at == WallTime() ? std::nullopt : std::optional(seconds_of(from.started_at));
         }},
        {"container_cpu_user_seconds_total", Type::kCounter, "CPU time in user mode.", of_cpu<&CpuUsage::user_ns, kNs>},
        {"container_cpu_system_seconds_total", Type::kCounter, "CPU time in the kernel.",
         of_cpu<&CpuUsage::system_ns, kNs>},
        {"container_cpu_cfs_periods_total", Type::kCounter, "Periods of the CPU limit that have passed.",
         of_cpu<&CpuUsage::periods>},
        {"container_cpu_cfs_throttled_periods_total", Type::kCounter, "Periods in which the CPU limit was met.",
         of_cpu<&CpuUsage::throttled_periods>},
        {"container_cpu_cfs_throttled_seconds_total", Type::kCounter, "Time held back by the CPU limit.",
         of_cpu<&CpuUsage::throttled_ns, kNs>},
        {"container_cpu_cfs_burst_periods_total", Type::kCounter, "Periods in which a burst was used.",
         of_cpu<&CpuUsage::burst_periods>},
        {"container_cpu_cfs_burst_seconds_total", Type::kCounter, "CPU time beyond the limit in bursts.",
         of_cpu<&CpuUsage::burst_ns, kNs>},
        {"container_cpu_load_average_10s", Type::kGauge, "Load over the last 10 s; always 0, as no load is read.",
         zero},
        {"container_cpu_load_d_average_10s", Type::kGauge,
         "Load of uninterruptible tasks over the last 10 s; always 0, as no load is read.", zero},
        {"container_memory_cache", Type::kGauge, "Page cache, in bytes.", of_memory<&MemoryUsage::cache_bytes>},
        {"container_memory_rss", Type::kGauge, "Anonymous memory, in bytes.", of_memory<&MemoryUsage::rss_bytes>},
        {"container_memory_kernel_usage", Type::kGauge, "Memory of the kernel, in bytes.",
         of_memory<&MemoryUsage::kernel_bytes>},
        {"container_memory_mapped_file", Type::kGauge, "Mapped files, in bytes.",
         of_memory<&MemoryUsage::mapped_file_bytes>},
        {"container_memory_swap", Type::kGauge, "Swap used, in bytes.", limit_of<&MemoryUsage::swap_bytes>},
        {"container_memory_failcnt", Type::kCounter, "Times that the memory limit was met.",
         of_memory<&MemoryUsage::limit_hits>},
        {"container_memory_usage_bytes", Type::kGauge, "Memory used, with page cache, in bytes.",
         of_memory<&MemoryUsage::usage_bytes>},
        {"container_memory_max_usage_bytes", Type::kGauge, "Greatest memory use so far, in bytes.",
         of_memory<&MemoryUsage::max_usage_bytes>},
        {"container_memory_working_set_bytes", Type::kGauge, "Working set, in bytes.",
         of_memory<&MemoryUsage::working_set_bytes>},
        {"container_memory_total_active_file_bytes", Type::kGauge, "File pages used lately, in bytes.",
         of_memory<&MemoryUsage::active_file_bytes>},
        {"container_memory_total_inactive_file_bytes", Type::kGauge, "File pages not used lately, in bytes.",
         of_memory<&MemoryUsage::inactive_file_bytes>},
        {"container_oom_events_total", Type::kCounter, "Processes killed for want of memory.",
         of_memory<&MemoryUsage::oom_kills>},
        {"container_processes", Type::kGauge, "Processes.", of_processes<&ProcessUsage::processes>},
        {"container_file_descriptors", Type::kGauge, "Open files.", of_processes<&ProcessUsage::open_files>},
        {"container_sockets", Type::kGauge, "Open sockets.", of_processes<&ProcessUsage::sockets>},
        {"container_threads", Type::kGauge, "Threads.", of_processes<&ProcessUsage::threads>},
        {"container_threads_max", Type::kGauge, "Threads that there may be; 0 for no limit.",
         [](const CgroupUsage& from) {
           return from.processes ? std::optional(static_cast<double>(from.processes->threads_max.value_or(0)))
                                 : std::nullopt;
         }},
        {"container_spec_cpu_period", Type::kGauge, "Period of the CPU limit, in microseconds.",
         set_of_cpu<&CpuUsage::period_us>},
        {"container_spec_cpu_quota", Type::kGauge, "CPU time allowed in a period, in microseconds.",
         set_of_cpu<&CpuUsage::quota_us>},
        {"container_spec_cpu_shares", Type::kGauge, "CPU shares.", set_of_cpu<&CpuUsage::shares>},
        {"container_spec_memory_limit_bytes", Type::kGauge, "Memory limit, in bytes; 0 for none.",
         limit_of<&MemoryUsage::limit_bytes>},
        {"container_spec_memory_reservation_limit_bytes", Type::kGauge, "Memory that is kept for it, in bytes.",
         limit_of<&MemoryUsage::reservation_bytes>},
        {"container_spec_memory_swap_limit_bytes", Type::kGauge, "Swap limit, in bytes; 0 for none.",
         limit_of<&MemoryUsage::swap_limit_bytes>},
        {"container_pressure_cpu_stalled_seconds_total", Type::kCounter, "Time in which all tasks waited for CPU.",
         cpu_stalled<&Pressure::full>},
        {"container_pressure_cpu_waiting_seconds_total", Type::kCounter, "Time in which some task waited for CPU.",
         cpu_stalled<&Pressure::some>},
        {"container_pressure_memory_stalled_seconds_total", Type::kCounter,
         "Time in which all tasks waited for memory.", memory_stalled<&Pressure::full>},
        {"container_pressure_memory_waiting_seconds_total", Type::kCounter,
         "Time in which some task waited for memory.", memory_stalled<&Pressure::some>},
        {"container_pressure_io_stalled_seconds_total", Type::kCounter, "Time in which all tasks waited for IO.",
         io_stalled<&Pressure::full>},
        {"container_pressure_io_waiting_seconds_total", Type::kCounter, "Time in which some task waited for IO.",
         io_stalled<&Pressure::some>},
    });

void write_simple(Exposition& out, const std::vector<Row>& rows) {
  for (const Family& family : kFamilies) {
    out.family(family.name, family.type, family.help);
    for (const Row& row : rows) {
      if (const auto value = family.value(*row.cgroup)) out.sample(row.labels, "", *value, row.cgroup->at);
    }
  }
}

// Families with a label of their own.
void write_labelled(Exposition& out, const std::vector<Row>& rows) {
  out.family("container_cpu_usage_seconds_total", Type::kCounter, "CPU time used.");
  for (const Row& row : rows) {
    if (const auto value = of_cpu<&CpuUsage::usage_ns, kNs>(*row.cgroup)) {
      out.sample(row.labels, R"(cpu="total")", *value, row.cgroup->at);
    }
  }
  out.family("container_memory_failures_total", Type::kCounter, "Page faults.");
  for (const Row& row : rows) {
    if (!row.cgroup->memory) continue;
    const MemoryUsage& memory = *row.cgroup->memory;
    const auto write = [&](const char* labels, uint64_t value) {
      out.sample(row.labels, labels, static_cast<double>(value), row.cgroup->at);
    };
    write(R"(failure_type="pgfault",scope="container")", memory.own_page_faults);
    write(R"(failure_type="pgfault",scope="hierarchy")", memory.page_faults);
    write(R"(failure_type="pgmajfault",scope="container")", memory.own_major_page_faults);
    write(R"(failure_type="pgmajfault",scope="hierarchy")", memory.major_page_faults);
  }
  out.family("container_tasks_state", Type::kGauge, "Tasks by state; always 0, as no load is read.");
  for (const Row& row : rows) {
    for (const char* state : {"iowaiting", "running", "sleeping", "stopped", "uninterruptible"}) {
      out.sample(row.labels, labels_text({{"state", state}}), 0, row.cgroup->at);
    }
  }
  out.family("container_ulimits_soft", Type::kGauge, "Soft limits of the first process.");
  for (const Row& row : rows) {
    if (!row.cgroup->processes || !row.cgroup->processes->max_open_files) continue;
    out.sample(row.labels, R"(ulimit="max_open_files")", static_cast<double>(*row.cgroup->processes->max_open_files),
               row.cgroup->at);
  }
}

void write_network(Exposition& out, const std::vector<Row>& rows) {
  struct Counter {
    const char* name;
    const char* help;
    uint64_t InterfaceUsage::*field;
  };
  constexpr std::array kCounters = std::to_array<Counter>({
      {"container_network_receive_bytes_total", "Bytes received.", &InterfaceUsage::rx_bytes},
      {"container_network_receive_errors_total", "Errors in receiving.", &InterfaceUsage::rx_errors},
      {"container_network_receive_packets_dropped_total", "Received packets dropped.", &InterfaceUsage::rx_dropped},
      {"container_network_receive_packets_total", "Packets received.", &InterfaceUsage::rx_packets},
      {"container_network_transmit_bytes_total", "Bytes sent.", &InterfaceUsage::tx_bytes},
      {"container_network_transmit_errors_total", "Errors in sending.", &InterfaceUsage::tx_errors},
      {"container_network_transmit_packets_dropped_total", "Packets dropped in sending.", &InterfaceUsage::tx_dropped},
      {"container_network_transmit_packets_total", "Packets sent.", &InterfaceUsage::tx_packets},
  });
  for (const Counter& counter : kCounters) {
    out.family(counter.name, Type::kCounter, counter.help);
    for (const Row& row : rows) {
      if (row.network == nullptr) continue;
      for (const InterfaceUsage& interface : *row.network) {
        out.sample(row.labels, labels_text({{"interface", interface.name}}),
                   static_cast<double>(interface.*counter.field), row.cgroup->at);
      }
    }
  }
}

void write_io(Exposition& out, const std::vector<Row>& rows) {
  struct Counter {
    const char* name;
    const char* help;
    uint64_t DeviceIo::*field;
  };
  constexpr std::array kCounters = std::to_array<Counter>({
      {"container_fs_reads_bytes_total", "Bytes read from devices.", &DeviceIo::read_bytes},
      {"container_fs_reads_total", "Reads from devices.", &DeviceIo::reads},
      {"container_fs_writes_bytes_total", "Bytes written to devices.", &DeviceIo::write_bytes},
      {"container_fs_writes_total", "Writes to devices.", &DeviceIo::writes},
  });
  for (const Counter& counter : kCounters) {
    out.family(counter.name, Type::kCounter, counter.help);
    for (const Row& row : rows) {
      for (const DeviceIo& device : row.cgroup->io) {
        out.sample(row.labels, labels_text({{"device", device.name}}), static_cast<double>(device.*counter.field),
                   row.cgroup->at);
      }
    }
  }
  out.family("container_blkio_device_usage_total", Type::kCounter, "Bytes moved, by device and direction.");
  for (const Row& row : rows) {
    for (const DeviceIo& device : row.cgroup->io) {
      const std::string major = fmt::format("{}", device.major), minor = fmt::format("{}", device.minor);
      for (const bool read : {true, false}) {
        const std::string more = labels_text(
            {{"device", device.name}, {"major", major}, {"minor", minor}, {"operation", read ? "Read" : "Write"}});
        out.sample(row.labels, more, static_cast<double>(read ? device.read_bytes : device.write_bytes),
                   row.cgroup->at);
      }
    }
  }
}

// File systems of the machine at the root cgroup, and writable layers at their containers.
void write_file_systems(Exposition& out, const Snapshot& snapshot, const std::vector<Row>& rows) {
  struct Gauge {
    const char* name;
    const char* help;
    uint64_t (*value)(const FsStat&);
  };
  constexpr std::array kGauges = std::to_array<Gauge>({
      {"container_fs_inodes_free", "Inodes free.", [](const FsStat& stat) { return stat.inodes_free; }},
      {"container_fs_inodes_total", "Inodes.", [](const FsStat& stat) { return stat.inodes; }},
      {"container_fs_limit_bytes", "Bytes that may be used.", [](const FsStat& stat) { return stat.capacity_bytes; }},
  });
  const Row& root = rows.front();
  for (const Gauge& gauge : kGauges) {
    out.family(gauge.name, Type::kGauge, gauge.help);
    for (const FileSystem& system : snapshot.node.file_systems) {
      out.sample(root.labels, labels_text({{"device", system.device}}), static_cast<double>(gauge.value(system.stat)),
                 snapshot.wall);
    }
  }
  out.family("container_fs_usage_bytes", Type::kGauge, "Bytes used.");
  for (const FileSystem& system : snapshot.node.file_systems) {
    const uint64_t free = std::max(system.stat.free_bytes, system.stat.available_bytes);
    const uint64_t used = system.stat.capacity_bytes - std::min(free, system.stat.capacity_bytes);
    out.sample(root.labels, labels_text({{"device", system.device}}), static_cast<double>(used), snapshot.wall);
  }
  const std::string layers = snapshot.node.container_fs ? snapshot.node.container_fs->device : std::string();
  for (const Row& row : rows) {
    if (row.container == nullptr || !row.container->rootfs) continue;
    out.sample(row.labels, labels_text({{"device", layers}}), static_cast<double>(row.container->rootfs->bytes),
               row.container->rootfs->at);
  }
}

void write_disks(Exposition& out, const Snapshot& snapshot, const std::string& root) {
  struct Column {
    const char* name;
    Type type;
    const char* help;
    uint64_t BlockDevice::*field;
    double per_unit;
  };
  constexpr std::array kColumns = std::to_array<Column>({
      {"container_fs_io_current", Type::kGauge, "IO in flight.", &BlockDevice::in_flight, 1},
      {"container_fs_io_time_seconds_total", Type::kCounter, "Time with IO in flight.", &BlockDevice::busy_ms,
       kMsPerSecond},
      {"container_fs_io_time_weighted_seconds_total", Type::kCounter, "Time in IO, each counted.",
       &BlockDevice::weighted_ms, kMsPerSecond},
      {"container_fs_read_seconds_total", Type::kCounter, "Time in reads.", &BlockDevice::read_ms, kMsPerSecond},
      {"container_fs_reads_merged_total", Type::kCounter, "Reads merged.", &BlockDevice::reads_merged, 1},
      {"container_fs_sector_reads_total", Type::kCounter, "Sectors read.", &BlockDevice::sectors_read, 1},
      {"container_fs_sector_writes_total", Type::kCounter, "Sectors written.", &BlockDevice::sectors_written, 1},
      {"container_fs_write_seconds_total", Type::kCounter, "Time in writes.", &BlockDevice::write_ms, kMsPerSecond},
      {"container_fs_writes_merged_total", Type::kCounter, "Writes merged.", &BlockDevice::writes_merged, 1},
  });
  for (const Column& column : kColumns) {
    out.family(column.name, column.type, column.help);
    for (const BlockDevice& disk : snapshot.node.disks) {
      out.sample(root, labels_text({{"device", disk.name}}), static_cast<double>(disk.*column.field) / column.per_unit,
                 snapshot.wall);
    }
  }
}

}  // namespace

std::string container_metrics(const Snapshot& snapshot, const Machine& machine) {
  Exposition out;
  const std::vector<Row> rows = rows_of(snapshot);
  write_simple(out, rows);
  write_labelled(out, rows);
  write_network(out, rows);
  write_io(out, rows);
  write_file_systems(out, snapshot, rows);
  write_disks(out, snapshot, rows.front().labels);
  write_machine(out, machine);
  out.family("container_scrape_error", Type::kGauge, "1 if the numbers could not be read, 0 otherwise.");
  out.sample("", "", snapshot.missing > 0 || (!snapshot.node.root.cpu && !snapshot.node.root.memory) ? 1 : 0);
  return std::move(out).take();
}

}  // namespace podwright::usage
