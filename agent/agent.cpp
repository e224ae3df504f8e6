#include "agent/agent.h"

#include <algorithm>
#include <sstream>

#include "agent/usage_targets.h"
#include "api/amount.h"
#include "base/limits.h"
#include "base/status/annotate.h"

namespace podwright {
namespace {

const LogSubject kWho{{"flow", "agent"}};
constexpr Duration kRuntimeRetry = 1s;
constexpr Duration kRuntimeCall = 5s;

template <class To>
To to(Duration duration) {
  return std::chrono::duration_cast<To>(duration);
}

int64_t amount(const std::map<std::string, std::string>& quantities, const std::string& name, bool milli) {
  const auto found = quantities.find(name);
  if (found == quantities.end()) return 0;
  return milli ? api::milli_of(found->second) : api::units_of(found->second);
}

// nameserver, search and options lines. Source: resolv.conf(5).
void read_resolver(const std::string& text, containers::NodeFacts& node) {
  std::istringstream lines(text);
  std::string line;
  while (std::getline(lines, line)) {
    std::istringstream words(line.substr(0, line.find_first_of("#;")));
    std::string key;
    words >> key;
    std::vector<std::string> values;
    for (std::string word; words >> word;) values.push_back(word);
    if (key == "nameserver" && !values.empty()) node.host_nameservers.push_back(values.front());
    if (key == "search" || key == "domain") node.host_searches = values;  // the last line counts
    if (key == "options") node.host_options.insert(node.host_options.end(), values.begin(), values.end());
  }
}

cgroups::Options cgroup_options(const config::Config& config, const Machine& machine) {
  cgroups::Options options;
  options.per_qos = config.cgroups.per_qos;
  options.cgroup_root = config.cgroups.root.empty() ? "/" : config.cgroups.root;
  const bool systemd = machine.systemd != nullptr && config.cgroups.systemd_driver;
  options.driver = systemd ? cgroups::DriverKind::kSystemd : cgroups::DriverKind::kCgroupfs;
  options.pod_limits.cfs_quota = config.cgroups.cpu_cfs_quota;
  options.pod_limits.cfs_period = to<std::chrono::microseconds>(config.cgroups.cpu_cfs_quota_period);
  options.pod_limits.pids_limit = config.cgroups.pod_pids_limit;
  return options;
}

images::Options image_options(const config::Config& config) {
  images::Options options;
  options.parallel_pulls.reset();
  if (config.images.serialize_pulls) {
    options.parallel_pulls = 1;
  } else if (config.images.max_parallel_pulls) {
    options.parallel_pulls = static_cast<std::size_t>(std::max(*config.images.max_parallel_pulls, 1));
  }
  options.pulls_per_second = config.images.registry_pull_qps;
  options.pull_burst = config.images.registry_burst;
  return options;
}

volumes::Options volume_options(const config::Config& config, const Machine& machine) {
  volumes::Options options;
  options.root = config.root_dir;
  options.node_name = config.node.name;
  const auto capacity = node_capacity(config, machine);
  options.node_memory_bytes = static_cast<uint64_t>(capacity.memory_bytes);
  options.node_cpu_milli = capacity.cpu_milli;
  return options;
}

probes::HookOptions hook_options(const config::Config& config) {
  probes::HookOptions options;
  options.targets = probes::target_policy_from(config.pods.probe_targets).value_or(options.targets);
  return options;
}

sync::Options sync_options(const config::Config& config) {
  sync::Options options;
  options.runtime_request_timeout = to<std::chrono::seconds>(config.runtime.request_timeout);
  options.backoff.max = to<std::chrono::seconds>(config.pods.max_container_restart_period);
  options.backoff.initial = std::min(options.backoff.initial, options.backoff.max);
  return options;
}

}  // namespace

containers::NodeFacts node_facts(const config::Config& config, const Machine& machine) {
  containers::NodeFacts node;
  node.node_name = config.node.name;
  node.host_ips = config.node.ips.empty() ? machine.addresses : config.node.ips;
  node.host_ip = node.host_ips.empty() ? "127.0.0.1" : node.host_ips.front();
  node.cluster_domain = config.dns.cluster_domain;
  node.cluster_dns = config.dns.cluster_dns;
  node.pod_logs_dir = config.pods.logs_dir;
  node.root = config.root_dir;
  node.seccomp_root = join_path(config.root_dir, "seccomp");
  node.user_namespace_ids = static_cast<uint32_t>(config.pods.user_namespace_ids_per_pod);
  node.seccomp_default = config.pods.seccomp_default;
  node.cgroup_v2 = machine.hierarchy.version() == cgroups::Version::kV2;
  node.cpu_cfs_quota = config.cgroups.cpu_cfs_quota;
  node.cpu_cfs_quota_period = to<std::chrono::microseconds>(config.cgroups.cpu_cfs_quota_period);
  node.memory_capacity_bytes = machine.memory_bytes;
  const auto capacity = node_capacity(config, machine);
  node.cpu_allocatable_milli = capacity.cpu_milli;
  node.memory_allocatable_bytes = capacity.memory_bytes;
  node.may_lower_oom_score = machine.may_lower_oom_score;
  node.allowed_unsafe_sysctls = config.pods.allowed_unsafe_sysctls;
  return node;
}

admission::NodeCapacity node_capacity(const config::Config& config, const Machine& machine) {
  admission::NodeCapacity capacity;
  capacity.node_name = config.node.name;
  capacity.labels = config.node.labels;
  capacity.labels["kubernetes.io/os"] = "linux";
  capacity.labels["kubernetes.io/hostname"] = config.node.name;
  capacity.cpu_milli = static_cast<int64_t>(machine.cores) * 1000 -
                       amount(config.cgroups.system_reserved, "cpu", true) -
                       amount(config.cgroups.kube_reserved, "cpu", true);
  capacity.memory_bytes = machine.memory_bytes - amount(config.cgroups.system_reserved, "memory", false) -
                          amount(config.cgroups.kube_reserved, "memory", false);
  // What eviction keeps free is given to no pod. Source: container manager, GetNodeAllocatableReservation.
  if (const auto kept = config.eviction.hard.find("memory.available"); kept != config.eviction.hard.end()) {
    capacity.memory_bytes -=
        kept->second.percent
            ? static_cast<int64_t>(static_cast<double>(machine.memory_bytes) * *kept->second.percent / 100)
            : kept->second.value;
  }
  capacity.pods = config.node.max_pods;
  if (config.node.pods_per_core > 0) {
    capacity.pods = std::min<int64_t>(capacity.pods, static_cast<int64_t>(machine.cores) * config.node.pods_per_core);
  }
  capacity.allowed_unsafe_sysctls = config.pods.allowed_unsafe_sysctls;
  return capacity;
}

Agent::Agent(Ports ports, const config::Config& config, Machine machine)
    : ports_(ports),
      config_(config),
      machine_(std::move(machine)),
      started_at_(ports.loop.clock().wall()),
      steps_(ports.loop.clock()),
      node_(node_facts(config, machine_)),
      events_(ports.loop, config.node.name),
      board_(ports.loop, config.node.name),
      objects_(ports.loop),
      cgroups_(ports.loop, ports.offload, ports.tree, ports.signals, machine_.hierarchy,
               cgroup_options(config, machine_), machine_.systemd),
      images_(ports.loop, ports.images, events_, steps_, image_options(config)),
      volumes_(ports.loop, ports.offload, ports.tree, ports.processes, objects_, steps_,
               volume_options(config, machine_)),
      hooks_(ports.loop, ports.net, ports.runtime, steps_, hook_options(config)),
      probes_(ports.loop, ports.net, ports.runtime, steps_, probe_options(),
              [this](const probes::ProbeResult& result) { sync_->on_probe(result); }),
      cache_(ports.loop, ports.runtime, steps_),
      governor_(ports.loop, 4 * machine_.cores),
      strays_(ports.loop, [this](const PodUid& uid) { sync_->on_stray_ended(uid); }),
      user_namespaces_(config.pods.user_namespace_ids_per_pod),
      parts_{
          ports.loop, ports.offload, ports.tree, ports.runtime, cache_,           ports.table,   images_,
          volumes_,   cgroups_,      objects_,   events_,       probes_,          hooks_,        steps_,
          board_,     node_,         governor_,  strays_,       user_namespaces_, machine_.boot, sync_options(config)},
      mux_(
          ports.loop.clock(), [this](pods::SourceUpdate update) { sync_->on_source(std::move(update)); },
          [this](pods::SourceProblem problem) { board_.put_problem(std::move(problem)); }),
      scope_(ports.loop) {
  sync::LoopOptions loop_options;
  if (!config.sources.static_pod_path.empty()) loop_options.sources.insert(pods::SourceKind::kFile);
  if (!config.sources.static_pod_url.empty()) loop_options.sources.insert(pods::SourceKind::kHttp);
  sync_ = std::make_unique<sync::SyncLoop>(parts_, loop_options, node_capacity(config, machine_));
  pleg_ = std::make_unique<pleg::Pleg>(ports.loop, ports.runtime, ports.runtime_events, cache_, steps_,
                                       pleg::Pleg::Options(),
                                       [this](const pleg::PodEvent& event) { sync_->on_pod_event(event); });
  if (ports.process_ends != nullptr) pleg_->watch_processes(*ports.process_ends);
  containers::CollectorOptions collector_options;
  collector_options.kept_per_container = config.pods.maximum_dead_containers_per_container;
  collector_ = std::make_unique<containers::Collector>(
      ports.loop, ports.offload, ports.tree, ports.runtime, volumes_, events_, steps_, node_, collector_options,
      [this] {
        return containers::CollectorFacts{sync_->known_pods(), sync_->sources_ready()};
      });
  containers::RotationOptions rotation;
  rotation.max_bytes = config.pods.container_log_max_size;
  rotation.max_files = config.pods.container_log_max_files;
  rotation.period = config.pods.container_log_monitor_interval;
  rotation.workers = static_cast<std::size_t>(std::max(config.pods.container_log_max_workers, 1));
  log_rotation_ = std::make_unique<containers::LogRotation>(ports.loop, ports.offload, ports.tree, ports.runtime,
                                                            steps_, rotation, [this] { return live_logs(); });
  usage_ = std::make_unique<usage::Usage>(
      ports.loop, ports.offload, ports.tree, ports.runtime, ports.images, steps_, machine_.hierarchy,
      usage_node(config, cgroups_.driver()),
      [this] { return usage_targets(*board_.snapshot(), cache_, cgroups_, node_); }, usage::Options());
  make_evictor();
}

Agent::~Agent() = default;

probes::ProbeOptions Agent::probe_options() const {
  probes::ProbeOptions options;
  options.agent_started = ports_.loop.now();
  options.targets = probes::target_policy_from(config_.pods.probe_targets).value_or(options.targets);
  options.processes_of = [this](const PodUid& uid, const ContainerId& id) {
    return container_processes(ports_.tree, cgroups_, uid, id);
  };
  return options;
}

std::vector<containers::LiveLog> Agent::live_logs() const {
  std::vector<containers::LiveLog> logs;
  for (const auto& uid : sync_->known_pods()) {
    const auto seen = cache_.get(uid);
    if (!seen) continue;
    for (const auto& container : seen->containers) {
      if (container.state == cri::ContainerState::kRunning && !container.log_path.empty()) {
        logs.push_back({container.id, container.log_path});
      }
    }
  }
  return logs;
}

void Agent::serve_devices(devices::DevicePlugins& plugins) {
  parts_.devices = &plugins;
  plugins.set_lives([this](const PodUid& uid) { return sync_->holds_resources(uid); });
  plugins.on_change([this] {
    for (const auto& uid : sync_->known_pods()) sync_->poke(uid);
  });
}

void Agent::progress(std::string waiting_for) {
  if (waiting_for_ == waiting_for) return;
  waiting_for_ = std::move(waiting_for);
  log_info(kWho, waiting_for_.empty() ? "in full control" : "starting", {{"waiting_for", waiting_for_}});
  if (progress_) progress_();
}

// The runtime may come later than the agent: asked until it answers.
Co<void> Agent::connect_runtime() {
  std::string told;
  while (!co_await is_stopping()) {
    auto version = co_await ports_.runtime.version(after(ports_.loop.now(), kRuntimeCall));
    absl::Status problem = version.status();
    if (version.ok()) {
      auto status = co_await ports_.runtime.status(false, after(ports_.loop.now(), kRuntimeCall));
      problem = status.status();
      if (status.ok()) {
        node_.runtime = *std::move(status);
        auto capacity = sync_->capacity();
        capacity.supplemental_groups_policy = node_.runtime.supplemental_groups_policy;
        capacity.user_namespaces = std::any_of(node_.runtime.handlers.begin(), node_.runtime.handlers.end(),
                                               [](const auto& handler) { return handler.user_namespaces; });
        sync_->set_capacity(std::move(capacity));
        runtime_version_ = fmt::format("{}://{}", version->runtime_name, version->runtime_version);
        log_info(kWho, "connected to the container runtime",
                 {{"runtime", version->runtime_name}, {"version", version->runtime_version}});
        co_return;
      }
    }
    const std::string text = text_of(problem);
    if (text != told && !absl::IsCancelled(problem)) {
      log_warning(kWho, "the container runtime does not answer, waiting for it",
                  {{"endpoint", config_.runtime.endpoint}, {"error", text}});
      told = text;
    }
    (void)co_await sleep_until(ports_.loop, after(ports_.loop.now(), kRuntimeRetry));
  }
}

Co<void> Agent::adopt() {
  while (true) {
    progress("a complete list of what runs");
    auto running = co_await cache_.look_at_all();
    if (co_await is_stopping()) co_return;
    if (!running.ok()) {
      log_warning(kWho, "could not list what runs", {{"error", text_of(running.status())}});
      if (co_await sleep_until(ports_.loop, after(ports_.loop.now(), kRuntimeRetry)) == Wait::kCancelled) co_return;
      continue;
    }
    auto records = ports_.table.load();
    const Instant now = ports_.loop.now();
    const WallTime wall = ports_.loop.clock().wall();
    for (auto& record : records) {
      // The devices of an earlier boot may have other names now: such a pod is given new ones.
      if (record.boot != machine_.boot) record.devices.clear();
      if (parts_.devices != nullptr) parts_.devices->adopt(record.uid, record.devices);
      carry_over_reboot(record, machine_.boot, now, wall);
      if (record.pod) cgroups_.adopt(*record.pod);
    }
    ports_.table.set_boot(machine_.boot);
    sync_->adopt(std::move(records), *running);
    co_return;
  }
}

void Agent::start_sources() {
  sources::ManifestRules rules;
  rules.node_name = config_.node.name;
  rules.allow_config_objects = config_.node.kubeconfig.empty();
  rules.strict = config_.sources.strict;
  if (!config_.sources.static_pod_path.empty()) {
    sources::FileOptions options;
    options.path = config_.sources.static_pod_path;
    options.rescan = config_.sources.file_check_frequency;
    options.suffixes_only = config_.sources.manifest_suffixes_only;
    options.rules = rules;
    file_source_ = std::make_unique<sources::FileSource>(
        ports_.loop, ports_.offload, ports_.tree, steps_, std::move(options),
        [this](sources::PodSet set) { mux_.put(std::move(set)); },
        [this](pods::SourceProblem problem) {
          if (!problem.text.empty()) {
            events_.record_node(events::kWarning, "FailedValidation", problem.origin + ": " + problem.text);
          }
          board_.put_problem(std::move(problem));
        },
        objects_);
    scope_.spawn("file source", file_source_->run());
  }
  if (!config_.sources.static_pod_url.empty()) {
    sources::HttpOptions options;
    options.url = config_.sources.static_pod_url;
    options.headers = config_.sources.static_pod_url_header;
    options.period = config_.sources.http_check_frequency;
    options.rules = rules;
    http_source_ = std::make_unique<sources::HttpSource>(
        ports_.loop, ports_.offload, steps_, ports_.fetch, std::move(options),
        [this](sources::PodSet set) { mux_.put(std::move(set)); },
        [this](pods::SourceProblem problem) { board_.put_problem(std::move(problem)); });
    scope_.spawn("http source", http_source_->run());
  }
}

// A change of an object reaches the volumes that show it at once: every pod with such volumes is brought up to date.
Co<void> Agent::follow_objects() {
  while (true) {
    if (co_await objects_.changed(Instant::max()) == Wait::kCancelled) co_return;
    const auto view = board_.snapshot();
    for (const auto& pod : view->pods) {
      if (!pod->pod || pod->state != "Syncing") continue;
      volumes::PodFacts facts{node_.host_ip, node_.host_ips, {}};
      const absl::Status status = co_await volumes_.update(pod->pod, facts);
      if (co_await is_stopping()) co_return;
      if (!status.ok() && !absl::IsFailedPrecondition(status)) {
        log_warning(pods::flow_of(*pod->pod).subject, "could not update a volume", {{"error", text_of(status)}});
      }
      sync_->poke(pod->uid);
    }
  }
}

Co<void> Agent::run() {
  for (const auto& directory : {config_.pods.logs_dir, node_.container_logs_dir}) {
    if (absl::Status made = ports_.tree.make_directories(directory, 0755); !made.ok()) {
      log_error(kWho, "could not make a directory", {{"path", directory}, {"error", text_of(made)}});
    }
  }
  if (!config_.dns.resolv_conf.empty()) {
    const auto text = ports_.tree.read(config_.dns.resolv_conf, limits::kHostsFileBytes);
    if (text.ok()) {
      read_resolver(*text, node_);
    } else {
      log_warning(kWho, "could not read the resolver's configuration",
                  {{"path", config_.dns.resolv_conf}, {"error", text_of(text.status())}});
    }
  }
  events_.record_node(events::kNormal, "Starting", "Starting kubelet.");
  co_await connect_runtime();
  if (co_await is_stopping()) co_return;
  co_await settle_cgroups();
  if (co_await is_stopping()) co_return;
  co_await adopt();
  if (co_await is_stopping()) co_return;
  scope_.spawn("pleg", pleg_->run());
  scope_.spawn("sync loop", sync_->run());
  scope_.spawn("collector", collector_->run());
  scope_.spawn("log rotation", log_rotation_->run());
  scope_.spawn("usage", usage_->run());
  scope_.spawn("eviction", evictor_->run());
  scope_.spawn("image collection", image_collector_->run());
  scope_.spawn("objects", follow_objects());
  start_sources();
  progress("");
  (void)co_await sleep_until(ports_.loop, Instant::max());
}

Co<void> Agent::stop() {
  co_await scope_.close();
  co_await usage_->close();
  co_await probes_.close();
  co_await strays_.close(after(ports_.loop.now(), 500ms));
  co_await images_.close();
  co_await cache_.close();
  (void)co_await ports_.table.flush(table::Durability::kPowerSafe);
}

}  // namespace podwright
