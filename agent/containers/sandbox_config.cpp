#include <algorithm>
#include <set>

#include "agent/containers/config.h"
#include "agent/containers/dns.h"
#include "agent/containers/resources.h"
#include "agent/containers/security.h"
#include "api/resources.h"
#include "base/status/annotate.h"

namespace podwright::containers {
namespace {

// Source: k8s.io/kubernetes pkg/kubelet/sysctl, the set that cannot harm other pods or the node.
const std::set<std::string>& safe_sysctls() {
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
  return kSafe;
}

bool is_allowed(const std::string& name, const NodeFacts& node) {
  if (safe_sysctls().contains(name)) return true;
  return std::any_of(node.allowed_unsafe_sysctls.begin(), node.allowed_unsafe_sysctls.end(), [&name](const auto& p) {
    return p.ends_with('*') ? name.starts_with(p.substr(0, p.size() - 1)) : name == p;
  });
}

// A value with a separator could set other parameters in some runtimes (CVE-2022-0811).
bool is_plain(const std::string& value) {
  return std::none_of(value.begin(), value.end(), [](char c) { return c == '+' || c == '\n' || c == '='; });
}

absl::Status set_sysctls(const core::Pod& pod, const NodeFacts& node, cri::SandboxConfig& config) {
  for (const auto& sysctl : pod.spec().securitycontext().sysctls()) {
    std::string name = sysctl.name();
    std::replace(name.begin(), name.end(), '/', '.');
    if (!is_allowed(name, node)) {
      return make_status(absl::StatusCode::kPermissionDenied,
                         "forbidden sysctl: \"{}\" not allowlisted (allow it in allowedUnsafeSysctls)", name);
    }
    if (!is_plain(sysctl.value())) {
      return make_status(absl::StatusCode::kInvalidArgument,
                         "spec.securityContext.sysctls: the value of {} has a character that is not allowed", name);
    }
    config.sysctls[name] = sysctl.value();
  }
  return absl::OkStatus();
}

cri::Protocol to_protocol(const std::string& protocol) {
  if (protocol == "UDP") return cri::Protocol::kUdp;
  if (protocol == "SCTP") return cri::Protocol::kSctp;
  return cri::Protocol::kTcp;
}

void set_ports(const core::Pod& pod, cri::SandboxConfig& config) {
  const auto add = [&config](const core::Container& container) {
    for (const auto& port : container.ports()) {
      config.ports.push_back({to_protocol(port.protocol()), port.containerport(), port.hostport(), port.hostip()});
    }
  };
  for (const auto& container : pod.spec().initcontainers()) {
    if (container.restartpolicy() == "Always") add(container);
  }
  for (const auto& container : pod.spec().containers()) add(container);
}

// What the runtime may use to size the sandbox (of a virtual machine, say).
cri::Resources pod_resources(const core::Pod& pod, const NodeFacts& node) {
  const api::Amounts requests = api::effective_requests(pod);
  const api::Amounts limits = api::effective_limits(pod);
  const auto of = [](const api::Amounts& amounts, const char* name) {
    const auto found = amounts.find(name);
    return found == amounts.end() ? int64_t{0} : found->second;
  };
  cri::Resources resources;
  resources.cpu_shares = milli_to_shares(of(requests, "cpu"));
  if (node.cpu_cfs_quota && of(limits, "cpu") > 0) {
    resources.cpu_period_us = node.cpu_cfs_quota_period.count();
    resources.cpu_quota_us = milli_to_quota(of(limits, "cpu"), resources.cpu_period_us);
  }
  resources.memory_bytes = of(limits, "memory");
  return resources;
}

}  // namespace

absl::StatusOr<Resolved> make_sandbox_config(const pods::PodPtr& pod, uint32_t attempt, const NodeFacts& node,
                                             const std::string& cgroup_parent,
                                             const std::optional<uint32_t>& userns_base) {
  Resolved resolved;
  cri::SandboxConfig& config = resolved.config;
  const PodKey key = pods::key_of(*pod);
  const PodUid uid = pods::uid_of(*pod);
  config.pod = key;
  config.uid = uid;
  config.attempt = attempt;
  if (!pod->spec().hostnetwork()) {
    auto name = hostname_of(*pod, node);
    if (!name.ok()) return name.status();
    config.hostname = name->host;
  }
  config.log_directory = pod_log_dir(node, key, uid);
  config.dns = dns_of(*pod, node, resolved.warnings);
  set_ports(*pod, config);
  for (const auto& [name, value] : pod->metadata().labels()) config.labels[name] = value;
  config.labels[cri::kPodNameLabel] = key.name;
  config.labels[cri::kPodNamespaceLabel] = key.ns;
  config.labels[cri::kPodUidLabel] = uid.value;
  for (const auto& [name, value] : pod->metadata().annotations()) config.annotations[name] = value;
  config.cgroup_parent = cgroup_parent;
  if (absl::Status s = set_sysctls(*pod, node, config); !s.ok()) return s;
  if (absl::Status s = set_sandbox_security(*pod, node, userns_base, config); !s.ok()) return s;
  config.resources = pod_resources(*pod, node);
  if (pod->spec().overhead_size() > 0) {
    cri::Resources overhead;
    const auto cpu = pod->spec().overhead().find("cpu");
    core::Container counted;
    for (const auto& [name, quantity] : pod->spec().overhead())
      (*counted.mutable_resources()->mutable_limits())[name] = quantity;
    if (cpu != pod->spec().overhead().end()) overhead.cpu_shares = milli_to_shares(api::limit_of(counted, "cpu"));
    overhead.memory_bytes = api::limit_of(counted, "memory");
    config.overhead = overhead;
  }
  return resolved;
}

}  // namespace podwright::containers
