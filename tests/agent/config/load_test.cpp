#include "agent/config/load.h"

#include <absl/strings/str_join.h>
#include <absl/strings/str_replace.h>
#include <doctest/doctest.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "base/co/sim_loop.h"
#include "base/files/memory_tree.h"
#include "base/limits.h"
#include "base/status/annotate.h"

using namespace podwright;
using namespace podwright::config;

namespace {

constexpr char kHead[] = "apiVersion: kubelet.config.k8s.io/v1beta1\nkind: KubeletConfiguration\n";
constexpr char kOwnHead[] = "apiVersion: podwright.dev/v1alpha1\nkind: PodwrightConfiguration\n";

// A machine with files, and the loading of its configuration.
struct Machine {
  Machine() : tree(loop) { REQUIRE(tree.make_directories("/etc/podwright", 0755).ok()); }

  void file(const std::string& path, const std::string& text) {
    REQUIRE(tree.make_directories(parent_path(path), 0755).ok());
    REQUIRE(tree.write(path, text, 0644).ok());
  }
  absl::StatusOr<Loaded> load(Strings args = {}) { return load_config(args, "podwright", tree, host); }
  Config good(Strings args = {}) {
    auto loaded = load(std::move(args));
    REQUIRE_MESSAGE(loaded.ok(), loaded.status().ToString());
    REQUIRE(loaded->config);
    return *loaded->config;
  }
  // Of a configuration that must be refused.
  std::string problems(Strings args = {}) {
    const auto loaded = load(std::move(args));
    REQUIRE_FALSE(loaded.ok());
    CHECK(loaded.status().code() == absl::StatusCode::kInvalidArgument);
    return text_of(loaded.status());
  }
  std::string problem_of(const std::string& fields) {
    file("/c.yaml", kHead + fields);
    return problems({"--config=/c.yaml"});
  }

  SimLoop loop{1};
  MemoryTree tree;
  Host host{.hostname = " Node-1 ", .working_directory = "/home/op"};
};

}  // namespace

TEST_CASE("without any configuration the safe set holds") {
  Machine machine;

  const Config config = machine.good();

  CHECK(config.sources.static_pod_path == "/etc/kubernetes/manifests");
  CHECK(config.serving.read_only_port == 0);
  CHECK_FALSE(config.serving.anonymous);
  CHECK_FALSE(config.serving.always_allow);
  CHECK(config.node.name == "node-1");
  CHECK(config.eviction.hard.at("memory.available") == EvictionAmount{.percent = std::nullopt, .value = 100 << 20});
  CHECK(config.cgroups.fail_cgroup_v1);
  CHECK(config.files.empty());
}

TEST_CASE("the defaults of the document are those of the structures") {
  Machine machine;

  const Config config = machine.good();
  const Config plain;

  CHECK(config.serving.port == plain.serving.port);
  CHECK(config.serving.streaming_connection_idle_timeout == plain.serving.streaming_connection_idle_timeout);
  CHECK(config.runtime.endpoint == plain.runtime.endpoint);
  CHECK(config.images.max_parallel_pulls == plain.images.max_parallel_pulls);
  CHECK(config.cgroups.cpu_cfs_quota_period == plain.cgroups.cpu_cfs_quota_period);
  CHECK(config.pods.container_log_max_size == plain.pods.container_log_max_size);
  CHECK(config.pods.max_container_restart_period == plain.pods.max_container_restart_period);
  CHECK(config.eviction.pressure_transition_period == plain.eviction.pressure_transition_period);
  CHECK(config.dns.resolv_conf == plain.dns.resolv_conf);
  CHECK(config.process.oom_score_adj == plain.process.oom_score_adj);
}

TEST_CASE("the file under /etc/podwright counts where --config is not given") {
  Machine machine;
  machine.file("/etc/podwright/config.yaml", std::string(kHead) + "maxPods: 7\n");
  machine.file("/other.yaml", std::string(kHead) + "maxPods: 8\n");

  CHECK(machine.good().node.max_pods == 7);
  CHECK(machine.good().sources.static_pod_path.empty());
  CHECK(machine.good({"--config=/other.yaml"}).node.max_pods == 8);
}

