// Config: everything the agent is told by flags, KubeletConfiguration and PodwrightConfiguration, read once at start
// and then never changed. Plain values with their units; the composition root copies from here into each folder's
// Options, so nothing but it depends on this folder. load.h makes one.
//
// Names and defaults are upstream's (kubelet.config.k8s.io/v1beta1, release 1.36) where the field is theirs; the
// defaults written here are those of a configuration file, which are also the safe set that holds without one.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/time/time.h"

namespace podwright::config {

using Strings = std::vector<std::string>;
using StringMap = std::map<std::string, std::string>;

// Where pods come from.
struct PodSources {
  std::string static_pod_path;  // a directory or one file; empty: none
  std::string static_pod_url;   // empty: none
  std::map<std::string, Strings> static_pod_url_header;
  Duration file_check_frequency = 20s;
  Duration http_check_frequency = 20s;
  // PodwrightConfiguration: upstream's way with several documents in a file and with a file that went bad.
  bool strict = false;
  // PodwrightConfiguration: only .yaml, .yml and .json files are manifests.
  bool manifest_suffixes_only = false;
};

struct Serving {
  bool enabled = true;              // the TLS server on `port`
  std::string address = "0.0.0.0";  // of both ports
  uint16_t port = 10250;
  uint16_t read_only_port = 0;    // 0: off
  uint16_t healthz_port = 10248;  // 0: off
  std::string healthz_bind_address = "127.0.0.1";
  bool debugging_handlers = true;
  bool contention_profiling = false;
  bool profiling_handler = true;
  bool debug_flags_handler = true;
  bool system_log_handler = true;
  bool system_log_query = false;
  Duration streaming_connection_idle_timeout = 4h;

  std::string tls_cert_file, tls_private_key_file;  // both or none
  Strings tls_cipher_suites;
  std::vector<int32_t> tls_curve_preferences;
  std::string tls_min_version;
  bool rotate_certificates = false;
  bool server_tls_bootstrap = false;
  std::string cert_dir = "/var/lib/kubelet/pki";

  std::string client_ca_file;
  bool webhook_authentication = true;
  Duration webhook_authentication_cache_ttl = 2min;
  bool anonymous = false;
  bool always_allow = false;  // authorization mode AlwaysAllow; else Webhook
  Duration authorized_cache_ttl = 5min;
  Duration unauthorized_cache_ttl = 30s;

  // PodwrightConfiguration.
  std::string local_socket = "/run/podwright/podwright.sock";  // empty: off
  std::string debug_listen;                                    // "127.0.0.1:6060"; empty: off
  bool read_only_port_strict = false;                          // only health and metrics there
  bool legacy_stream_verbs = false;
};

struct Taint {
  std::string key, value, effect;
  bool operator==(const Taint&) const = default;
};

// How the agent talks to the API server and what its Node says.
struct NodeSettings {
  std::string name;  // --hostname-override or the host's name, in lower case, trimmed; never empty
  Strings ips;       // --node-ip: one address, or one of each family
  std::string kubeconfig, bootstrap_kubeconfig;  // kubeconfig empty: no control plane
  std::string cloud_provider;                    // empty or "external"
  StringMap labels;
  bool register_node = true;
  std::vector<Taint> register_with_taints;
  std::string provider_id;
  std::string content_type = "application/vnd.kubernetes.protobuf";
  int32_t kube_api_qps = 50, kube_api_burst = 100;
  int32_t event_record_qps = 50, event_burst = 100;
  Duration status_update_frequency = 10s;
  Duration status_report_frequency = 5min;
  std::chrono::seconds lease_duration{40};
  int32_t status_max_images = 50;  // -1: no cap
  int32_t max_pods = 110;
  int32_t pods_per_core = 0;  // 0: no such limit
  std::string pod_cidr;
};

struct RuntimeSettings {
  std::string endpoint = "unix:///run/containerd/containerd.sock";
  std::string image_endpoint = "unix:///run/containerd/containerd.sock";
  Duration request_timeout = 2min;
};

struct ImageSettings {
  bool serialize_pulls = false;
  std::optional<int32_t> max_parallel_pulls = 4;  // nothing: no limit
  int32_t registry_pull_qps = 5;                  // 0: no limit
  int32_t registry_burst = 10;
  Duration minimum_gc_age = 2min;
  Duration maximum_gc_age{0};  // 0: off
  int32_t gc_high_threshold_percent = 85;
  int32_t gc_low_threshold_percent = 80;
  std::string credentials_verification_policy = "NeverVerifyPreloadedImages";
  Strings preloaded_allowlist;
  std::string credential_provider_config, credential_provider_bin_dir;
};

struct ReservedMemory {
  int32_t numa_node = 0;
  StringMap limits;  // quantities
};

struct CgroupSettings {
  bool systemd_driver = false;  // only where the runtime does not say
  bool per_qos = true;
  std::string root = "/";
  std::string kubelet_cgroups, system_cgroups, runtime_cgroups;
  StringMap system_reserved, kube_reserved;  // quantities by resource
  std::string system_reserved_cgroup, kube_reserved_cgroup;
  Strings enforce_node_allocatable = {"pods"};
  std::string reserved_system_cpus;  // a cpulist
  StringMap qos_reserved;
  bool cpu_cfs_quota = true;
  Duration cpu_cfs_quota_period = 100ms;
  int64_t pod_pids_limit = -1;
  bool fail_cgroup_v1 = true;
  // Nothing: true on cgroup v1, false on v2.
  std::optional<bool> single_process_oom_kill;
  std::optional<double> memory_throttling_factor;
  std::string memory_reservation_policy = "None";
  bool fail_swap_on = true;
  std::string swap_behavior;
  bool local_storage_capacity_isolation = true;

