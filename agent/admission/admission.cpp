#include "agent/admission/admission.h"

#include <algorithm>
#include <set>

#include "api/amount.h"
#include "api/resources.h"

namespace podwright::admission {
namespace {

Decision never(std::string reason, std::string message) {
  return {Decision::Answer::kNever, std::move(reason), std::move(message)};
}

int64_t of(const api::Amounts& amounts, const std::string& name) {
  const auto found = amounts.find(name);
  return found == amounts.end() ? 0 : found->second;
}

std::optional<Decision> check_node_name(const core::Pod& pod, const NodeCapacity& node) {
  if (pod.spec().nodename().empty() || pod.spec().nodename() == node.node_name) return std::nullopt;
  return never("NodeName", fmt::format("Predicate NodeName failed: the pod is for node {:?}", pod.spec().nodename()));
}

std::optional<Decision> check_selectors(const core::Pod& pod, const NodeCapacity& node) {
  if (pods::is_static(pod)) return std::nullopt;
  for (const auto& [key, value] : pod.spec().nodeselector()) {
    const auto found = node.labels.find(key);
    if (found == node.labels.end() || found->second != value) {
      return never("NodeAffinity", "Predicate NodeAffinity failed: node(s) didn't match Pod's node affinity/selector");
    }
  }
  return std::nullopt;
}

std::optional<Decision> check_os(const core::Pod& pod, const NodeCapacity& node) {
  if (pod.spec().has_os() && !pod.spec().os().name().empty() && pod.spec().os().name() != "linux") {
    return never("PodOSNotSupported", "Failed to admit pod as the OS field doesn't match node OS");
  }
  const auto wanted = pod.spec().nodeselector().find("kubernetes.io/os");
  const auto label = node.labels.find("kubernetes.io/os");
  if (wanted != pod.spec().nodeselector().end() && wanted->second != "linux" &&
      (label == node.labels.end() || label->second != wanted->second)) {
    return never("PodOSSelectorNodeLabelDoesNotMatch",
                 "Failed to admit pod as the `kubernetes.io/os` label doesn't match node label");
  }
  return std::nullopt;
}

using HostPort = std::tuple<std::string, std::string, int32_t>;  // address, protocol, port

std::vector<HostPort> host_ports(const core::Pod& pod) {
  std::vector<HostPort> ports;
  const auto add = [&ports](const core::Container& container) {
    for (const auto& port : container.ports()) {
      if (port.hostport() <= 0) continue;
      ports.emplace_back(port.hostip().empty() ? "0.0.0.0" : port.hostip(),
                         port.protocol().empty() ? "TCP" : port.protocol(), port.hostport());
    }
  };
  for (const auto& container : pod.spec().initcontainers()) {
    if (container.restartpolicy() == "Always") add(container);
  }
  for (const auto& container : pod.spec().containers()) add(container);
  return ports;
}

bool clash(const HostPort& a, const HostPort& b) {
  const auto& [a_ip, a_protocol, a_port] = a;
  const auto& [b_ip, b_protocol, b_port] = b;
  return a_protocol == b_protocol && a_port == b_port && (a_ip == b_ip || a_ip == "0.0.0.0" || b_ip == "0.0.0.0");
}

std::optional<Decision> check_ports(const core::Pod& pod, const std::vector<pods::PodPtr>& active) {
  const auto wanted = host_ports(pod);
  if (wanted.empty()) return std::nullopt;
  for (const auto& other : active) {
    for (const auto& held : host_ports(*other)) {
      if (std::any_of(wanted.begin(), wanted.end(), [&held](const auto& port) { return clash(port, held); })) {
        return never("NodePorts",
                     fmt::format("Predicate NodePorts failed: node(s) didn't have free ports for the requested pod "
                                 "ports: {} {} is held by pod {}",
                                 std::get<1>(held), std::get<2>(held), pods::full_name(*other)));
      }
    }
  }
  return std::nullopt;
}

std::optional<Decision> out_of(const std::string& resource, int64_t requested, int64_t used, int64_t capacity) {
  if (requested <= 0 || requested <= capacity - used) return std::nullopt;
  return never("OutOf" + resource,
               fmt::format("Node didn't have enough resource: {}, requested: {}, used: {}, capacity: {}", resource,
                           requested, used, capacity));
}

std::optional<Decision> check_resources(const core::Pod& pod, const std::vector<pods::PodPtr>& active,
                                        const NodeCapacity& node) {
  if (auto full = out_of("pods", 1, static_cast<int64_t>(active.size()), node.pods)) return full;
  api::Amounts used;
  for (const auto& other : active) {
    for (const auto& [name, value] : api::effective_requests(*other)) {
      if (__builtin_add_overflow(used[name], value, &used[name])) used[name] = INT64_MAX;
    }
  }
  const api::Amounts wanted = api::effective_requests(pod);
  if (auto full = out_of("cpu", of(wanted, "cpu"), of(used, "cpu"), node.cpu_milli)) return full;
  if (auto full = out_of("memory", of(wanted, "memory"), of(used, "memory"), node.memory_bytes)) return full;
  if (node.ephemeral_bytes > 0) {
    if (auto full = out_of("ephemeral-storage", of(wanted, "ephemeral-storage"), of(used, "ephemeral-storage"),
                           node.ephemeral_bytes)) {
      return full;
    }
  }
  for (const auto& [name, capacity] : node.others) {
    if (auto full = out_of(name, of(wanted, name), of(used, name), capacity)) return full;
  }
  return std::nullopt;
}

std::optional<Decision> check_features(const core::Pod& pod, const NodeCapacity& node) {
  if (pod.spec().securitycontext().supplementalgroupspolicy() == "Strict" && !node.supplemental_groups_policy) {
    return never("SupplementalGroupsPolicyNotSupported",
                 "SupplementalGroupsPolicy=Strict is not supported in this node");
  }
  if (pod.spec().has_hostusers() && !pod.spec().hostusers() && !node.user_namespaces) {
    return never("PodFeatureUnsupported",
                 "hostUsers: false is not supported: the container runtime's handler has no user namespaces");
  }
  return std::nullopt;
}

// Source: pkg/kubelet/sysctl: what is not safe must be allowed by the node, and nothing that a host namespace shares.
std::optional<Decision> check_sysctls(const core::Pod& pod, const NodeCapacity& node) {
  static const std::set<std::string> kSafe = {"kernel.shm_rmid_forced",
                                              "net.ipv4.ip_local_port_range",
                                              "net.ipv4.tcp_syncookies",
                                              "net.ipv4.ping_group_range",
                                              "net.ipv4.ip_unprivileged_port_start",
                                              "net.ipv4.ip_local_reserved_ports",
                                              "net.ipv4.tcp_keepalive_time",
                                              "net.ipv4.tcp_fin_timeout",
                                              "net.ipv4.tcp_keepalive_intvl",
                                              "net.ipv4.tcp_keepalive_probes",
                                              "net.ipv4.tcp_rmem",
                                              "net.ipv4.tcp_wmem"};
  for (const auto& sysctl : pod.spec().securitycontext().sysctls()) {
    std::string name = sysctl.name();
    std::replace(name.begin(), name.end(), '/', '.');
    const bool allowed =
        kSafe.contains(name) ||
        std::any_of(node.allowed_unsafe_sysctls.begin(), node.allowed_unsafe_sysctls.end(), [&name](const auto& p) {
          return p.ends_with('*') ? name.starts_with(p.substr(0, p.size() - 1)) : name == p;
        });
    if (!allowed) return never("SysctlForbidden", fmt::format("forbidden sysctl: \"{}\" not allowlisted", name));
    if (name.starts_with("net.") && pod.spec().hostnetwork()) {
      return never("SysctlForbidden", fmt::format("forbidden sysctl: \"{}\" not allowed with host net enabled", name));
    }
    if ((name.starts_with("kernel.shm") || name.starts_with("kernel.msg") || name == "kernel.sem" ||
         name.starts_with("fs.mqueue.")) &&
        pod.spec().hostipc()) {
      return never("SysctlForbidden", fmt::format("forbidden sysctl: \"{}\" not allowed with host ipc enabled", name));
    }
  }
  return std::nullopt;
}

std::optional<Decision> check_volumes(const core::Pod& pod) {
  for (const auto& volume : pod.spec().volumes()) {
    const auto& source = volume.volumesource();
    if (source.has_gitrepo()) {
      return never("PodFeatureUnsupported",
                   fmt::format("volume {:?}: gitRepo volumes are not supported (they run git on the host); clone in an "
                               "init container into an emptyDir instead",
                               volume.name()));
    }
    if (source.has_iscsi() || source.has_fc()) {
      return never(
          "PodFeatureUnsupported",
          fmt::format("volume {:?}: in-tree iscsi and fc volumes are not supported; use a CSI driver", volume.name()));
    }
  }
  return std::nullopt;
}

// Source: eviction manager, Admit: the taint is of effect NoSchedule and has no value.
bool tolerates_memory_pressure(const core::Pod& pod) {
  return std::any_of(pod.spec().tolerations().begin(), pod.spec().tolerations().end(), [](const auto& t) {
    if (!t.effect().empty() && t.effect() != "NoSchedule") return false;
    if (t.key().empty()) return t.operator_() == "Exists";
    return t.key() == "node.kubernetes.io/memory-pressure" && (t.operator_() == "Exists" || t.value().empty());
  });
}

std::optional<Decision> check_pressure(const core::Pod& pod, const NodeCapacity& node) {
  if (pods::is_critical(pod)) return std::nullopt;
  const auto& p = node.pressure;
  if (!p.memory && !p.disk && !p.pid) return std::nullopt;
  const bool memory_alone = p.memory && !p.disk && !p.pid;
  if (memory_alone && (api::qos_of(pod) != api::Qos::kBestEffort || tolerates_memory_pressure(pod))) {
    return std::nullopt;
  }
  std::string conditions;
  const auto add = [&conditions](bool holds, const char* name) {
    if (holds) conditions += (conditions.empty() ? "" : " ") + std::string(name);
  };
  add(p.memory, "MemoryPressure");
  add(p.disk, "DiskPressure");
  add(p.pid, "PIDPressure");
  return never("Evicted", fmt::format("The node had condition: [{}]. ", conditions));
}

// What depends on the other pods.
std::optional<Decision> check_room(const core::Pod& pod, const std::vector<pods::PodPtr>& others,
                                   const NodeCapacity& node) {
  if (auto no = check_resources(pod, others, node)) return no;
  return check_ports(pod, others);
}

}  // namespace

Decision admit(const core::Pod& pod, const std::vector<pods::PodPtr>& active, const NodeCapacity& node,
               const std::vector<pods::PodPtr>& ending) {
  if (node.shutting_down) return never("NodeShutdown", "Pod was rejected as the node is shutting down.");
  if (auto no = check_pressure(pod, node)) return *no;
  if (auto no = check_sysctls(pod, node)) return *no;
  if (auto no = check_node_name(pod, node)) return *no;
  if (auto no = check_os(pod, node)) return *no;
  if (auto no = check_features(pod, node)) return *no;
  if (auto no = check_volumes(pod)) return *no;
  if (auto no = check_resources(pod, active, node)) return *no;
  if (auto no = check_selectors(pod, node)) return *no;
  if (auto no = check_ports(pod, active)) return *no;
  if (ending.empty()) return {};
  std::vector<pods::PodPtr> all = active;
  all.insert(all.end(), ending.begin(), ending.end());
  if (auto no = check_room(pod, all, node)) {
    no->answer = Decision::Answer::kNotYet;
    return *no;
  }
  return {};
}

}  // namespace podwright::admission
