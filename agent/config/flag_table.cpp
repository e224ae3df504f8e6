// The list of flags. Source of names and fields: cmd/kubelet/app/options, release 1.36.
#include "agent/config/flags.h"

namespace podwright::config {
namespace {

constexpr char kCommon[] = "Common flags";
constexpr char kLog[] = "Logging";
constexpr char kStart[] = "Starting";
constexpr char kCluster[] = "With a control plane";

AgentFlag own(std::string name, std::string value_name = {}, std::string help = {}, std::string group = {}) {
  return {.spec = {.name = std::move(name),
                   .value_name = std::move(value_name),
                   .help = std::move(help),
                   .group = std::move(group)}};
}

AgentFlag own_yes_no(std::string name, std::string help = {}, std::string group = {}) {
  return {.spec = {.name = std::move(name), .yes_no = true, .help = std::move(help), .group = std::move(group)}};
}

AgentFlag mirror(std::string name, FlagForm form, std::string path) {
  return {.spec = {.name = std::move(name), .yes_no = form == FlagForm::kYesNo}, .form = form, .path = std::move(path)};
}

AgentFlag shown(AgentFlag flag, std::string value_name, std::string help, std::string group, char letter = 0) {
  flag.spec.value_name = std::move(value_name);
  flag.spec.help = std::move(help);
  flag.spec.group = std::move(group);
  flag.spec.letter = letter;
  return flag;
}

std::vector<AgentFlag> first_flags() {
  using enum FlagForm;
  return {
      own("config", "FILE",
          "KubeletConfiguration, PodwrightConfiguration or both (YAML or JSON). Without it: "
          "/etc/podwright/config.yaml if it is there, else built-in settings.",
          kCommon),
      own("config-dir", "DIR", "Drop-in files *.conf, merged over the file in lexical order.", kCommon),
      shown(mirror("pod-manifest-path", kText, "staticPodPath"), "PATH", "Directory or file of static pods.", kCommon),
      shown(mirror("container-runtime-endpoint", kText, "containerRuntimeEndpoint"), "URL",
            "The container runtime's CRI socket.", kCommon),
      own("root-dir", "DIR", "State directory (/var/lib/kubelet).", kCommon),
      own("hostname-override", "NAME", "The node's name, instead of the host's.", kCommon),
      own("node-ip", "IP", "The node's address, or one of each family, divided by a comma.", kCommon),
      own("local-socket", "PATH", "Socket that get, logs, exec ... talk to (/run/podwright/podwright.sock).", kCommon),

      shown(mirror("v", kInteger, "logging.verbosity"), "LEVEL", "Verbosity, 0 to 10.", kLog, 'v'),
      shown(mirror("vmodule", kVmodule, "logging.vmodule"), "LIST", "Verbosity by source file: pod_worker=6,http_*=4.",
            kLog),
      shown(mirror("logging-format", kText, "logging.format"), "FORM", "text or json.", kLog),
      mirror("log-flush-frequency", kDuration, "logging.flushFrequency"),
      mirror("log-text-split-stream", kYesNo, "logging.options.text.splitStream"),
      mirror("log-text-info-buffer-size", kText, "logging.options.text.infoBufferSize"),
      mirror("log-json-split-stream", kYesNo, "logging.options.json.splitStream"),
      mirror("log-json-info-buffer-size", kText, "logging.options.json.infoBufferSize"),

      own_yes_no("strict", "Unknown fields and duplicate keys are errors everywhere.", kStart),
      own_yes_no("state-reset", "Set the durable pod table aside and rebuild it from the runtime.", kStart),
      own("lock-file", "FILE", "Lock this file before anything else is done.", kStart),
      own_yes_no("exit-on-lock-contention", "End when another process opens the lock file.", kStart),
      {.spec = {.name = "help", .letter = 'h', .yes_no = true, .help = "This text.", .group = kStart}},
      own_yes_no("version", "Print the version.", kStart),

      own("kubeconfig", "FILE", "Credentials of the API server; without it the node stands alone.", kCluster),
      own("bootstrap-kubeconfig", "FILE", "Used to get a client certificate while --kubeconfig is not there.",
          kCluster),
      own("node-labels", "LIST", "Labels for the Node: key=value,...", kCluster),
      own("cert-dir", "DIR", "Keys and certificates (/var/lib/kubelet/pki).", kCluster),
      own("cloud-provider", "NAME", "Empty or external.", kCluster),
      own("runtime-cgroups"),
      own("image-credential-provider-config"),
      own("image-credential-provider-bin-dir"),
      mirror("seccomp-default", kYesNo, "seccompDefault"),
      own("minimum-container-ttl-duration"),
      own("maximum-dead-containers-per-container"),
      own("maximum-dead-containers"),
      own("experimental-mounter-path"),
      own_yes_no("experimental-allocatable-ignore-eviction"),
  };
}

std::vector<AgentFlag> serving_mirrors() {
  using enum FlagForm;
  return {
      mirror("enable-server", kYesNo, "enableServer"),
      mirror("address", kText, "address"),
      mirror("port", kInteger, "port"),
      mirror("read-only-port", kInteger, "readOnlyPort"),
      mirror("healthz-port", kInteger, "healthzPort"),
      mirror("healthz-bind-address", kText, "healthzBindAddress"),
      mirror("anonymous-auth", kYesNo, "authentication.anonymous.enabled"),
      mirror("authentication-token-webhook", kYesNo, "authentication.webhook.enabled"),
      mirror("authentication-token-webhook-cache-ttl", kDuration, "authentication.webhook.cacheTTL"),
      mirror("client-ca-file", kText, "authentication.x509.clientCAFile"),
      mirror("authorization-mode", kText, "authorization.mode"),
      mirror("authorization-webhook-cache-authorized-ttl", kDuration, "authorization.webhook.cacheAuthorizedTTL"),
      mirror("authorization-webhook-cache-unauthorized-ttl", kDuration, "authorization.webhook.cacheUnauthorizedTTL"),
      mirror("tls-cert-file", kText, "tlsCertFile"),
      mirror("tls-private-key-file", kText, "tlsPrivateKeyFile"),
      mirror("tls-cipher-suites", kList, "tlsCipherSuites"),
      mirror("tls-min-version", kText, "tlsMinVersion"),
      mirror("rotate-server-certificates", kYesNo, "serverTLSBootstrap"),
      mirror("rotate-certificates", kYesNo, "rotateCertificates"),
      mirror("enable-debugging-handlers", kYesNo, "enableDebuggingHandlers"),
      mirror("contention-profiling", kYesNo, "enableContentionProfiling"),
      mirror("streaming-connection-idle-timeout", kDuration, "streamingConnectionIdleTimeout"),
      mirror("manifest-url", kText, "staticPodURL"),
      mirror("manifest-url-header", kHeaders, "staticPodURLHeader"),
      mirror("sync-frequency", kDuration, "syncFrequency"),
      mirror("file-check-frequency", kDuration, "fileCheckFrequency"),
      mirror("http-check-frequency", kDuration, "httpCheckFrequency"),
      mirror("event-qps", kInteger, "eventRecordQPS"),
      mirror("event-burst", kInteger, "eventBurst"),
      mirror("kube-api-content-type", kText, "contentType"),
      mirror("kube-api-qps", kInteger, "kubeAPIQPS"),
      mirror("kube-api-burst", kInteger, "kubeAPIBurst"),
      mirror("node-status-update-frequency", kDuration, "nodeStatusUpdateFrequency"),
      mirror("node-status-max-images", kInteger, "nodeStatusMaxImages"),
      mirror("register-node", kYesNo, "registerNode"),
      mirror("register-with-taints", kTaints, "registerWithTaints"),
      mirror("provider-id", kText, "providerID"),
      mirror("pod-cidr", kText, "podCIDR"),
      mirror("max-pods", kInteger, "maxPods"),
      mirror("pods-per-core", kInteger, "podsPerCore"),
      mirror("feature-gates", kGates, "featureGates"),
  };
}

std::vector<AgentFlag> resource_mirrors() {
  using enum FlagForm;
  return {
      mirror("image-service-endpoint", kText, "imageServiceEndpoint"),
      mirror("runtime-request-timeout", kDuration, "runtimeRequestTimeout"),
      mirror("registry-qps", kInteger, "registryPullQPS"),
      mirror("registry-burst", kInteger, "registryBurst"),
      mirror("serialize-image-pulls", kYesNo, "serializeImagePulls"),
      mirror("minimum-image-ttl-duration", kDuration, "imageMinimumGCAge"),
      mirror("image-gc-high-threshold", kInteger, "imageGCHighThresholdPercent"),
      mirror("image-gc-low-threshold", kInteger, "imageGCLowThresholdPercent"),
      mirror("fail-swap-on", kYesNo, "failSwapOn"),
      mirror("fail-cgroupv1", kYesNo, "failCgroupV1"),
      mirror("oom-score-adj", kInteger, "oomScoreAdj"),
      mirror("max-open-files", kInteger, "maxOpenFiles"),
      mirror("protect-kernel-defaults", kYesNo, "protectKernelDefaults"),
      mirror("runonce", kYesNo, "runOnce"),
      mirror("kubelet-cgroups", kText, "kubeletCgroups"),
      mirror("system-cgroups", kText, "systemCgroups"),
      mirror("cgroups-per-qos", kYesNo, "cgroupsPerQOS"),
      mirror("cgroup-driver", kText, "cgroupDriver"),
      mirror("cgroup-root", kText, "cgroupRoot"),
      mirror("system-reserved", kMap, "systemReserved"),
      mirror("kube-reserved", kMap, "kubeReserved"),
      mirror("system-reserved-cgroup", kText, "systemReservedCgroup"),
      mirror("kube-reserved-cgroup", kText, "kubeReservedCgroup"),
      mirror("enforce-node-allocatable", kList, "enforceNodeAllocatable"),
      mirror("reserved-cpus", kText, "reservedSystemCPUs"),
      mirror("qos-reserved", kMap, "qosReserved"),
      mirror("cpu-manager-policy", kText, "cpuManagerPolicy"),
      mirror("cpu-manager-policy-options", kMap, "cpuManagerPolicyOptions"),
      mirror("cpu-manager-reconcile-period", kDuration, "cpuManagerReconcilePeriod"),
      mirror("memory-manager-policy", kText, "memoryManagerPolicy"),
      mirror("reserved-memory", kReservedMemory, "reservedMemory"),
      mirror("topology-manager-policy", kText, "topologyManagerPolicy"),
      mirror("topology-manager-scope", kText, "topologyManagerScope"),
      mirror("topology-manager-policy-options", kMap, "topologyManagerPolicyOptions"),
      mirror("pod-max-pids", kInteger, "podPidsLimit"),
      mirror("cpu-cfs-quota", kYesNo, "cpuCFSQuota"),
      mirror("cpu-cfs-quota-period", kDuration, "cpuCFSQuotaPeriod"),
      mirror("local-storage-capacity-isolation", kYesNo, "localStorageCapacityIsolation"),
      mirror("eviction-hard", kThresholds, "evictionHard"),
      mirror("eviction-soft", kThresholds, "evictionSoft"),
      mirror("eviction-soft-grace-period", kMap, "evictionSoftGracePeriod"),
      mirror("eviction-pressure-transition-period", kDuration, "evictionPressureTransitionPeriod"),
      mirror("eviction-max-pod-grace-period", kInteger, "evictionMaxPodGracePeriod"),
      mirror("eviction-minimum-reclaim", kMap, "evictionMinimumReclaim"),
      mirror("kernel-memcg-notification", kYesNo, "kernelMemcgNotification"),
      mirror("cluster-domain", kText, "clusterDomain"),
      mirror("cluster-dns", kList, "clusterDNS"),
      mirror("resolv-conf", kText, "resolvConf"),
      mirror("hairpin-mode", kText, "hairpinMode"),
      mirror("make-iptables-util-chains", kYesNo, "makeIPTablesUtilChains"),
      mirror("allowed-unsafe-sysctls", kList, "allowedUnsafeSysctls"),
      mirror("enable-controller-attach-detach", kYesNo, "enableControllerAttachDetach"),
      mirror("volume-plugin-dir", kText, "volumePluginDir"),
      mirror("volume-stats-agg-period", kDuration, "volumeStatsAggPeriod"),
      mirror("container-log-max-size", kText, "containerLogMaxSize"),
      mirror("container-log-max-files", kInteger, "containerLogMaxFiles"),
  };
}

std::vector<AgentFlag> all_flags() {
  std::vector<AgentFlag> all = first_flags();
  for (auto* more : {&serving_mirrors, &resource_mirrors}) {
    for (AgentFlag& flag : more()) all.push_back(std::move(flag));
  }
  return all;
}

}  // namespace

const std::vector<AgentFlag>& agent_flags() {
  static const std::vector<AgentFlag> flags = all_flags();
  return flags;
}

}  // namespace podwright::config
