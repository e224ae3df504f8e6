#include "agent/usage/machine.h"

#include <algorithm>
#include <set>

#include "agent/usage/cgroup_reader.h"
#include "agent/usage/parse.h"

namespace podwright::usage {
namespace {

constexpr char kCpus[] = "/sys/devices/system/cpu";
constexpr char kNodes[] = "/sys/devices/system/node";
// Caches of one CPU; none has more than a few.
constexpr int kCachesOfCpu = 16;
// Source: the kernel's greatest NR_CPUS.
constexpr uint32_t kMostCpus = 8'192;

std::string line_of(Tree& tree, const std::string& path) {
  auto text = read_text(tree, path).value_or("");
  while (!text.empty() && (text.back() == '\n' || text.back() == ' ')) text.pop_back();
  return text;
}

uint64_t number_of(Tree& tree, const std::string& path) {
  return to_number(line_of(tree, path)).value_or(0);
}

// The number behind `prefix`; nothing where the name is none such ("cpufreq").
std::optional<uint32_t> number_behind(std::string_view name, std::string_view prefix) {
  if (!name.starts_with(prefix)) return std::nullopt;
  const auto number = to_number(name.substr(prefix.size()));
  return number ? std::optional(static_cast<uint32_t>(*number)) : std::nullopt;
}

// "48K", "2M".
uint64_t cache_size(std::string_view text) {
  uint64_t unit = 1;
  if (text.ends_with('K')) unit = 1ULL << 10;
  if (text.ends_with('M')) unit = 1ULL << 20;
  if (unit > 1) text.remove_suffix(1);
  return to_number(text).value_or(0) * unit;
}

std::vector<uint32_t> numbered(Tree& tree, const char* directory, std::string_view prefix) {
  std::vector<uint32_t> numbers;
  const auto entries = tree.list(directory);
  if (!entries.ok()) return numbers;
  for (const DirectoryEntry& entry : *entries) {
    if (const auto number = number_behind(entry.name, prefix)) numbers.push_back(*number);
  }
  std::sort(numbers.begin(), numbers.end());
  return numbers;
}

void read_caches(Tree& tree, const CpuThread& cpu, Machine& into) {
  for (int index = 0; index < kCachesOfCpu; ++index) {
    const std::string at = fmt::format("{}/cpu{}/cache/index{}", kCpus, cpu.thread, index);
    const uint64_t bytes = cache_size(line_of(tree, at + "/size"));
    if (bytes == 0) return;
    CpuCache cache{.type = line_of(tree, at + "/type"),
                   .level = static_cast<uint32_t>(number_of(tree, at + "/level")),
                   .id = static_cast<uint32_t>(number_of(tree, at + "/id")),
                   .node = cpu.node,
                   .core = cpu.core,
                   .shared = parse_cpu_list(line_of(tree, at + "/shared_cpu_list")).size() > cpu.siblings,
                   .bytes = bytes};
    const bool known = std::any_of(into.caches.begin(), into.caches.end(), [&](const CpuCache& other) {
      return other.type == cache.type && other.level == cache.level && other.id == cache.id && other.node == cache.node;
    });
    if (!known) into.caches.push_back(std::move(cache));
  }
}

void read_cpus(Tree& tree, const std::map<uint32_t, uint32_t>& node_of_cpu, Machine& into) {
  for (const uint32_t number : numbered(tree, kCpus, "cpu")) {
    const std::string topology = fmt::format("{}/cpu{}/topology", kCpus, number);
    if (!tree.info(topology).ok()) continue;  // offline
    CpuThread cpu{.thread = number};
    cpu.core = static_cast<uint32_t>(number_of(tree, topology + "/core_id"));
    cpu.socket = static_cast<uint32_t>(number_of(tree, topology + "/physical_package_id"));
    const auto node = node_of_cpu.find(number);
    if (node != node_of_cpu.end()) cpu.node = node->second;
    cpu.siblings = static_cast<uint32_t>(
        std::max<std::size_t>(parse_cpu_list(line_of(tree, topology + "/thread_siblings_list")).size(), 1));
    into.threads.push_back(cpu);
    read_caches(tree, cpu, into);
  }
}

NumaNode read_numa_node(Tree& tree, uint32_t number) {
  const std::string at = fmt::format("{}/node{}", kNodes, number);
  NumaNode node{.id = number};
  // "Node 0 MemTotal:  1024 kB"
  const std::string meminfo = read_text(tree, at + "/meminfo").value_or("");
  for (const std::string_view line : lines_of(meminfo)) {
    const auto words = words_of(line);
    if (words.size() >= 4 && words[2] == "MemTotal:") node.memory_bytes = to_number(words[3]).value_or(0) * 1024;
  }
  const std::string distance = line_of(tree, at + "/distance");
  for (const std::string_view word : words_of(distance)) {
    node.distances.push_back(to_number(word).value_or(0));
  }
  const auto sizes = tree.list(at + "/hugepages");
  if (!sizes.ok()) return node;
  for (const DirectoryEntry& entry : *sizes) {
    std::string_view name = entry.name;
    if (!name.ends_with("kB")) continue;
    name.remove_suffix(2);
    const auto kilobytes = number_behind(name, "hugepages-");
    if (kilobytes)
      node.huge_pages[*kilobytes] = number_of(tree, join_path(at + "/hugepages", entry.name) + "/nr_hugepages");
  }
  return node;
}

// PRETTY_NAME="..." of os-release(5).
std::string os_version(Tree& tree) {
  for (const char* path : {"/etc/os-release", "/usr/lib/os-release"}) {
    const std::string text = read_text(tree, path).value_or("");
    for (std::string_view line : lines_of(text)) {
      constexpr std::string_view kKey = "PRETTY_NAME=";
      if (!line.starts_with(kKey)) continue;
      line.remove_prefix(kKey.size());
      if (line.size() >= 2 && (line.front() == '"' || line.front() == '\'')) line = line.substr(1, line.size() - 2);
      return std::string(line);
    }
  }
  return {};
}

}  // namespace

std::size_t Machine::cores() const {
  std::set<std::pair<uint32_t, uint32_t>> seen;
  for (const CpuThread& thread : threads) seen.emplace(thread.socket, thread.core);
  return seen.size();
}

std::size_t Machine::sockets() const {
  std::set<uint32_t> seen;
  for (const CpuThread& thread : threads) seen.insert(thread.socket);
  return seen.size();
}

std::vector<uint32_t> parse_cpu_list(std::string_view text) {
  std::vector<uint32_t> cpus;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find(','), text.size());
    const std::string_view part = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    const auto dash = part.find('-');
    const auto first = to_number(part.substr(0, dash));
    const auto last = dash == std::string_view::npos ? first : to_number(part.substr(dash + 1));
    if (!first || !last) continue;
    for (uint64_t cpu = *first; cpu <= *last && cpu < kMostCpus; ++cpu) cpus.push_back(static_cast<uint32_t>(cpu));
  }
  return cpus;
}

