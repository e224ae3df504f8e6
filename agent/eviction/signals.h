// Signals: what of the node may run out, and how much of it is left. Source:
// pkg/kubelet/eviction/{api/types,helpers}.go.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "agent/usage/snapshot.h"

namespace podwright::eviction {

// In the order in which they are acted on: memory first.
enum class Signal {
  kMemory,             // memory.available
  kAllocatableMemory,  // allocatableMemory.available: of what all pods together may use
  kNodeFs,             // nodefs.available
  kNodeFsInodes,       // nodefs.inodesFree
  kImageFs,            // imagefs.available
  kImageFsInodes,      // imagefs.inodesFree
  kContainerFs,        // containerfs.available
  kContainerFsInodes,  // containerfs.inodesFree
  kPids,               // pid.available
};

// "memory.available".
std::string_view name_of(Signal signal);
std::optional<Signal> signal_from(std::string_view name);
// What is starved, as messages name it: "memory", "ephemeral-storage", "inodes", "pids".
std::string_view resource_of(Signal signal);
bool is_memory(Signal signal);
bool is_disk(Signal signal);    // space or inodes
bool is_inodes(Signal signal);  // of any file system

// How much is left of how much, and when that was read.
struct Level {
  int64_t available = 0, capacity = 0;
  Instant at;
};
using Levels = std::map<Signal, Level>;

// The levels that the snapshot tells; a signal that it does not tell is absent.
Levels levels_of(const usage::Snapshot& snapshot);

// "50Mi" of bytes, "50000" of inodes and processes: how messages show an amount of the signal's resource.
std::string amount_text(Signal signal, int64_t amount);

}  // namespace podwright::eviction