TEST_CASE("drop-ins are merge patches in lexical order, and flags win over all") {
  Machine machine;
  machine.file("/c.yaml", std::string(kHead) + "maxPods: 1\nclusterDNS: [10.0.0.1]\nsystemReserved: {cpu: \"1\"}\n");
  machine.file("/d/20-b.conf", std::string(kHead) + "maxPods: 3\nclusterDNS: null\nsystemReserved: {memory: 1Gi}\n");
  machine.file("/d/10-a/x.conf", std::string(kHead) + "maxPods: 2\nport: 1234\n");
  machine.file("/d/README", "not read");
  const Strings args = {"--config=/c.yaml", "--config-dir=/d"};

  const Config config = machine.good(args);

  CHECK(config.node.max_pods == 3);
  CHECK(config.serving.port == 1234);
  CHECK(config.dns.cluster_dns.empty());
  CHECK(config.cgroups.system_reserved == StringMap{{"cpu", "1"}, {"memory", "1Gi"}});
  CHECK(config.files == Strings{"/c.yaml", "/d/10-a/x.conf", "/d/20-b.conf"});
  CHECK(machine.good({args[0], args[1], "--max-pods=4"}).node.max_pods == 4);
  CHECK(machine.good({args[0], args[1], "--system-reserved=pid=10"}).cgroups.system_reserved ==
        StringMap{{"pid", "10"}});
}

TEST_CASE("evictionHard of the file stands alone unless told to merge; a drop-in's merges") {
  Machine machine;
  machine.file("/c.yaml", std::string(kHead) + "evictionHard: {memory.available: 5%}\n");
  machine.file("/m.yaml",
               std::string(kHead) + "mergeDefaultEvictionSettings: true\nevictionHard: {memory.available: 5%}\n");
  machine.file("/e.yaml", kHead);
  machine.file("/d/1.conf", std::string(kHead) + "evictionHard: {memory.available: 0%}\n");

  CHECK(machine.good({"--config=/c.yaml"}).eviction.hard.size() == 1);
  CHECK(machine.good({"--config=/m.yaml"}).eviction.hard.size() == 5);
  CHECK(machine.good({"--config=/m.yaml"}).eviction.hard.at("memory.available").percent == 5);
  CHECK(machine.good({"--config=/e.yaml", "--config-dir=/d"}).eviction.hard.size() == 4);
}

TEST_CASE("image pulls are parallel unless serial is said") {
  struct Row {
    std::string fields;
    bool serial;
    std::optional<int32_t> most;
  };
  const std::vector<Row> rows = {{"", false, 4},
                                 {"serializeImagePulls: true\n", true, 4},
                                 {"serializeImagePulls: false\n", false, std::nullopt},
                                 {"maxParallelImagePulls: 9\n", false, 9}};
  for (const Row& row : rows) {
    Machine machine;
    machine.file("/c.yaml", kHead + row.fields);
    const ImageSettings images = machine.good({"--config=/c.yaml"}).images;
    CAPTURE(row.fields);
    CHECK(images.serialize_pulls == row.serial);
    CHECK(images.max_parallel_pulls == row.most);
  }
}

TEST_CASE("relative paths start from the file's folder, and those of flags from the working directory") {
  Machine machine;
  machine.file("/etc/kubelet/c.yaml", std::string(kHead) +
                                          "staticPodPath: manifests\n"
                                          "authentication: {x509: {clientCAFile: pki/ca.crt}}\n");

  const Config config = machine.good({"--config=/etc/kubelet/c.yaml", "--root-dir=state", "--kubeconfig=/k"});

  CHECK(config.sources.static_pod_path == "/etc/kubelet/manifests");
  CHECK(config.serving.client_ca_file == "/etc/kubelet/pki/ca.crt");
  CHECK(config.root_dir == "/home/op/state");
  CHECK(config.node.kubeconfig == "/k");
  CHECK(config.pods.offline_key_file == "/home/op/state/podwright/offline.key");
}

TEST_CASE("our own document stands beside the kubelet's in one file") {
  Machine machine;
  machine.file("/c.yaml", std::string(kHead) + "maxPods: 5\n---\n" + kOwnHead +
                              "deviceWait: 10s\nprobeTargets: deny\nstrictStaticSources: true\n");

  const Config config = machine.good({"--config=/c.yaml"});

  CHECK(config.node.max_pods == 5);
  CHECK(config.pods.device_wait == 10s);
  CHECK(config.pods.probe_targets == "deny");
  CHECK(config.sources.strict);
}

