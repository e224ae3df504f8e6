// The rules that concern several fields or the host, our own document, and what has no effect.
#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "agent/config/flags.h"
#include "agent/config/layers.h"
#include "agent/config/read.h"
#include "api/validation_names.h"

namespace podwright::config {
namespace {

bool enforces(const Config& config, std::string_view what) {
  const Strings& all = config.cgroups.enforce_node_allocatable;
  return std::find(all.begin(), all.end(), what) != all.end();
}

void check_enforcement(const Config& config, Problems& problems) {
  constexpr char kField[] = "enforceNodeAllocatable";
  const CgroupSettings& cgroups = config.cgroups;
  for (const std::string& key : cgroups.enforce_node_allocatable) {
    problems.one_of(kField, key,
                    {"none", "pods", "system-reserved", "kube-reserved", "system-reserved-compressible",
                     "kube-reserved-compressible"});
  }
  if (enforces(config, "none") && cgroups.enforce_node_allocatable.size() > 1) {
    problems.add(kField, "none must stand alone");
  }
  for (const auto& [name, cgroup, field] :
       {std::tuple<std::string, const std::string&, const char*>{"system-reserved", cgroups.system_reserved_cgroup,
                                                                 "systemReservedCgroup"},
        {"kube-reserved", cgroups.kube_reserved_cgroup, "kubeReservedCgroup"}}) {
    const bool plain = enforces(config, name), compressible = enforces(config, name + "-compressible");
    if (plain && compressible) problems.add(kField, "{} and {}-compressible may not stand together", name, name);
    if ((plain || compressible) && cgroup.empty()) problems.add(field, "must be set, since {} names {}", kField, name);
  }
  const bool enforced = !cgroups.enforce_node_allocatable.empty() && !enforces(config, "none");
  if (enforced && !cgroups.per_qos) {
    problems.add(kField, "must be [none] or empty while cgroupsPerQOS is false");
  }
  if (!cgroups.reserved_system_cpus.empty() &&
      (!cgroups.system_reserved_cgroup.empty() || !cgroups.kube_reserved_cgroup.empty())) {
    problems.add("reservedSystemCPUs", "may not be set together with systemReservedCgroup or kubeReservedCgroup");
  }
}

StringMap key_values(std::string_view flag, const std::string& text, Problems& problems) {
  StringMap all;
  std::size_t at = 0;
  while (at < text.size()) {
    const auto comma = std::min(text.find(',', at), text.size());
    const std::string item = text.substr(at, comma - at);
    at = comma + 1;
    if (item.empty()) continue;
    const auto equals = item.find('=');
    if (equals == std::string::npos || equals == 0) {
      problems.add(flag, "must be a list of key=value, got \"{}\"", item);
      continue;
    }
    all[item.substr(0, equals)] = item.substr(equals + 1);
  }
  return all;
}

template <class Number>
void read_number(const ParsedFlags& flags, std::string_view name, Number* into, Problems& problems) {
  const auto text = flags.value(name);
  if (!text) return;
  int64_t number = 0;
  const auto [end, error] = std::from_chars(text->data(), text->data() + text->size(), number);
  if (error != std::errc() || end != text->data() + text->size() || number > std::numeric_limits<Number>::max() ||
      number < std::numeric_limits<Number>::min()) {
    problems.add(fmt::format("--{}", name), "must be a whole number, got \"{}\"", *text);
    return;
  }
  *into = static_cast<Number>(number);
}

std::string trimmed_lower(std::string text) {
  const auto is_space = [](unsigned char c) { return std::isspace(c) != 0; };
  text.erase(text.begin(), std::find_if_not(text.begin(), text.end(), is_space));
  text.erase(std::find_if_not(text.rbegin(), text.rend(), is_space).base(), text.end());
  std::transform(text.begin(), text.end(), text.begin(), [](unsigned char c) { return std::tolower(c); });
  return text;
}

void read_node_flags(const ParsedFlags& flags, const Host& host, Config* config, Problems& problems) {
  NodeSettings& node = config->node;
  const std::string given = flags.value("hostname-override").value_or("");
  node.name = trimmed_lower(given.empty() ? host.hostname : given);
  if (!api::subdomain_faults(node.name).empty()) {
    problems.add(given.empty() ? "the host's name" : "--hostname-override",
                 "must be a name of lower case letters, digits, '-' and '.', got \"{}\"; set --hostname-override",
                 node.name);
  }
  const std::string ips = flags.value("node-ip").value_or("");
  for (std::size_t at = 0; at < ips.size();) {
    const auto comma = std::min(ips.find(',', at), ips.size());
    node.ips.push_back(trimmed_lower(ips.substr(at, comma - at)));
    problems.ip("--node-ip", node.ips.back());
    at = comma + 1;
  }
  const auto is_v6 = [](const std::string& ip) { return ip.find(':') != std::string::npos; };
  if (node.ips.size() > 2 || (node.ips.size() == 2 && is_v6(node.ips[0]) == is_v6(node.ips[1]))) {
    problems.add("--node-ip", "must be one address, or one of each family, got \"{}\"", ips);
  }
  node.labels = key_values("--node-labels", flags.value("node-labels").value_or(""), problems);
  node.cloud_provider = flags.value("cloud-provider").value_or("");
  problems.one_of("--cloud-provider", node.cloud_provider, {"", "external"});
}

}  // namespace

void read_own_flags(const ParsedFlags& flags, const Host& host, Config* config, Problems& problems) {
  const auto path = [&](std::string_view name, std::string* into) {
    if (const auto value = flags.value(name)) *into = resolve_path(host.working_directory, *value);
  };
  path("root-dir", &config->root_dir);
  path("kubeconfig", &config->node.kubeconfig);
  path("bootstrap-kubeconfig", &config->node.bootstrap_kubeconfig);
  path("cert-dir", &config->serving.cert_dir);
  path("local-socket", &config->serving.local_socket);
  path("lock-file", &config->process.lock_file);
  path("image-credential-provider-config", &config->images.credential_provider_config);
  path("image-credential-provider-bin-dir", &config->images.credential_provider_bin_dir);
  if (config->root_dir.empty()) problems.add("--root-dir", "must be a path");
  config->process.exit_on_lock_contention = flags.is_set("exit-on-lock-contention");
  if (config->process.exit_on_lock_contention && config->process.lock_file.empty()) {
    problems.add("--exit-on-lock-contention", "needs --lock-file");
  }
  config->strict = flags.is_set("strict");
  config->state_reset = flags.is_set("state-reset");
  config->cgroups.runtime_cgroups = flags.value("runtime-cgroups").value_or("");
  if (const auto text = flags.value("minimum-container-ttl-duration")) {
    const auto read = parse_duration(*text);
    if (!read || *read < Duration(0)) {
      problems.add("--minimum-container-ttl-duration", "must be a duration such as 1m30s, got \"{}\"", *text);
    } else {
      config->pods.minimum_container_ttl = *read;
    }
  }
  read_number(flags, "maximum-dead-containers-per-container", &config->pods.maximum_dead_containers_per_container,
              problems);
  read_number(flags, "maximum-dead-containers", &config->pods.maximum_dead_containers, problems);
  read_node_flags(flags, host, config, problems);
  if (config->pods.offline_key_file.empty()) {
    config->pods.offline_key_file = resolve_path(config->root_dir, "podwright/offline.key");
  }
}

void read_podwright(const PodwrightConfiguration& from, Config* config, Problems& problems) {
  PodSettings& pods = config->pods;
  if (from.has_devicewait()) {
    pods.device_wait = Duration(from.devicewait().duration());
    if (pods.device_wait < Duration(0)) problems.add("deviceWait", "must not be below 0");
  }
  const auto absolute = [&problems](const char* field, const std::string& path) {
    if (!path.empty() && !path.starts_with('/')) problems.add(field, "must be an absolute path, got \"{}\"", path);
  };
  if (from.has_deviceplugindir()) pods.device_plugin_dir = from.deviceplugindir();
  absolute("devicePluginDir", pods.device_plugin_dir);
  pods.plugin_socket_dirs = {from.pluginsocketdirs().begin(), from.pluginsocketdirs().end()};
  for (const std::string& directory : pods.plugin_socket_dirs) absolute("pluginSocketDirs", directory);
  pods.offline = from.offline();
  pods.offline_key_file = from.offlinekeyfile();
  absolute("offlineKeyFile", pods.offline_key_file);
  if (from.has_probetargets()) {
    problems.one_of("probeTargets", from.probetargets(), {"allow", "warn", "deny"});
    pods.probe_targets = from.probetargets();
  }
  config->serving.debug_listen = from.debuglisten();
  config->serving.read_only_port_strict = from.readonlyportstrict();
  config->serving.legacy_stream_verbs = from.legacystreamverbs();
  if (from.has_localsocket()) config->serving.local_socket = from.localsocket();
  absolute("localSocket", config->serving.local_socket);
  config->sources.strict = from.strictstaticsources();
  config->sources.manifest_suffixes_only = from.manifestsuffixesonly();
  config->eviction.evict_static_pods = from.evictstaticpods();
  if (from.has_selfseccomp()) {
    problems.one_of("selfSeccomp", from.selfseccomp(), {"enforce", "log", "off"});
    config->process.self_seccomp = from.selfseccomp();
  }
}

void check_together(const KubeletConfiguration& from, const Config& config, Problems& problems) {
  check_enforcement(config, problems);
  if (!config.cgroups.system_cgroups.empty() && from.cgrouproot().empty()) {
    problems.add("systemCgroups", "needs cgroupRoot");
  }
  if (config.serving.tls_cert_file.empty() != config.serving.tls_private_key_file.empty()) {
    problems.add("tlsCertFile", "and tlsPrivateKeyFile must both be set or both be empty");
  }
  if (config.serving.system_log_query && !config.serving.system_log_handler) {
    problems.add("enableSystemLogQuery", "needs enableSystemLogHandler");
  }
  if (from.runonce()) problems.add("runOnce", "must be false; the mode was removed");
  if (config.cgroups.memory_manager_policy == "Static" && config.cgroups.reserved_memory.empty()) {
    problems.add("memoryManagerPolicy", "Static needs reservedMemory");
  }
}

std::vector<std::string> without_effect(const Json& said, const Config& config) {
  std::vector<std::string> lines;
  const auto say = [&lines](bool said, std::string_view field, std::string_view ignored) {
    if (said) lines.push_back(fmt::format("{} has no effect in this release: {}", field, ignored));
  };
  say(!config.node.kubeconfig.empty(), "--kubeconfig", "the node stands alone");
  say(said.contains("port") || said.contains("authentication") || said.contains("authorization"), "port",
      "the TLS server is not there; the local socket and the health port are");
  say(config.serving.rotate_certificates, "rotateCertificates", "no certificate is renewed");
  say(config.serving.server_tls_bootstrap, "serverTLSBootstrap", "no certificate is asked for");
  say(!config.serving.debug_listen.empty(), "debugListen", "there is no debug page");
  say(config.serving.contention_profiling, "enableContentionProfiling", "it is a feature of Go's runtime");
  say(config.serving.system_log_query, "enableSystemLogQuery", "/logs/ is not served");
  say(!config.cgroups.reserved_system_cpus.empty(), "reservedSystemCPUs", "no CPU is kept free");
  say(!config.cgroups.qos_reserved.empty(), "qosReserved", "no memory is kept for higher classes");
  say(config.cgroups.cpu_manager_policy != "none", "cpuManagerPolicy", "all containers share all CPUs");
  say(config.cgroups.memory_manager_policy != "None", "memoryManagerPolicy", "memory is not bound to NUMA nodes");
  say(config.cgroups.memory_throttling_factor.has_value(), "memoryThrottlingFactor", "memory.high is not written");
  say(config.cgroups.memory_reservation_policy != "None", "memoryReservationPolicy", "memory.min is not written");
  say(config.cgroups.swap_behavior == "LimitedSwap", "memorySwap.swapBehavior", "containers get no swap");
  say(config.process.protect_kernel_defaults, "protectKernelDefaults", "kernel settings are left as they are");
  say(config.process.exit_on_lock_contention, "--exit-on-lock-contention", "the agent goes on when the file is opened");
  say(!config.images.credential_provider_config.empty(), "--image-credential-provider-config",
      "images are pulled without it");
  say(config.shutdown.grace > Duration(0) || !config.shutdown.by_priority.empty(), "shutdownGracePeriod",
      "a shutdown of the machine is not held up");
  say(config.tracing.has_value(), "tracing", "no trace is sent");
  say(config.pods.offline, "offline", "there is no API server to be away");
  say(!config.pods.default_pod_sysctls.empty(), "defaultPodSysctls", "pods get the sysctls they name");
  say(!config.pods.plugin_socket_dirs.empty(), "pluginSocketDirs", "no plugin is looked for");
  for (const auto& [gate, on] : config.feature_gates) {
    lines.push_back(fmt::format("featureGates[{}] has no effect: this agent has no such gate", gate));
  }
  return lines;
}

}  // namespace podwright::config
