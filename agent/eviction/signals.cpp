#include "agent/eviction/signals.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>

namespace podwright::eviction {
namespace {

constexpr Signal kAll[] = {Signal::kMemory,       Signal::kAllocatableMemory, Signal::kNodeFs,
                           Signal::kNodeFsInodes, Signal::kImageFs,           Signal::kImageFsInodes,
                           Signal::kContainerFs,  Signal::kContainerFsInodes, Signal::kPids};

int64_t to_signed(uint64_t value) {
  return static_cast<int64_t>(std::min<uint64_t>(value, INT64_MAX));
}

void add_file_system(const std::optional<usage::FileSystem>& from, Signal space, Signal inodes, Instant at,
                     Levels& into) {
  if (!from) return;
  const FsStat& stat = from->stat;
  if (stat.capacity_bytes > 0) into[space] = {to_signed(stat.available_bytes), to_signed(stat.capacity_bytes), at};
  // Some file systems (btrfs) have no fixed number of inodes.
  if (stat.inodes > 0) into[inodes] = {to_signed(stat.inodes_free), to_signed(stat.inodes), at};
}

// What all pods together may use, where their cgroup is bounded.
void add_allocatable(const usage::NodeUsage& node, Levels& into) {
  for (const usage::SystemContainer& system : node.system) {
    if (system.name != "pods" || !system.cgroup.memory || !system.cgroup.memory->limit_bytes) continue;
    const int64_t limit = to_signed(*system.cgroup.memory->limit_bytes);
    const int64_t used = to_signed(system.cgroup.memory->working_set_bytes);
    into[Signal::kAllocatableMemory] = {std::max<int64_t>(limit - used, 0), limit, system.cgroup.at_instant};
  }
}

}  // namespace

std::string_view name_of(Signal signal) {
  switch (signal) {
    case Signal::kMemory: return "memory.available";
    case Signal::kAllocatableMemory: return "allocatableMemory.available";
    case Signal::kNodeFs: return "nodefs.available";
    case Signal::kNodeFsInodes: return "nodefs.inodesFree";
    case Signal::kImageFs: return "imagefs.available";
    case Signal::kImageFsInodes: return "imagefs.inodesFree";
    case Signal::kContainerFs: return "containerfs.available";
    case Signal::kContainerFsInodes: return "containerfs.inodesFree";
    case Signal::kPids: return "pid.available";
  }
  std::abort();  // not one of the enumerators: memory is broken
}

std::optional<Signal> signal_from(std::string_view name) {
  for (const Signal signal : kAll) {
    if (name_of(signal) == name) return signal;
  }
  return std::nullopt;
}

std::string_view resource_of(Signal signal) {
  switch (signal) {
    case Signal::kMemory:
    case Signal::kAllocatableMemory: return "memory";
    case Signal::kNodeFs:
    case Signal::kImageFs:
    case Signal::kContainerFs: return "ephemeral-storage";
    case Signal::kNodeFsInodes:
    case Signal::kImageFsInodes:
    case Signal::kContainerFsInodes: return "inodes";
    case Signal::kPids: return "pids";
  }
  std::abort();  // not one of the enumerators: memory is broken
}

bool is_memory(Signal signal) {
  return signal == Signal::kMemory || signal == Signal::kAllocatableMemory;
}

bool is_disk(Signal signal) {
  return !is_memory(signal) && signal != Signal::kPids;
}

bool is_inodes(Signal signal) {
  return resource_of(signal) == "inodes";
}

Levels levels_of(const usage::Snapshot& snapshot) {
  Levels levels;
  const usage::NodeUsage& node = snapshot.node;
  if (node.root.memory && node.memory_capacity_bytes > 0) {
    const int64_t capacity = to_signed(node.memory_capacity_bytes);
    const int64_t used = to_signed(node.root.memory->working_set_bytes);
    levels[Signal::kMemory] = {std::max<int64_t>(capacity - used, 0), capacity, node.root.at_instant};
  }
  add_allocatable(node, levels);
  add_file_system(node.root_fs, Signal::kNodeFs, Signal::kNodeFsInodes, snapshot.at, levels);
  add_file_system(node.image_fs, Signal::kImageFs, Signal::kImageFsInodes, snapshot.at, levels);
  add_file_system(node.container_fs, Signal::kContainerFs, Signal::kContainerFsInodes, snapshot.at, levels);
  if (node.max_pids > 0) {
    const int64_t most = to_signed(node.max_pids);
    levels[Signal::kPids] = {std::max<int64_t>(most - to_signed(node.pids), 0), most, snapshot.at};
  }
  return levels;
}

std::string amount_text(Signal signal, int64_t amount) {
  if (is_inodes(signal) || signal == Signal::kPids) return fmt::format("{}", amount);
  constexpr const char* kUnits[] = {"", "Ki", "Mi", "Gi", "Ti", "Pi"};
  std::size_t unit = 0;
  while (unit + 1 < std::size(kUnits) && amount != 0 && amount % 1024 == 0) {
    amount /= 1024;
    ++unit;
  }
  return fmt::format("{}{}", amount, kUnits[unit]);
}

}  // namespace podwright::eviction