TEST_CASE("a value that is not valid is refused with the field and the remedy") {
  struct Row {
    std::string fields, problem;
  };
  const std::vector<Row> rows = {
      {"port: 70000\n", "port: must be 1 to 65535, got 70000"},
      {"address: here\n", "address: must be an IP address, got \"here\""},
      {"maxPods: -1\n", "maxPods: must be at least 0, got -1"},
      {"oomScoreAdj: -2000\n", "oomScoreAdj: must be -1000 to 1000, got -2000"},
      {"imageGCLowThresholdPercent: 90\n",
       "imageGCLowThresholdPercent: must be below imageGCHighThresholdPercent (85), got 90"},
      {"cgroupDriver: runc\n", "cgroupDriver: must be one of cgroupfs, systemd, got \"runc\""},
      {"runtimeRequestTimeout: 0s\n", "runtimeRequestTimeout: must be 1s to 10 years, got 0s"},
      {"evictionHard: {memory.free: 1Gi}\n", "evictionHard[memory.free]: is no eviction signal"},
      {"evictionHard: {memory.available: lots}\n",
       "evictionHard[memory.available]: must be a positive quantity or a percentage, got \"lots\""},
      {"evictionSoft: {memory.available: 1Gi}\n",
       "evictionSoft[memory.available]: needs a time in evictionSoftGracePeriod"},
      {"systemReserved: {memory: much}\n", "systemReserved[memory]: must be a quantity"},
      {"enforceNodeAllocatable: [pods, system-reserved]\n",
       "systemReservedCgroup: must be set, since enforceNodeAllocatable names system-reserved"},
      {"enforceNodeAllocatable: [none, pods]\n", "enforceNodeAllocatable: none must stand alone"},
      {"containerLogMaxFiles: 1\n", "containerLogMaxFiles: must be at least 2, got 1"},
      {"containerLogMonitorInterval: 1s\n", "containerLogMonitorInterval: must be 3s to 10 years, got 1s"},
      {"crashLoopBackOff: {maxContainerRestartPeriod: 10m}\n",
       "crashLoopBackOff.maxContainerRestartPeriod: must be 1s to 300s, got 600s"},
      {"shutdownGracePeriod: 10s\nshutdownGracePeriodCriticalPods: 20s\n",
       "shutdownGracePeriodCriticalPods: must not be longer than shutdownGracePeriod"},
      {"podLogsDir: logs\n", "podLogsDir: must be an absolute path"},
      {"podLogsDir: /var/../log\n", "podLogsDir: must be an absolute path"},
      {"tlsCertFile: /c\n", "tlsCertFile: and tlsPrivateKeyFile must both be set"},
      {"systemCgroups: /sys\n", "systemCgroups: needs cgroupRoot"},
      {"runOnce: true\n", "runOnce: must be false"},
      {"containerRuntimeEndpoint: \"\"\n", "containerRuntimeEndpoint: must be set"},
      {"maxPods: many\n", "maxPods"},
      {"registerWithTaints: [{key: a, effect: Never}]\n",
       "registerWithTaints[0].effect: must be one of NoSchedule, PreferNoSchedule, NoExecute, got \"Never\""},
      {"userNamespaces: {idsPerPod: 65537}\n", "userNamespaces.idsPerPod: must be a multiple of 65536, got 65537"},
      {"logging: {verbosity: 11}\n", "logging.verbosity: must be 0 to 10, got 11"},
      {"serializeImagePulls: true\nmaxParallelImagePulls: 3\n",
       "maxParallelImagePulls: must be 1 while serializeImagePulls is true, got 3"},
  };
  for (const Row& row : rows) {
    Machine machine;
    CAPTURE(row.fields);
    const std::string told = machine.problem_of(row.fields);
    CHECK_MESSAGE(told.find(row.problem) != std::string::npos, told);
  }
}

TEST_CASE("all that is wrong is told at once") {
  Machine machine;

  const std::string told = machine.problem_of("port: 0\nmaxPods: -1\n");

  CHECK(told == "port: must be 1 to 65535, got 0\nmaxPods: must be at least 0, got -1");
}

TEST_CASE("an unknown field warns in the kubelet's document and is refused in ours, and everywhere with --strict") {
  Machine machine;
  machine.file("/c.yaml", std::string(kHead) + "maxPodz: 3\n");
  machine.file("/own.yaml", std::string(kOwnHead) + "devicesWait: 3s\n");

  const auto loaded = machine.load({"--config=/c.yaml"});
  REQUIRE(loaded.ok());
  REQUIRE(loaded->warnings.size() == 1);
  CHECK(loaded->warnings[0] == "/c.yaml: line 3: maxPodz: unknown field, did you mean maxPods?");
  CHECK(machine.problems({"--config=/c.yaml", "--strict"}) == loaded->warnings[0]);
  CHECK(machine.problems({"--config=/own.yaml"}) ==
        "/own.yaml: line 3: devicesWait: unknown field, did you mean deviceWait?");
}

