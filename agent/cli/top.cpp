// top pods, top node: what they use, from the agent's statistics.
#include <fmt/format.h>

#include <cstdio>
#include <nlohmann/json.hpp>

#include "agent/cli/command.h"
#include "agent/cli/table.h"

namespace podwright::cli {
namespace {

using Json = nlohmann::json;

std::string cores_text(uint64_t nano_cores) {
  return fmt::format("{}m", (nano_cores + 999'999) / 1'000'000);
}

std::string memory_text(uint64_t bytes) {
  return fmt::format("{}Mi", bytes >> 20);
}

// "<unknown>" where the whole is not told.
std::string part_text(uint64_t part, uint64_t whole) {
  return whole == 0 ? "<unknown>" : fmt::format("{}%", part * 100 / whole);
}

uint64_t number_at(const Json& object, const char* group, const char* key) {
  const auto found = object.find(group);
  if (found == object.end() || !found->is_object()) return 0;
  return found->value(key, uint64_t{0});
}

struct PodsShown {
  bool all_namespaces = false;
  bool each_container = false;
  std::string ns;
};

void add_pod(const Json& pod, const PodsShown& shown, Table& table) {
  const Json ref = pod.value("podRef", Json::object());
  const std::string ns = ref.value("namespace", ""), name = ref.value("name", "");
  if (!shown.all_namespaces && ns != shown.ns) return;
  const auto add = [&](std::vector<std::string> row) {
    if (shown.all_namespaces) row.insert(row.begin(), ns);
    table.add(std::move(row));
  };
  uint64_t cpu = 0, memory = 0;
  for (const Json& container : pod.value("containers", Json::array())) {
    const uint64_t own_cpu = number_at(container, "cpu", "usageNanoCores");
    const uint64_t own_memory = number_at(container, "memory", "workingSetBytes");
    cpu += own_cpu;
    memory += own_memory;
    if (shown.each_container) add({name, container.value("name", ""), cores_text(own_cpu), memory_text(own_memory)});
  }
  if (!shown.each_container) add({name, cores_text(cpu), memory_text(memory)});
}

int top_pods(const Command& command, const Json& summary) {
  const PodsShown shown{command.all_namespaces(), command.flags.is_set("containers"), command.ns()};
  std::vector<std::string> header = {shown.each_container ? "POD" : "NAME"};
  if (shown.all_namespaces) header.insert(header.begin(), "NAMESPACE");
  if (shown.each_container) header.push_back("NAME");
  header.insert(header.end(), {"CPU(cores)", "MEMORY(bytes)"});
  Table table(header);
  for (const Json& pod : summary.value("pods", Json::array())) add_pod(pod, shown, table);
  if (!table.has_rows()) {
    const std::string where = shown.all_namespaces ? "" : fmt::format(" in {} namespace.", shown.ns);
    std::fputs(fmt::format("No resources found{}\n", where).c_str(), stderr);
    return 0;
  }
  std::fputs(table.text().c_str(), stdout);
  return 0;
}

int top_node(const Json& summary) {
  const Json node = summary.value("node", Json::object());
  const uint64_t memory = number_at(node, "memory", "workingSetBytes");
  const uint64_t disk = number_at(node, "fs", "usedBytes");
  Table table({"NAME", "CPU(cores)", "MEMORY(bytes)", "MEMORY(%)", "DISK(bytes)", "DISK(%)"});
  table.add({node.value("nodeName", ""), cores_text(number_at(node, "cpu", "usageNanoCores")), memory_text(memory),
             part_text(memory, memory + number_at(node, "memory", "availableBytes")), memory_text(disk),
             part_text(disk, number_at(node, "fs", "capacityBytes"))});
  std::fputs(table.text().c_str(), stdout);
  return 0;
}

}  // namespace

int top(const Command& command) {
  const std::string what = command.words.empty() ? std::string() : command.words[0];
  const bool node = what == "no" || what.starts_with("node");
  if (!node && !what.starts_with("po")) return usage("top of what? podwright top pods, or podwright top node");
  const auto body = fetch(command.client, "/stats/summary");
  if (!body.ok()) return fail(body.status());
  const Json summary = Json::parse(*body, nullptr, false);
  if (!summary.is_object()) return fail(absl::InternalError("the agent's statistics are no JSON"));
  return node ? top_node(summary) : top_pods(command, summary);
}

}  // namespace podwright::cli
