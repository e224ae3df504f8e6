// Snapshot: what the node, its system cgroups, its pods and their containers use, as it was read at one time. One
// snapshot feeds the statistics page, the metrics and the eviction of pods, so that all of them tell the same.
//
// Counters are the kernel's, from the start of the cgroup on. What a machine does not tell is absent, never zero.
// Immutable once published; any thread may read it.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "agent/pods/pod.h"
#include "api/ids.h"
#include "base/files/tree.h"
#include "base/time/time.h"

namespace podwright::usage {

// How much is read. Each depth has all of those before it.
enum class Depth {
  kResources,  // cpu, memory, swap, numbers of processes, file systems
  kFull,
};

// One line of a pressure file: how long something waited for the resource, and the part of the time, in percent, over
// the last 10, 60 and 300 s.
struct Stall {
  uint64_t total_us = 0;
  double avg10 = 0, avg60 = 0, avg300 = 0;
  bool operator==(const Stall&) const = default;
};
struct Pressure {
  Stall some, full;
  bool operator==(const Pressure&) const = default;
};

struct CpuUsage {
  uint64_t usage_ns = 0, user_ns = 0, system_ns = 0;
  // Billionths of a core, over the time since the sample before; absent at the first one.
  std::optional<uint64_t> nano_cores;
  // Of the bandwidth limit.
  uint64_t periods = 0, throttled_periods = 0, throttled_ns = 0, burst_periods = 0, burst_ns = 0;
  // What is set, in terms of cgroup v1. A quota is absent where there is none.
  std::optional<uint64_t> shares, period_us, quota_us;
  std::optional<Pressure> pressure;
};

struct MemoryUsage {
  uint64_t usage_bytes = 0;
  // What cannot be dropped under pressure: usage less the file pages that were not used lately.
  uint64_t working_set_bytes = 0;
  uint64_t rss_bytes = 0, cache_bytes = 0, mapped_file_bytes = 0, kernel_bytes = 0;
  uint64_t active_file_bytes = 0, inactive_file_bytes = 0;
  uint64_t max_usage_bytes = 0;
  // Times that the limit was met.
  uint64_t limit_hits = 0;
  uint64_t page_faults = 0, major_page_faults = 0;          // with the cgroups below
  uint64_t own_page_faults = 0, own_major_page_faults = 0;  // without
  std::optional<uint64_t> limit_bytes, reservation_bytes;
  // Swap alone, without memory.
  std::optional<uint64_t> swap_bytes, swap_limit_bytes;
  uint64_t oom_kills = 0;
  std::optional<Pressure> pressure;
};

struct DeviceIo {
  uint32_t major = 0, minor = 0;
  std::string name;  // "/dev/sda"; empty where unknown
  uint64_t reads = 0, writes = 0, read_bytes = 0, write_bytes = 0;
};

struct ProcessUsage {
  uint64_t processes = 0, threads = 0;
  std::optional<uint64_t> threads_max;
  // Only at full depth.
  uint64_t open_files = 0, sockets = 0;
  // Soft limit of open files of the first process.
  std::optional<uint64_t> max_open_files;
};

struct InterfaceUsage {
  std::string name;
  uint64_t rx_bytes = 0, rx_packets = 0, rx_errors = 0, rx_dropped = 0;
  uint64_t tx_bytes = 0, tx_packets = 0, tx_errors = 0, tx_dropped = 0;
};

// What one cgroup uses.
struct CgroupUsage {
  std::string path;  // below the hierarchy's mount: "/kubepods/pod1"
  WallTime at;
  Instant at_instant;
  WallTime started_at;  // zero where it is not known
  std::optional<CpuUsage> cpu;
  std::optional<MemoryUsage> memory;
  std::vector<DeviceIo> io;
  std::optional<Pressure> io_pressure;
  std::optional<ProcessUsage> processes;
};

// What a directory tree takes on disk, as of its last whole walk.
struct DiskUsage {
  uint64_t bytes = 0, inodes = 0;
  WallTime at;
  bool operator==(const DiskUsage&) const = default;
};

struct ContainerUsage {
  ContainerName name;
  ContainerId id;
  std::string image;
  CgroupUsage cgroup;
  std::optional<DiskUsage> logs;
  // Its writable layer.
  std::optional<DiskUsage> rootfs;
};

struct VolumeUsage {
  std::string name;
  std::string path;
  // Counts against the pod's local storage: a directory of the node's disk that goes with the pod.
  bool local = false;
  bool in_memory = false;
  std::string claim;  // of a persistent volume; empty otherwise
  DiskUsage used;
  FsStat fs;
};

struct PodUsage {
  PodKey key;
  PodUid uid;
  pods::PodPtr pod;
  WallTime started_at;
  // Absent where the pod has no cgroup of its own (cgroupsPerQOS: false).
  std::optional<CgroupUsage> cgroup;
  // The cgroup that holds the pod's network namespace, with the name that the runtime gave.
  std::optional<CgroupUsage> sandbox;
  SandboxId sandbox_id;
  std::vector<ContainerUsage> containers;
  // Without the loopback interface. Only at full depth.
  std::vector<InterfaceUsage> network;
  std::vector<VolumeUsage> volumes;
  // Logs, writable layers and local volumes together; absent until they were summed up once.
  std::optional<DiskUsage> local_storage;