TEST_CASE("what is set and has no effect is named at start") {
  Machine machine;
  machine.file("/c.yaml", std::string(kHead) + "cpuManagerPolicy: static\n");

  const auto loaded = machine.load({"--config=/c.yaml"});

  REQUIRE(loaded.ok());
  CHECK(loaded->warnings == Strings{"cpuManagerPolicy has no effect in this release: all containers share all CPUs"});
}

TEST_CASE("files that cannot be used are refused by name") {
  Machine machine;
  machine.file("/kind.yaml", "apiVersion: v1\nkind: Pod\n");
  machine.file("/broken.yaml", "a: [\n");
  machine.file("/twice.yaml", std::string(kHead) + "---\n" + kHead);
  machine.file("/large.yaml", std::string(kHead) + std::string(limits::kConfigFileBytes, '#'));

  CHECK(machine.problems({"--config=/none.yaml"}).find("/none.yaml") != std::string::npos);
  CHECK(machine.problems({"--config=/kind.yaml"}) ==
        "/kind.yaml: must be kind KubeletConfiguration (kubelet.config.k8s.io/v1beta1) or PodwrightConfiguration "
        "(podwright.dev/v1alpha1), got kind \"Pod\" (v1)");
  CHECK(machine.problems({"--config=/broken.yaml"}).find("/broken.yaml: ") == 0);
  CHECK(machine.problems({"--config=/twice.yaml"}).find("two documents of kind KubeletConfiguration") !=
        std::string::npos);
  CHECK(machine.problems({"--config=/large.yaml"}).find("/large.yaml") != std::string::npos);
}

TEST_CASE("folders of drop-ins end somewhere") {
  Machine machine;
  std::string path = "/d";
  for (int i = 0; i <= limits::kConfigDirDepth; ++i) path += "/x";
  machine.file(path + "/a.conf", kHead);

  CHECK(machine.problems({"--config-dir=/d"}).find("folders may be nested") != std::string::npos);
}

TEST_CASE("the effective configuration has the defaults and masks the headers of the URL") {
  Machine machine;
  machine.file("/c.yaml",
               std::string(kHead) + "staticPodURL: https://x/\nstaticPodURLHeader: {Authorization: [Bearer secret]}\n");

  const auto json = nlohmann::json::parse(machine.good({"--config=/c.yaml"}).effective_json);

  CHECK(json["kind"] == "KubeletConfiguration");
  CHECK(json["maxPods"] == 110);
  CHECK(json["syncFrequency"] == "1m0s");
  CHECK(json["staticPodURLHeader"]["Authorization"][0] == "<masked>");
}

TEST_CASE("help and version need no configuration") {
  Machine machine;

  const auto help = machine.load({"--help", "--config=/none"});
  const auto version = load_config({"--version"}, "kubelet", machine.tree, machine.host);

  REQUIRE(help.ok());
  CHECK_FALSE(help->config);
  CHECK(help->text.find("--config") != std::string::npos);
  REQUIRE(version.ok());
  CHECK(version->text == "Kubernetes v1.36.3\n");
}

TEST_CASE("flags without a field are checked") {
  Machine machine;

  CHECK(machine.problems({"--hostname-override=a_b"}).find("--hostname-override: must be a name") == 0);
  CHECK(machine.problems({"--node-ip=10.0.0.1,10.0.0.2"}).find("--node-ip: must be one address") == 0);
  CHECK(machine.problems({"--exit-on-lock-contention"}) == "--exit-on-lock-contention: needs --lock-file");
  CHECK(machine.problems({"--cloud-provider=aws"}) == "--cloud-provider: must be one of external, got \"aws\"");
  CHECK(machine.good({"--node-labels=a=b,c="}).node.labels == StringMap{{"a", "b"}, {"c", ""}});
  CHECK(machine.good({"--node-ip=10.0.0.1,fd00::1"}).node.ips == Strings{"10.0.0.1", "fd00::1"});
}

TEST_CASE("a document is checked as strictly as --strict does") {
  CHECK(check_config_document(kHead, Host{.hostname = "n"}).empty());
  CHECK(check_config_document(std::string(kHead) + "port: 0\n", Host{.hostname = "n"}) ==
        Strings{"port: must be 1 to 65535, got 0"});
  CHECK(check_config_document(std::string(kHead) + "maxPodz: 0\n", Host{.hostname = "n"}).size() == 1);
}
