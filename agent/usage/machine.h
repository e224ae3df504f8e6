// What the machine is made of, for the machine_* metrics; read once.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "base/files/tree.h"

namespace podwright::usage {

struct CpuThread {
  uint32_t thread = 0, core = 0, socket = 0, node = 0;
  uint32_t siblings = 1;
};

struct CpuCache {
  std::string type;  // "Data", "Instruction", "Unified"
  uint32_t level = 0, id = 0, node = 0, core = 0;
  bool shared = false;  // of the whole node rather than of a core
  uint64_t bytes = 0;
};

struct NumaNode {
  uint32_t id = 0;
  uint64_t memory_bytes = 0;
  std::map<uint64_t, uint64_t> huge_pages;  // count by page size in kB
  std::vector<uint64_t> distances;          // to the nodes in their order
};

struct Machine {
  std::string boot_id, machine_id, system_uuid;
  std::string kernel_version, os_version;
  uint64_t memory_bytes = 0, swap_bytes = 0;
  std::vector<CpuThread> threads;
  std::vector<CpuCache> caches;
  std::vector<NumaNode> nodes;

  std::size_t cores() const;  // physical
  std::size_t sockets() const;
};

Machine read_machine(Tree& tree);

// "0-3,7": the numbers in it. Pure. Source: the kernel's cpulist format.
std::vector<uint32_t> parse_cpu_list(std::string_view text);

}  // namespace podwright::usage