  // Sums over the containers where the pod has no cgroup.
  std::optional<uint64_t> cpu_usage_ns() const;
  std::optional<uint64_t> working_set_bytes() const;
  std::optional<uint64_t> swap_bytes() const;
  uint64_t processes() const;
  // When its cgroup or the first of its containers was read.
  WallTime at() const;
};
using PodUsagePtr = std::shared_ptr<const PodUsage>;

struct FileSystem {
  std::string device;      // "/dev/sda1"
  std::string mountpoint;  // where it was asked
  uint64_t device_number = 0;
  FsStat stat;
};

// A block device of the machine, as /proc/diskstats counts it.
struct BlockDevice {
  std::string name;  // "/dev/sda"
  uint64_t reads = 0, reads_merged = 0, sectors_read = 0, read_ms = 0;
  uint64_t writes = 0, writes_merged = 0, sectors_written = 0, write_ms = 0;
  uint64_t in_flight = 0, busy_ms = 0, weighted_ms = 0;
};

struct SystemContainer {
  std::string name;  // "kubelet", "runtime", "misc", "pods"
  CgroupUsage cgroup;
};

struct NodeUsage {
  std::string name;
  WallTime booted_at;
  CgroupUsage root;
  uint64_t memory_capacity_bytes = 0;
  uint64_t swap_capacity_bytes = 0, swap_free_bytes = 0;
  std::vector<InterfaceUsage> network;  // only at full depth
  // Of the agent's root directory, of images, and of writable layers.
  std::optional<FileSystem> root_fs, image_fs, container_fs;
  // Images, and writable layers, as the runtime counts them.
  std::optional<DiskUsage> images, layers;
  std::vector<FileSystem> file_systems;  // of the machine's block devices; only at full depth
  std::vector<BlockDevice> disks;        // only at full depth
  uint64_t max_pids = 0, pids = 0;
  std::vector<SystemContainer> system;
  std::vector<CgroupUsage> qos;  // of the classes of pods

  // Images and the agent's directories are on two file systems.
  bool has_image_fs() const { return image_fs && root_fs && image_fs->device_number != root_fs->device_number; }
};

struct Snapshot {
  uint64_t number = 0;
  Depth depth = Depth::kResources;
  Instant at;
  WallTime wall;
  NodeUsage node;
  std::vector<PodUsagePtr> pods;  // by namespace and name
  // Pods that did not answer in time and are left out.
  std::size_t missing = 0;
};
using SnapshotPtr = std::shared_ptr<const Snapshot>;

}  // namespace podwright::usage
