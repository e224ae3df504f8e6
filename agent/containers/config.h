// From a pod to what the runtime is handed: sandbox and container configurations, environment, /etc/hosts, DNS,
// security context, log paths. Pure where it can be; what cannot be honoured is an error that names the field
// (CreateContainerConfigError), never ignored.
#pragma once

#include <absl/status/statusor.h>

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "agent/objects/objects.h"
#include "agent/pods/containers.h"
#include "agent/pods/record.h"
#include "agent/volumes/pod_volumes.h"
#include "base/files/tree.h"
#include "cri/types.h"

namespace podwright::containers {

// What is the same for every pod of the node.
struct NodeFacts {
  std::string node_name;
  std::string host_ip;                // first InternalIP, or --node-ip, or the address of the default route
  std::vector<std::string> host_ips;  // primary first
  std::string cluster_domain;
  std::vector<std::string> cluster_dns;
  // Of the node's resolver file, read at start and when it changes.
  std::vector<std::string> host_nameservers, host_searches, host_options;
  std::string pod_logs_dir = "/var/log/pods";
  std::string container_logs_dir = "/var/log/containers";
  std::string root = "/var/lib/kubelet";
  std::string seccomp_root = "/var/lib/kubelet/seccomp";
  // Length of the range of IDs of a pod with a user namespace.
  uint32_t user_namespace_ids = 65536;
  bool seccomp_default = false;
  bool cgroup_v2 = false;
  bool cpu_cfs_quota = true;
  std::chrono::microseconds cpu_cfs_quota_period{100000};
  int64_t memory_capacity_bytes = 0;
  int64_t cpu_allocatable_milli = 0;
  int64_t memory_allocatable_bytes = 0;
  // Whether a negative oom_score_adj can be set here (CAP_SYS_RESOURCE).
  bool may_lower_oom_score = true;
  std::vector<std::string> allowed_unsafe_sysctls;
  cri::RuntimeStatus runtime;  // handlers and features
};

struct Resolved {
  cri::SandboxConfig config;
  // Warnings for events: {reason, message}, such as DNSConfigForming or MissingClusterDNS.
  std::vector<std::pair<std::string, std::string>> warnings;
};

// The sandbox of a pod. `cgroup_parent` from agent/cgroups.
absl::StatusOr<Resolved> make_sandbox_config(const pods::PodPtr& pod, uint32_t attempt, const NodeFacts& node,
                                             const std::string& cgroup_parent,
                                             const std::optional<uint32_t>& userns_base);

struct ContainerInputs {
  pods::PodPtr pod;
  pods::ContainerRef container;
  uint32_t restart_count = 0;
  std::string image_ref;
  cri::Image image;  // its user, for runAsNonRoot
  std::vector<std::string> pod_ips;
  // The environment as resolve_environment() gave it, and the volume mounts.
  std::vector<std::pair<std::string, std::string>> env;
  volumes::ContainerMounts volume_mounts;
  // Of the target of an ephemeral container.
  ContainerId target;
  std::optional<uint32_t> userns_base;
  // Host path of the file mounted as termination message; empty: none.
  std::string termination_message_path;
  // Host path of the managed hosts file; empty: none.
  std::string hosts_path;
  // From device plugins.
  std::vector<cri::Mount> device_mounts;
  std::vector<cri::Device> devices;
  std::vector<std::string> cdi_devices;
  std::map<std::string, std::string> device_annotations;
};

// env, envFrom, downward API, $(VAR) expansion, precedence (behaviours 24). A missing required object or key is an
// error with upstream's words.
absl::StatusOr<std::vector<std::pair<std::string, std::string>>> resolve_environment(
    const pods::PodPtr& pod, const core::Container& container, const NodeFacts& node,
    const std::vector<std::string>& pod_ips, objects::Objects& objects);

absl::StatusOr<cri::ContainerConfig> make_container_config(const ContainerInputs& inputs, const NodeFacts& node);

// Text of the managed hosts file (behaviours 30).
std::string make_hosts_file(const core::Pod& pod, const NodeFacts& node, const std::vector<std::string>& pod_ips,
                            const std::string& host_hosts_file);

// The host name and the domain of a pod, truncated as upstream does; an error where setHostnameAsFQDN cannot hold.
struct HostName {
  std::string host, domain;
};
absl::StatusOr<HostName> hostname_of(const core::Pod& pod, const NodeFacts& node);

// /var/log/pods/<ns>_<name>_<uid>, its <container>/<count>.log, and the name of the link in /var/log/containers.
std::string pod_log_dir(const NodeFacts& node, const PodKey& key, const PodUid& uid);
std::string container_log_path(const ContainerName& name, uint32_t restart_count);
std::string container_log_link(const NodeFacts& node, const PodKey& key, const ContainerName& name,
                               const ContainerId& id);

// The restart count that a log directory's file names tell: the highest N of N.log* plus 1, else 0.
uint32_t restart_count_from_logs(const std::vector<DirectoryEntry>& entries);

}  // namespace podwright::containers
