#include "agent/config/read.h"

#include <arpa/inet.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <limits>

#include "api/amount.h"

namespace podwright::config {
namespace {

using std::chrono::seconds;

constexpr int64_t kMaxInt32 = std::numeric_limits<int32_t>::max();

template <class Map>
StringMap strings(const Map& from) {
  return {from.begin(), from.end()};
}

template <class List>
Strings list(const List& from) {
  return {from.begin(), from.end()};
}

// Reads fields of one message by name, so that each line below says one field.
class Reader {
 public:
  explicit Reader(Problems& problems) : problems_(problems) {}

  void number(std::string_view field, int64_t value, int64_t low, int64_t high, auto* into) {
    using Number = std::remove_pointer_t<decltype(into)>;
    *into = static_cast<Number>(problems_.in_range(field, value, low, high));
  }
  void duration(std::string_view field, const meta::Duration& value, Duration low, Duration high, Duration* into) {
    const Duration read(value.duration());
    if (read < low || read > high) {
      problems_.add(field, "must be {} to {}, got {}", shown(low), shown(high), shown(read));
      return;
    }
    *into = read;
  }
  void not_negative(std::string_view field, const meta::Duration& value, Duration* into) {
    duration(field, value, Duration(0), kLongest, into);
  }
  void positive(std::string_view field, const meta::Duration& value, Duration* into) {
    duration(field, value, Duration(1), kLongest, into);
  }
  void text(std::string_view field, const std::string& value, const Strings& allowed, std::string* into) {
    problems_.one_of(field, value, allowed);
    *into = value;
  }

  static constexpr Duration kLongest = std::chrono::hours(24 * 365 * 10);

 private:
  static std::string shown(Duration duration) {
    if (duration == kLongest) return "10 years";
    if (duration == Duration(1)) return "more than 0";
    if (duration % 1s == Duration(0)) return fmt::format("{}s", duration / 1s);
    return fmt::format("{}ms", duration / 1ms);
  }