Machine read_machine(Tree& tree) {
  Machine machine;
  machine.boot_id = line_of(tree, "/proc/sys/kernel/random/boot_id");
  machine.machine_id = line_of(tree, "/etc/machine-id");
  machine.system_uuid = line_of(tree, "/sys/class/dmi/id/product_uuid");
  if (machine.system_uuid.empty()) machine.system_uuid = machine.machine_id;
  machine.kernel_version = line_of(tree, "/proc/sys/kernel/osrelease");
  machine.os_version = os_version(tree);
  if (auto text = read_text(tree, "/proc/meminfo")) {
    const KeyedNumbers numbers(*std::move(text));
    machine.memory_bytes = numbers.get("MemTotal");
    machine.swap_bytes = numbers.get("SwapTotal");
  }
  std::map<uint32_t, uint32_t> node_of_cpu;
  for (const uint32_t number : numbered(tree, kNodes, "node")) {
    machine.nodes.push_back(read_numa_node(tree, number));
    for (const uint32_t cpu : parse_cpu_list(line_of(tree, fmt::format("{}/node{}/cpulist", kNodes, number)))) {
      node_of_cpu[cpu] = number;
    }
  }
  read_cpus(tree, node_of_cpu, machine);
  return machine;
}

}  // namespace podwright::usage
