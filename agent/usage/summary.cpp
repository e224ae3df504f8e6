#include "agent/usage/summary.h"

#include <algorithm>

#include "api/codec.h"

namespace podwright::usage {
namespace {

// Source: pkg/kubelet/stats, the interface whose numbers stand at the top.
constexpr char kDefaultInterface[] = "eth0";
constexpr int64_t kNsPerUs = 1'000;

int64_t to_signed(uint64_t value) {
  return static_cast<int64_t>(std::min<uint64_t>(value, INT64_MAX));
}

void set_time(WallTime time, meta::Time* into) {
  if (time == WallTime()) return;
  const auto since = time.time_since_epoch();
  into->set_seconds(std::chrono::floor<std::chrono::seconds>(since).count());
  into->set_nanos(static_cast<int32_t>((since % std::chrono::seconds(1)).count()));
}

void fill(const Stall& stall, stats::PSIData* into) {
  into->set_total(to_signed(stall.total_us) * kNsPerUs);
  into->set_avg10(stall.avg10);
  into->set_avg60(stall.avg60);
  into->set_avg300(stall.avg300);
}

void fill(const Pressure& pressure, stats::PSIStats* into) {
  fill(pressure.full, into->mutable_full());
  fill(pressure.some, into->mutable_some());
}

void fill_cpu(const CgroupUsage& from, stats::CPUStats* into) {
  set_time(from.at, into->mutable_time());
  if (from.cpu->nano_cores) into->set_usagenanocores(to_signed(*from.cpu->nano_cores));
  into->set_usagecorenanoseconds(to_signed(from.cpu->usage_ns));
  if (from.cpu->pressure) fill(*from.cpu->pressure, into->mutable_psi());
}

// `capacity` is what is available in all, where the cgroup has no limit.
void fill_memory(const CgroupUsage& from, std::optional<uint64_t> capacity, stats::MemoryStats* into) {
  const MemoryUsage& memory = *from.memory;
  set_time(from.at, into->mutable_time());
  const std::optional<uint64_t> bound = memory.limit_bytes ? memory.limit_bytes : capacity;
  if (bound) into->set_availablebytes(to_signed(*bound - std::min(memory.working_set_bytes, *bound)));
  into->set_usagebytes(to_signed(memory.usage_bytes));
  into->set_workingsetbytes(to_signed(memory.working_set_bytes));
  into->set_rssbytes(to_signed(memory.rss_bytes));
  into->set_pagefaults(to_signed(memory.page_faults));
  into->set_majorpagefaults(to_signed(memory.major_page_faults));
  if (memory.pressure) fill(*memory.pressure, into->mutable_psi());
}

void fill_swap(const CgroupUsage& from, stats::SwapStats* into) {
  const MemoryUsage& memory = *from.memory;
  set_time(from.at, into->mutable_time());
  into->set_swapusagebytes(to_signed(*memory.swap_bytes));
  if (memory.swap_limit_bytes) {
    into->set_swapavailablebytes(
        to_signed(*memory.swap_limit_bytes - std::min(*memory.swap_bytes, *memory.swap_limit_bytes)));
  }
}

// cpu, memory, swap and, unless `light`, io: what node, pods and containers have alike.
template <class Message>
void fill_cgroup(const CgroupUsage& from, bool light, std::optional<uint64_t> capacity, Message* into) {
  if (from.cpu) fill_cpu(from, into->mutable_cpu());
  if (from.memory) fill_memory(from, capacity, into->mutable_memory());
  if (from.memory && from.memory->swap_bytes) fill_swap(from, into->mutable_swap());
  if (light || !from.io_pressure) return;
  set_time(from.at, into->mutable_io()->mutable_time());
  fill(*from.io_pressure, into->mutable_io()->mutable_psi());
}

void fill(const InterfaceUsage& from, stats::InterfaceStats* into) {
  into->set_name(from.name);
  into->set_rxbytes(to_signed(from.rx_bytes));
  into->set_rxerrors(to_signed(from.rx_errors));
  into->set_txbytes(to_signed(from.tx_bytes));
  into->set_txerrors(to_signed(from.tx_errors));
}

void fill_network(const std::vector<InterfaceUsage>& from, WallTime at, stats::NetworkStats* into) {
  set_time(at, into->mutable_time());
  for (const InterfaceUsage& interface : from) {
    fill(interface, into->add_interfaces());
    if (interface.name == kDefaultInterface) fill(interface, into->mutable_defaultinterface());
  }
}

void fill_fs(const FsStat& stat, WallTime at, stats::FsStats* into) {
  set_time(at, into->mutable_time());
  into->set_availablebytes(to_signed(stat.available_bytes));
  into->set_capacitybytes(to_signed(stat.capacity_bytes));
  into->set_inodes(to_signed(stat.inodes));
  into->set_inodesfree(to_signed(stat.inodes_free));
}

void fill_used(const DiskUsage& used, stats::FsStats* into) {
  into->set_usedbytes(to_signed(used.bytes));
  into->set_inodesused(to_signed(used.inodes));
}

// A part of a file system: what it uses of what the whole has.
void fill_part(const std::optional<FileSystem>& whole, const DiskUsage& used, stats::FsStats* into) {
  if (whole) fill_fs(whole->stat, used.at, into);
  set_time(used.at, into->mutable_time());
  fill_used(used, into);
}

// A whole file system.
void fill_whole(const FileSystem& from, WallTime at, stats::FsStats* into) {
  fill_fs(from.stat, at, into);
  const uint64_t free = std::max(from.stat.free_bytes, from.stat.available_bytes);
  into->set_usedbytes(to_signed(from.stat.capacity_bytes - std::min(free, from.stat.capacity_bytes)));
  into->set_inodesused(to_signed(from.stat.inodes - std::min(from.stat.inodes_free, from.stat.inodes)));
}

void fill_node(const Snapshot& snapshot, bool light, stats::NodeStats* into) {
  const NodeUsage& node = snapshot.node;
  into->set_nodename(node.name);
  set_time(node.booted_at, into->mutable_starttime());
  const std::optional<uint64_t> capacity =
      node.memory_capacity_bytes > 0 ? std::optional(node.memory_capacity_bytes) : std::nullopt;
  CgroupUsage root = node.root;
  // The root has no limit: what is available is what the machine has.
  if (root.memory) root.memory->limit_bytes.reset();
  if (root.memory && node.swap_capacity_bytes > 0) root.memory->swap_limit_bytes = node.swap_capacity_bytes;
  fill_cgroup(root, light, capacity, into);
  for (const SystemContainer& system : node.system) {
    stats::ContainerStats* container = into->add_systemcontainers();
    container->set_name(system.name);
    set_time(system.cgroup.started_at, container->mutable_starttime());
    fill_cgroup(system.cgroup, light, std::nullopt, container);
  }
  if (light) return;
  fill_network(node.network, snapshot.wall, into->mutable_network());
  if (node.root_fs) fill_whole(*node.root_fs, snapshot.wall, into->mutable_fs());
  if (node.image_fs) {
    fill_whole(*node.image_fs, snapshot.wall, into->mutable_runtime()->mutable_imagefs());
    if (node.images) fill_used(*node.images, into->mutable_runtime()->mutable_imagefs());
  }
  if (node.container_fs) {
    fill_whole(*node.container_fs, snapshot.wall, into->mutable_runtime()->mutable_containerfs());
    if (node.layers) fill_used(*node.layers, into->mutable_runtime()->mutable_containerfs());
  }
  if (node.max_pids == 0) return;
  set_time(snapshot.wall, into->mutable_rlimit()->mutable_time());
  into->mutable_rlimit()->set_maxpid(to_signed(node.max_pids));
  into->mutable_rlimit()->set_curproc(to_signed(node.pids));
}

void fill_container(const NodeUsage& node, const ContainerUsage& from, bool light, stats::ContainerStats* into) {
  into->set_name(from.name.value);
  set_time(from.cgroup.started_at, into->mutable_starttime());
  fill_cgroup(from.cgroup, light, std::nullopt, into);
  if (light) return;
  if (from.rootfs) fill_part(node.container_fs, *from.rootfs, into->mutable_rootfs());
  if (from.logs) fill_part(node.root_fs, *from.logs, into->mutable_logs());
}

// The sums of a pod without a cgroup.
void fill_sums(const PodUsage& pod, stats::PodStats* into) {
  uint64_t cores = 0;
  bool any_rate = false;
  for (const ContainerUsage& container : pod.containers) {
    if (!container.cgroup.cpu || !container.cgroup.cpu->nano_cores) continue;
    any_rate = true;
    cores += *container.cgroup.cpu->nano_cores;
  }
  if (const auto cpu = pod.cpu_usage_ns()) {
    set_time(pod.at(), into->mutable_cpu()->mutable_time());
    into->mutable_cpu()->set_usagecorenanoseconds(to_signed(*cpu));
    if (any_rate) into->mutable_cpu()->set_usagenanocores(to_signed(cores));
  }
  if (const auto memory = pod.working_set_bytes()) {
    set_time(pod.at(), into->mutable_memory()->mutable_time());
    into->mutable_memory()->set_workingsetbytes(to_signed(*memory));
  }
}

void fill_pod(const Snapshot& snapshot, const PodUsage& pod, bool light, stats::PodStats* into) {
  into->mutable_podref()->set_name(pod.key.name);
  into->mutable_podref()->set_namespace_(pod.key.ns);
  into->mutable_podref()->set_uid(pod.uid.value);
  set_time(pod.started_at, into->mutable_starttime());
  for (const ContainerUsage& container : pod.containers) {
    fill_container(snapshot.node, container, light, into->add_containers());
  }
  if (pod.cgroup) {
    fill_cgroup(*pod.cgroup, light, std::nullopt, into);
  } else {
    fill_sums(pod, into);
  }
  if (light) return;
  if (!pod.network.empty()) fill_network(pod.network, pod.at(), into->mutable_network());
  for (const VolumeUsage& volume : pod.volumes) {
    stats::VolumeStats* one = into->add_volume();
    one->set_name(volume.name);
    fill_part(volume.in_memory ? std::nullopt : snapshot.node.root_fs, volume.used, one->mutable_fs());
    if (volume.claim.empty()) continue;
    one->mutable_pvcref()->set_name(volume.claim);
    one->mutable_pvcref()->set_namespace_(pod.key.ns);
  }
  if (pod.local_storage) fill_part(snapshot.node.root_fs, *pod.local_storage, into->mutable_ephemeralstorage());
  into->mutable_processstats()->set_process_count(to_signed(pod.processes()));
}

}  // namespace

stats::Summary to_summary(const Snapshot& snapshot, bool only_cpu_and_memory) {
  stats::Summary summary;
  fill_node(snapshot, only_cpu_and_memory, summary.mutable_node());
  for (const PodUsagePtr& pod : snapshot.pods) fill_pod(snapshot, *pod, only_cpu_and_memory, summary.add_pods());
  return summary;
}

std::string summary_json(const Snapshot& snapshot, bool only_cpu_and_memory) {
  return api::encode_json(to_summary(snapshot, only_cpu_and_memory));
}

}  // namespace podwright::usage
