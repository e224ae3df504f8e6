#include "agent/node_object.h"

#include <algorithm>

namespace podwright {
namespace {

// The release whose kubelet this agent stands in for.
constexpr char kKubeletVersion[] = "v1.36.3";

void set_time(meta::Time* time, WallTime wall) {
  time->set_seconds(std::chrono::duration_cast<std::chrono::seconds>(wall.time_since_epoch()).count());
}

void add_condition(core::Node& node, const std::string& type, bool status, const std::string& reason,
                   const std::string& message) {
  auto* condition = node.mutable_status()->add_conditions();
  condition->set_type(type);
  condition->set_status(status ? "True" : "False");
  condition->set_reason(reason);
  condition->set_message(message);
}

// Source: pkg/kubelet/nodestatus/setters.go.
void add_conditions(core::Node& node, const Agent& agent) {
  const pods::NodePressure& pressure = agent.evictor().pressure();
  const auto pressed = [&node](const char* type, bool yes, const char* good, const char* bad, const char* what) {
    add_condition(node, type, yes, yes ? bad : good,
                  fmt::format("kubelet has {}{}", yes ? "" : "sufficient ", yes ? bad : what));
  };
  pressed("MemoryPressure", pressure.memory, "KubeletHasSufficientMemory", "KubeletHasInsufficientMemory",
          "memory available");
  pressed("DiskPressure", pressure.disk, "KubeletHasNoDiskPressure", "KubeletHasDiskPressure", "disk space available");
  pressed("PIDPressure", pressure.pid, "KubeletHasSufficientPID", "KubeletHasInsufficientPID", "PID available");

  std::string why;
  const auto add = [&why](const std::string& text) { why += (why.empty() ? "" : ", ") + text; };
  if (!agent.in_control()) add("waiting for " + agent.waiting_for());
  const table::TableState table = agent.table_state();
  if (!table.writable) add("the pod table cannot be written, no container is started: " + table.problem);
  for (const cri::Condition& condition : agent.node().runtime.conditions) {
    if (condition.status || (condition.type != "RuntimeReady" && condition.type != "NetworkReady")) continue;
    const char* part = condition.type == "NetworkReady" ? " network" : "";
    add(fmt::format("container runtime{} not ready: {}", part, condition.message));
  }
  add_condition(node, "Ready", why.empty(), why.empty() ? "KubeletReady" : "KubeletNotReady",
                why.empty() ? "kubelet is posting ready status" : why);
}

void set_amounts(core::Node& node, const Agent& agent) {
  const Machine& machine = agent.machine();
  const admission::NodeCapacity left = node_capacity(agent.config(), machine);
  auto& capacity = *node.mutable_status()->mutable_capacity();
  auto& allocatable = *node.mutable_status()->mutable_allocatable();
  capacity["cpu"].set_string(fmt::format("{}", machine.cores));
  capacity["memory"].set_string(fmt::format("{}Ki", machine.memory_bytes / 1024));
  capacity["pods"].set_string(fmt::format("{}", left.pods));
  allocatable["cpu"].set_string(left.cpu_milli % 1000 == 0 ? fmt::format("{}", left.cpu_milli / 1000)
                                                           : fmt::format("{}m", left.cpu_milli));
  allocatable["memory"].set_string(fmt::format("{}Ki", std::max<int64_t>(left.memory_bytes, 0) / 1024));
  allocatable["pods"].set_string(fmt::format("{}", left.pods));
}

}  // namespace

std::shared_ptr<const core::Node> node_object(Agent& agent) {
  auto node = std::make_shared<core::Node>();
  const containers::NodeFacts& facts = agent.node();
  const Machine& machine = agent.machine();
  auto* metadata = node->mutable_metadata();
  metadata->set_name(facts.node_name);
  metadata->set_resourceversion(fmt::format("{}", agent.board().version()));
  set_time(metadata->mutable_creationtimestamp(), agent.started_at());
  for (const auto& [key, value] : node_capacity(agent.config(), machine).labels) {
    (*metadata->mutable_labels())[key] = value;
  }
  add_conditions(*node, agent);
  set_amounts(*node, agent);
  for (const std::string& ip : facts.host_ips) {
    auto* address = node->mutable_status()->add_addresses();
    address->set_type("InternalIP");
    address->set_address(ip);
  }
  auto* host_name = node->mutable_status()->add_addresses();
  host_name->set_type("Hostname");
  host_name->set_address(facts.node_name);
  auto* info = node->mutable_status()->mutable_nodeinfo();
  info->set_machineid(machine.machine_id);
  info->set_bootid(machine.boot.value);
  info->set_kernelversion(machine.kernel);
  info->set_osimage(machine.os_image);
  info->set_containerruntimeversion(agent.runtime_version());
  info->set_kubeletversion(kKubeletVersion);
  info->set_operatingsystem("linux");
  info->set_architecture(machine.architecture);
  return node;
}

}  // namespace podwright