  Problems& problems_;
};

void read_sources(const KubeletConfiguration& from, Config* config, Problems& problems) {
  Reader read(problems);
  PodSources& to = config->sources;
  to.static_pod_path = from.staticpodpath();
  to.static_pod_url = from.staticpodurl();
  for (const auto& [name, values] : from.staticpodurlheader()) to.static_pod_url_header[name] = list(values.items());
  if (!to.static_pod_url.empty() && !to.static_pod_url.starts_with("http://") &&
      !to.static_pod_url.starts_with("https://")) {
    problems.add("staticPodURL", "must be an http:// or https:// URL, got \"{}\"", to.static_pod_url);
  }
  read.positive("fileCheckFrequency", from.filecheckfrequency(), &to.file_check_frequency);
  read.positive("httpCheckFrequency", from.httpcheckfrequency(), &to.http_check_frequency);
}

void read_serving(const KubeletConfiguration& from, Config* config, Problems& problems) {
  Reader read(problems);
  Serving& to = config->serving;
  to.enabled = from.enableserver();
  to.address = from.address();
  problems.ip("address", to.address);
  read.number("port", from.port(), 1, 65535, &to.port);
  read.number("readOnlyPort", from.readonlyport(), 0, 65535, &to.read_only_port);
  read.number("healthzPort", from.healthzport(), 0, 65535, &to.healthz_port);
  to.healthz_bind_address = from.healthzbindaddress();
  problems.ip("healthzBindAddress", to.healthz_bind_address);
  to.debugging_handlers = from.enabledebugginghandlers();
  to.contention_profiling = from.enablecontentionprofiling();
  to.profiling_handler = from.enableprofilinghandler();
  to.debug_flags_handler = from.enabledebugflagshandler();
  to.system_log_handler = from.enablesystemloghandler();
  to.system_log_query = from.enablesystemlogquery();
  read.not_negative("streamingConnectionIdleTimeout", from.streamingconnectionidletimeout(),
                    &to.streaming_connection_idle_timeout);
  to.tls_cert_file = from.tlscertfile();
  to.tls_private_key_file = from.tlsprivatekeyfile();
  to.tls_cipher_suites = list(from.tlsciphersuites());
  to.tls_curve_preferences.assign(from.tlscurvepreferences().begin(), from.tlscurvepreferences().end());
  read.text("tlsMinVersion", from.tlsminversion(), {"", "VersionTLS10", "VersionTLS11", "VersionTLS12", "VersionTLS13"},
            &to.tls_min_version);
  to.rotate_certificates = from.rotatecertificates();
  to.server_tls_bootstrap = from.servertlsbootstrap();

  const auto& authentication = from.authentication();
  to.client_ca_file = authentication.x509().clientcafile();
  to.webhook_authentication = authentication.webhook().enabled();
  read.not_negative("authentication.webhook.cacheTTL", authentication.webhook().cachettl(),
                    &to.webhook_authentication_cache_ttl);
  to.anonymous = authentication.anonymous().enabled();
  std::string mode;
  read.text("authorization.mode", from.authorization().mode(), {"AlwaysAllow", "Webhook"}, &mode);
  to.always_allow = mode == "AlwaysAllow";
  const auto& webhook = from.authorization().webhook();
  read.not_negative("authorization.webhook.cacheAuthorizedTTL", webhook.cacheauthorizedttl(), &to.authorized_cache_ttl);
  read.not_negative("authorization.webhook.cacheUnauthorizedTTL", webhook.cacheunauthorizedttl(),
                    &to.unauthorized_cache_ttl);
}

void read_node(const KubeletConfiguration& from, Config* config, Problems& problems) {
  Reader read(problems);
  NodeSettings& to = config->node;
  to.register_node = from.registernode();
  for (int i = 0; i < from.registerwithtaints_size(); ++i) {
    const auto& taint = from.registerwithtaints(i);
    const std::string field = fmt::format("registerWithTaints[{}]", i);
    if (taint.key().empty()) problems.add(field + ".key", "must be set");
    problems.one_of(field + ".effect", taint.effect(), {"NoSchedule", "PreferNoSchedule", "NoExecute"});
    if (taint.has_timeadded()) problems.add(field + ".timeAdded", "may not be set here");
    to.register_with_taints.push_back({taint.key(), taint.value(), taint.effect()});
  }
  to.provider_id = from.providerid();
  to.content_type = from.contenttype();
  read.number("kubeAPIQPS", from.kubeapiqps(), 0, kMaxInt32, &to.kube_api_qps);
  read.number("kubeAPIBurst", from.kubeapiburst(), 0, kMaxInt32, &to.kube_api_burst);
  read.number("eventRecordQPS", from.eventrecordqps(), 0, kMaxInt32, &to.event_record_qps);
  read.number("eventBurst", from.eventburst(), 0, kMaxInt32, &to.event_burst);
  read.positive("nodeStatusUpdateFrequency", from.nodestatusupdatefrequency(), &to.status_update_frequency);
  read.positive("nodeStatusReportFrequency", from.nodestatusreportfrequency(), &to.status_report_frequency);
  int64_t lease = 0;
  read.number("nodeLeaseDurationSeconds", from.nodeleasedurationseconds(), 1, kMaxInt32, &lease);
  to.lease_duration = seconds(lease);
  read.number("nodeStatusMaxImages", from.nodestatusmaximages(), -1, kMaxInt32, &to.status_max_images);
  read.number("maxPods", from.maxpods(), 0, kMaxInt32, &to.max_pods);
  read.number("podsPerCore", from.podspercore(), 0, kMaxInt32, &to.pods_per_core);
  to.pod_cidr = from.podcidr();
}

void read_images(const KubeletConfiguration& from, Config* config, Problems& problems) {
  Reader read(problems);
  if (from.containerruntimeendpoint().empty()) {
    problems.add("containerRuntimeEndpoint", "must be set, for example unix:///run/containerd/containerd.sock");
  }
  config->runtime.endpoint = from.containerruntimeendpoint();
  config->runtime.image_endpoint =
      from.imageserviceendpoint().empty() ? config->runtime.endpoint : from.imageserviceendpoint();
  read.duration("runtimeRequestTimeout", from.runtimerequesttimeout(), 1s, Reader::kLongest,
                &config->runtime.request_timeout);

  ImageSettings& to = config->images;
  if (from.has_maxparallelimagepulls()) {
    int32_t most = 1;
    read.number("maxParallelImagePulls", from.maxparallelimagepulls(), 1, kMaxInt32, &most);
    to.max_parallel_pulls = most;
  } else if (from.has_serializeimagepulls() && !from.serializeimagepulls()) {
    to.max_parallel_pulls = std::nullopt;
  }
  to.serialize_pulls = from.serializeimagepulls();
  if (to.serialize_pulls && from.maxparallelimagepulls() > 1) {
    problems.add("maxParallelImagePulls", "must be 1 while serializeImagePulls is true, got {}",
                 from.maxparallelimagepulls());
  }
  read.number("registryPullQPS", from.registrypullqps(), 0, kMaxInt32, &to.registry_pull_qps);
  read.number("registryBurst", from.registryburst(), 0, kMaxInt32, &to.registry_burst);
  read.not_negative("imageMinimumGCAge", from.imageminimumgcage(), &to.minimum_gc_age);
  if (to.minimum_gc_age == Duration(0)) to.minimum_gc_age = 2min;
  read.not_negative("imageMaximumGCAge", from.imagemaximumgcage(), &to.maximum_gc_age);
  if (to.maximum_gc_age > Duration(0) && to.maximum_gc_age <= to.minimum_gc_age) {
    problems.add("imageMaximumGCAge", "must be longer than imageMinimumGCAge, or 0 for off");
  }
  read.number("imageGCHighThresholdPercent", from.imagegchighthresholdpercent(), 0, 100, &to.gc_high_threshold_percent);
  read.number("imageGCLowThresholdPercent", from.imagegclowthresholdpercent(), 0, 100, &to.gc_low_threshold_percent);
  if (to.gc_low_threshold_percent >= to.gc_high_threshold_percent) {
    problems.add("imageGCLowThresholdPercent", "must be below imageGCHighThresholdPercent ({}), got {}",
                 to.gc_high_threshold_percent, to.gc_low_threshold_percent);
  }
  read.text("imagePullCredentialsVerificationPolicy", from.imagepullcredentialsverificationpolicy(),
            {"NeverVerify", "NeverVerifyPreloadedImages", "NeverVerifyAllowlistedImages", "AlwaysVerify"},
            &to.credentials_verification_policy);
  to.preloaded_allowlist = list(from.preloadedimagesverificationallowlist());
  if (!to.preloaded_allowlist.empty() && to.credentials_verification_policy != "NeverVerifyAllowlistedImages") {
    problems.add("preloadedImagesVerificationAllowlist",
                 "may be set only with imagePullCredentialsVerificationPolicy NeverVerifyAllowlistedImages");
  }
}

void read_managers(const KubeletConfiguration& from, CgroupSettings& to, Problems& problems) {
  Reader read(problems);
  read.text("cpuManagerPolicy", from.cpumanagerpolicy(), {"none", "static"}, &to.cpu_manager_policy);
  to.cpu_manager_policy_options = strings(from.cpumanagerpolicyoptions());
  read.positive("cpuManagerReconcilePeriod", from.cpumanagerreconcileperiod(), &to.cpu_manager_reconcile_period);
  read.text("memoryManagerPolicy", from.memorymanagerpolicy(), {"None", "Static"}, &to.memory_manager_policy);
  for (int i = 0; i < from.reservedmemory_size(); ++i) {
    const auto& node = from.reservedmemory(i);
    ReservedMemory reservation;
    reservation.numa_node = static_cast<int32_t>(
        problems.in_range(fmt::format("reservedMemory[{}].numaNode", i), node.numanode(), 0, kMaxInt32));
    for (const auto& [resource, amount] : node.limits()) reservation.limits[resource] = amount.string();
    problems.quantities(fmt::format("reservedMemory[{}].limits", i), reservation.limits);
    to.reserved_memory.push_back(std::move(reservation));
  }
  read.text("topologyManagerPolicy", from.topologymanagerpolicy(),
            {"none", "best-effort", "restricted", "single-numa-node"}, &to.topology_manager_policy);
  read.text("topologyManagerScope", from.topologymanagerscope(), {"container", "pod"}, &to.topology_manager_scope);
  to.topology_manager_policy_options = strings(from.topologymanagerpolicyoptions());
}

void read_cgroups(const KubeletConfiguration& from, Config* config, Problems& problems) {
  Reader read(problems);
  CgroupSettings& to = config->cgroups;
  std::string driver;
  read.text("cgroupDriver", from.cgroupdriver(), {"cgroupfs", "systemd"}, &driver);
  to.systemd_driver = driver == "systemd";
  to.per_qos = from.cgroupsperqos();
  to.root = from.cgrouproot().empty() ? "/" : from.cgrouproot();
  to.kubelet_cgroups = from.kubeletcgroups();
  to.system_cgroups = from.systemcgroups();
  to.system_reserved = strings(from.systemreserved());
  to.kube_reserved = strings(from.kubereserved());
  problems.quantities("systemReserved", to.system_reserved);
  problems.quantities("kubeReserved", to.kube_reserved);
  to.system_reserved_cgroup = from.systemreservedcgroup();
  to.kube_reserved_cgroup = from.kubereservedcgroup();
  to.enforce_node_allocatable = list(from.enforcenodeallocatable());
  to.reserved_system_cpus = from.reservedsystemcpus();
  to.qos_reserved = strings(from.qosreserved());
  to.cpu_cfs_quota = from.cpucfsquota();
  read.duration("cpuCFSQuotaPeriod", from.cpucfsquotaperiod(), 1ms, 1s, &to.cpu_cfs_quota_period);
  to.pod_pids_limit = problems.in_range("podPidsLimit", from.podpidslimit(), -1, std::numeric_limits<int64_t>::max());
  to.fail_cgroup_v1 = from.failcgroupv1();
  if (from.has_singleprocessoomkill()) to.single_process_oom_kill = from.singleprocessoomkill();
  if (from.has_memorythrottlingfactor()) {
    to.memory_throttling_factor = from.memorythrottlingfactor();
    if (*to.memory_throttling_factor <= 0 || *to.memory_throttling_factor > 1) {
      problems.add("memoryThrottlingFactor", "must be above 0 and at most 1, got {}", *to.memory_throttling_factor);
    }
  }
  read.text("memoryReservationPolicy", from.memoryreservationpolicy(), {"None", "TieredReservation"},
            &to.memory_reservation_policy);
  to.fail_swap_on = from.failswapon();
  read.text("memorySwap.swapBehavior", from.memoryswap().swapbehavior(), {"", "NoSwap", "LimitedSwap"},
            &to.swap_behavior);
  to.local_storage_capacity_isolation = from.localstoragecapacityisolation();
  read_managers(from, to, problems);

  read.number("maxOpenFiles", from.maxopenfiles(), 0, std::numeric_limits<int64_t>::max(),
              &config->process.max_open_files);
  read.number("oomScoreAdj", from.oomscoreadj(), -1000, 1000, &config->process.oom_score_adj);
  config->process.protect_kernel_defaults = from.protectkerneldefaults();
}

constexpr const char* kSignals[] = {"memory.available",      "allocatableMemory.available", "nodefs.available",
                                    "nodefs.inodesFree",     "imagefs.available",           "imagefs.inodesFree",
                                    "containerfs.available", "containerfs.inodesFree",      "pid.available"};

// Nothing where the text turns the signal off: 0% or 100%.
std::map<std::string, EvictionAmount> amounts(std::string_view field, const auto& from, bool zero_is_off,
                                              Problems& problems) {
  std::map<std::string, EvictionAmount> all;
  for (const auto& [signal, text] : strings(from)) {
    const std::string at = fmt::format("{}[{}]", field, signal);
    if (std::find(std::begin(kSignals), std::end(kSignals), signal) == std::end(kSignals)) {
      problems.add(at, "is no eviction signal; known are {}", fmt::join(kSignals, ", "));
      continue;
    }
    EvictionAmount amount;
    if (text.ends_with('%')) {
      const auto nanos = api::nanos_of(std::string_view(text).substr(0, text.size() - 1));
      const double percent = nanos ? static_cast<double>(*nanos) / 1e9 : -1;
      if (percent < 0 || percent > 100) {
        problems.add(at, "must be a percentage from 0% to 100%, got \"{}\"", text);
        continue;
      }
      if (zero_is_off && (percent == 0 || percent == 100)) continue;
      amount.percent = percent;
    } else {
      const auto nanos = api::nanos_of(text);
      if (!nanos || *nanos < 0 || (zero_is_off && *nanos == 0)) {
        problems.add(at, "must be a positive quantity or a percentage, got \"{}\"", text);
        continue;
      }
      amount.value = api::units_of(text);
    }
    all[signal] = amount;
  }
  return all;
}

void read_eviction(const KubeletConfiguration& from, Config* config, Problems& problems) {
  Reader read(problems);
  EvictionSettings& to = config->eviction;
  to.hard = amounts("evictionHard", from.evictionhard(), true, problems);
  to.soft = amounts("evictionSoft", from.evictionsoft(), true, problems);
  to.minimum_reclaim = amounts("evictionMinimumReclaim", from.evictionminimumreclaim(), false, problems);
  for (const auto& [signal, text] : strings(from.evictionsoftgraceperiod())) {
    const auto grace = parse_duration(text);
    if (!grace || *grace < Duration(0)) {
      problems.add(fmt::format("evictionSoftGracePeriod[{}]", signal), "must be a duration such as 1m30s, got \"{}\"",
                   text);
      continue;
    }
    to.soft_grace_period[signal] = *grace;
  }
  for (const auto& [signal, amount] : to.soft) {
    if (!to.soft_grace_period.contains(signal)) {
      problems.add(fmt::format("evictionSoft[{}]", signal), "needs a time in evictionSoftGracePeriod");
    }
  }
  read.not_negative("evictionPressureTransitionPeriod", from.evictionpressuretransitionperiod(),
                    &to.pressure_transition_period);
  if (to.pressure_transition_period == Duration(0)) to.pressure_transition_period = 5min;
  int64_t most = 0;
  read.number("evictionMaxPodGracePeriod", from.evictionmaxpodgraceperiod(), 0, kMaxInt32, &most);
  to.max_pod_grace_period = seconds(most);
  to.kernel_memcg_notification = from.kernelmemcgnotification();
}

void read_pods(const KubeletConfiguration& from, Config* config, Problems& problems) {
  Reader read(problems);
  config->dns.cluster_domain = from.clusterdomain();
  config->dns.cluster_dns = list(from.clusterdns());
  config->dns.resolv_conf = from.resolvconf();

  PodSettings& to = config->pods;
  to.logs_dir = from.podlogsdir();
  const bool ascii = std::all_of(to.logs_dir.begin(), to.logs_dir.end(), [](unsigned char c) { return c < 0x80; });
  if (!to.logs_dir.starts_with('/') || !ascii || (to.logs_dir.size() > 1 && to.logs_dir.ends_with('/')) ||
      (to.logs_dir + "/").find("/../") != std::string::npos || (to.logs_dir + "/").find("/./") != std::string::npos ||
      to.logs_dir.find("//") != std::string::npos) {
    problems.add("podLogsDir", "must be an absolute path in ASCII without . or .. or a slash at the end, got \"{}\"",
                 to.logs_dir);
  }
  read.positive("syncFrequency", from.syncfrequency(), &to.sync_frequency);
  if (!api::nanos_of(from.containerlogmaxsize())) {
    problems.add("containerLogMaxSize", "must be a quantity such as 10Mi, got \"{}\"", from.containerlogmaxsize());
  }
  to.container_log_max_size = api::units_of(from.containerlogmaxsize());
  read.number("containerLogMaxFiles", from.containerlogmaxfiles(), 2, kMaxInt32, &to.container_log_max_files);
  read.number("containerLogMaxWorkers", from.containerlogmaxworkers(), 1, 1024, &to.container_log_max_workers);
  read.duration("containerLogMonitorInterval", from.containerlogmonitorinterval(), 3s, Reader::kLongest,
                &to.container_log_monitor_interval);
  to.allowed_unsafe_sysctls = list(from.allowedunsafesysctls());
  to.default_pod_sysctls = strings(from.defaultpodsysctls());
  to.seccomp_default = from.seccompdefault();
  read.duration("crashLoopBackOff.maxContainerRestartPeriod", from.crashloopbackoff().maxcontainerrestartperiod(), 1s,
                300s, &to.max_container_restart_period);
  read.number("userNamespaces.idsPerPod", from.usernamespaces().idsperpod(), 65536, (int64_t{1} << 32) - 1,
              &to.user_namespace_ids_per_pod);
  if (to.user_namespace_ids_per_pod % 65536 != 0) {
    problems.add("userNamespaces.idsPerPod", "must be a multiple of 65536, got {}", to.user_namespace_ids_per_pod);
  }
  to.volume_plugin_dir = from.volumeplugindir();
  to.volume_stats_period = Duration(from.volumestatsaggperiod().duration());
  to.controller_attach_detach = from.enablecontrollerattachdetach();
  read.text("configMapAndSecretChangeDetectionStrategy", from.configmapandsecretchangedetectionstrategy(),
            {"Watch", "Cache", "Get"}, &to.change_detection);
  read.text("hairpinMode", from.hairpinmode(), {"promiscuous-bridge", "hairpin-veth", "none"}, &to.hairpin_mode);
  to.iptables_util_chains = from.makeiptablesutilchains();
}

void read_shutdown(const KubeletConfiguration& from, Config* config, Problems& problems) {
  Reader read(problems);
  ShutdownSettings& to = config->shutdown;
  read.not_negative("shutdownGracePeriod", from.shutdowngraceperiod(), &to.grace);
  read.not_negative("shutdownGracePeriodCriticalPods", from.shutdowngraceperiodcriticalpods(), &to.critical_pods);
  if (to.critical_pods > to.grace) {
    problems.add("shutdownGracePeriodCriticalPods", "must not be longer than shutdownGracePeriod");
  }
  for (const auto& [field, grace] : {std::pair<const char*, Duration>{"shutdownGracePeriod", to.grace},
                                     {"shutdownGracePeriodCriticalPods", to.critical_pods}}) {
    if (grace > Duration(0) && grace < 1s) problems.add(field, "must be 0 or at least 1s");
  }
  for (int i = 0; i < from.shutdowngraceperiodbypodpriority_size(); ++i) {
    const auto& entry = from.shutdowngraceperiodbypodpriority(i);
    const std::string field = fmt::format("shutdownGracePeriodByPodPriority[{}]", i);
    ShutdownByPriority step;
    step.priority = static_cast<int32_t>(
        problems.in_range(field + ".priority", entry.priority(), std::numeric_limits<int32_t>::min(), kMaxInt32));
    step.grace = seconds(
        problems.in_range(field + ".shutdownGracePeriodSeconds", entry.shutdowngraceperiodseconds(), 0, kMaxInt32));
    for (const auto& other : to.by_priority) {
      if (other.priority == step.priority) problems.add(field + ".priority", "{} is there twice", step.priority);
    }
    to.by_priority.push_back(step);
  }
  if (!to.by_priority.empty() && to.grace > Duration(0)) {
    problems.add("shutdownGracePeriodByPodPriority", "may not be set together with shutdownGracePeriod");
  }
}

void read_logging(const KubeletConfiguration& from, Config* config, Problems& problems) {
  Reader read(problems);
  LogSettings& to = config->log;
  std::string format;
  read.text("logging.format", from.logging().format(), {"text", "json"}, &format);
  to.json = format == "json";
  read.number("logging.verbosity", from.logging().verbosity(), 0, 10, &to.verbosity);
  read.not_negative("logging.flushFrequency", from.logging().flushfrequency(), &to.flush_frequency);
  for (const auto& item : from.logging().vmodule()) {
    if (!to.vmodule.empty()) to.vmodule += ',';
    to.vmodule += fmt::format("{}={}", item.filepattern(), item.verbosity());
  }
  if (from.has_tracing()) {
    config->tracing.emplace();
    if (from.tracing().has_endpoint()) config->tracing->endpoint = from.tracing().endpoint();
    read.number("tracing.samplingRatePerMillion", from.tracing().samplingratepermillion(), 0, 1'000'000,
                &config->tracing->sampling_rate_per_million);
  }
  config->feature_gates = {from.featuregates().begin(), from.featuregates().end()};
}

}  // namespace

int64_t Problems::in_range(std::string_view field, int64_t value, int64_t low, int64_t high) {
  if (value >= low && value <= high) return value;
  if (high >= kMaxInt32) {
    add(field, "must be at least {}, got {}", low, value);
  } else {
    add(field, "must be {} to {}, got {}", low, high, value);
  }
  return low;
}

void Problems::one_of(std::string_view field, const std::string& value, const Strings& allowed) {
  if (std::find(allowed.begin(), allowed.end(), value) != allowed.end()) return;
  Strings shown;
  for (const std::string& one : allowed) {
    if (!one.empty()) shown.push_back(one);
  }
  add(field, "must be one of {}, got \"{}\"", fmt::join(shown, ", "), value);
}

void Problems::ip(std::string_view field, const std::string& value) {
  in6_addr address;
  if (inet_pton(AF_INET, value.c_str(), &address) == 1 || inet_pton(AF_INET6, value.c_str(), &address) == 1) return;
  add(field, "must be an IP address, got \"{}\"", value);
}

void Problems::quantities(std::string_view field, const StringMap& values) {
  for (const auto& [resource, text] : values) {
    const auto nanos = api::nanos_of(text);
    if (!nanos || *nanos < 0) {
      add(fmt::format("{}[{}]", field, resource), "must be a quantity such as 500m or 1Gi, not below 0, got \"{}\"",
          text);
    }
  }
}

void read_kubelet(const KubeletConfiguration& from, Config* config, Problems& problems) {
  read_sources(from, config, problems);
  read_serving(from, config, problems);
  read_node(from, config, problems);
  read_images(from, config, problems);
  read_cgroups(from, config, problems);
  read_eviction(from, config, problems);
  read_pods(from, config, problems);
  read_shutdown(from, config, problems);
  read_logging(from, config, problems);
}

}  // namespace podwright::config