  std::string cpu_manager_policy = "none";
  StringMap cpu_manager_policy_options;
  Duration cpu_manager_reconcile_period = 10s;
  std::string memory_manager_policy = "None";
  std::vector<ReservedMemory> reserved_memory;
  std::string topology_manager_policy = "none";
  std::string topology_manager_scope = "container";
  StringMap topology_manager_policy_options;
};

// The agent's own process.
struct ProcessSettings {
  int64_t max_open_files = 1000000;
  int32_t oom_score_adj = -999;
  bool protect_kernel_defaults = false;
  std::string lock_file;  // empty: none
  bool exit_on_lock_contention = false;
  std::string self_seccomp = "enforce";  // PodwrightConfiguration: or log, off
};

// A level or an amount to reclaim: a percentage of the capacity, or an amount (bytes, inodes, processes).
struct EvictionAmount {
  std::optional<double> percent;  // 0..100
  int64_t value = 0;
  bool operator==(const EvictionAmount&) const = default;
};

struct EvictionSettings {
  std::map<std::string, EvictionAmount> hard;  // by signal; a disabled one is not in here
  std::map<std::string, EvictionAmount> soft;
  std::map<std::string, Duration> soft_grace_period;
  std::map<std::string, EvictionAmount> minimum_reclaim;
  Duration pressure_transition_period = 5min;
  std::chrono::seconds max_pod_grace_period{0};
  bool kernel_memcg_notification = false;
  bool evict_static_pods = false;  // PodwrightConfiguration
};

struct DnsSettings {
  std::string cluster_domain;
  Strings cluster_dns;
  std::string resolv_conf = "/etc/resolv.conf";  // empty: the host's DNS is not used
};

struct PodSettings {
  std::string logs_dir = "/var/log/pods";
  Duration sync_frequency = 1min;
  int64_t container_log_max_size = 10 << 20;  // bytes; negative: no rotation
  int32_t container_log_max_files = 5;
  int32_t container_log_max_workers = 1;
  Duration container_log_monitor_interval = 10s;
  Strings allowed_unsafe_sysctls;
  StringMap default_pod_sysctls;
  bool seccomp_default = false;
  Duration max_container_restart_period = 300s;  // cap of the crash-loop back-off
  int64_t user_namespace_ids_per_pod = 65536;
  std::string volume_plugin_dir = "/usr/libexec/kubernetes/kubelet-plugins/volume/exec/";
  Duration volume_stats_period = 1min;  // 0 or less: off
  bool controller_attach_detach = true;
  std::string change_detection = "Watch";  // Watch, Cache, Get
  std::string hairpin_mode = "promiscuous-bridge";
  bool iptables_util_chains = true;
  Duration minimum_container_ttl{0};
  int32_t maximum_dead_containers_per_container = 1;
  int32_t maximum_dead_containers = -1;  // negative: no limit

  // PodwrightConfiguration.
  Duration device_wait = 5min;
  std::string device_plugin_dir = "/var/lib/kubelet/device-plugins";
  Strings plugin_socket_dirs;
  std::string probe_targets = "allow";  // or warn, deny: probes and hooks to other hosts than their pod
  bool offline = false;
  std::string offline_key_file;  // empty stands for <root>/podwright/offline.key and is filled in
};

struct ShutdownByPriority {
  int32_t priority = 0;
  std::chrono::seconds grace{0};
};

struct ShutdownSettings {
  Duration grace{0};  // 0: off
  Duration critical_pods{0};
  std::vector<ShutdownByPriority> by_priority;
};

struct LogSettings {
  int verbosity = 0;    // 0..10
  std::string vmodule;  // "file=N,..."
  bool json = false;
  Duration flush_frequency = 5s;
};

struct TracingSettings {
  std::string endpoint = "localhost:4317";
  int32_t sampling_rate_per_million = 0;
};

struct Config {
  std::string root_dir = "/var/lib/kubelet";
  PodSources sources;
  Serving serving;
  NodeSettings node;
  RuntimeSettings runtime;
  ImageSettings images;
  CgroupSettings cgroups;
  ProcessSettings process;
  EvictionSettings eviction;
  DnsSettings dns;
  PodSettings pods;
  ShutdownSettings shutdown;
  LogSettings log;
  std::optional<TracingSettings> tracing;
  std::map<std::string, bool> feature_gates;

  // --state-reset: the durable table is set aside at start.
  bool state_reset = false;
  // --strict: an unknown field or a duplicate key is an error everywhere.
  bool strict = false;

  // The files it was read from, in the order of reading; empty: the embedded default.
  Strings files;
  // The effective KubeletConfiguration as JSON, for /configz; header values of staticPodURL are masked.
  std::string effective_json;
};

}  // namespace podwright::config
