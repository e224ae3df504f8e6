#include "agent/run.h"

#include <unistd.h>

#include <algorithm>
#include <cstdio>

#include "agent/cgroups/systemd_driver.h"
#include "agent/local_server.h"
#include "agent/table/instance_lock.h"
#include "agent/table/schema.h"
#include "agent/table/sqlite_table.h"
#include "base/co/offload.h"
#include "base/net/real_net.h"
#include "base/process/launcher_processes.h"
#include "base/process/process_ends.h"
#include "base/process/signals.h"
#include "base/process/termination.h"
#include "base/rpc/channel.h"
#include "base/rpc/poller.h"
#include "base/status/annotate.h"
#include "base/systemd/notify.h"
#include "base/systemd/sd_bus_units.h"
#include "cri/grpc/grpc_events.h"
#include "cri/grpc/grpc_runtime.h"
#include "devices/grpc/grpc_plugin.h"
#include "devices/grpc/registration_server.h"

namespace podwright {
namespace {

const LogSubject kWho{{"flow", "agent"}};
constexpr int kExitFailed = 1;
constexpr int kExitNewerTable = 4;
// READY is told after this at the latest, whether the runtime answers or not.
constexpr Duration kReadyAfter = 10s;
constexpr std::size_t kOffloadThreads = 2;
// The whole of a clean end. Source: design, Start and stop.
constexpr Duration kStopWithin = 2s;

void set_up_log(const config::LogSettings& settings) {
  set_log_verbosity(settings.verbosity);
  if (!set_log_vmodule(settings.vmodule)) {
    log_warning(kWho, "--vmodule is malformed and is ignored", {{"value", settings.vmodule}});
  }
  set_log_format(settings.json ? LogFormat::kJson : LogFormat::kText);
  start_log_writer();
}

// The channel's name of a CRI endpoint: "unix:///run/x.sock".
std::string channel_target(const std::string& endpoint) {
  return endpoint.starts_with("/") ? "unix://" + endpoint : endpoint;
}

// One life of the agent on the machine. Members are made in the order of their dependencies and end in reverse.
class Running {
 public:
  Running(const config::Config& config, RealLoop& loop, RealTree& tree, Launcher launcher, Machine machine,
          std::unique_ptr<table::SqliteTable> table)
      : config_(config),
        loop_(loop),
        tree_(tree),
        table_(std::move(table)),
        offload_(loop, kOffloadThreads),
        processes_(loop, std::move(launcher)),
        net_(loop),
        ends_(loop),
        poller_(loop),
        runtime_channel_(poller_, channel_target(config.runtime.endpoint)),
        image_channel_(poller_, channel_target(config.runtime.image_endpoint)),
        runtime_(loop, runtime_channel_),
        images_(loop, image_channel_),
        events_(loop, runtime_channel_),
        units_(loop),
        systemd_(loop, offload_, tree, machine.hierarchy, units_),
        agent_(Ports{loop, offload_, tree, processes_, signals_, net_, runtime_, images_, events_, *table_,
                     http_fetch(loop, net_), &ends_},
               config, with_systemd(std::move(machine))),
        devices_(loop, tree, agent_.steps(), devices::grpc_dial(poller_), device_options(config)),
        registration_(tree, devices_),
        server_(loop, offload_, tree, net_, config, runtime_, agent_),
        scope_(loop),
        stop_scope_(loop),
        termination_(loop, [this](int signal) { stop(signal); }) {
    agent_.on_progress([this] { tell_systemd(); });
    loop.observe_turns([this](Duration busy) { server_.observe_turn(busy); });
  }

  int run() {
    const absl::Status listening = server_.start();
    if (!listening.ok()) {
      log_error(kWho, "cannot listen", {{"error", text_of(listening)}});
      return kExitFailed;
    }
    // Without it the node still runs what needs no devices.
    if (const absl::Status registering = registration_.start(poller_); !registering.ok()) {
      log_error(kWho, "device plugins cannot register",
                {{"path", config_.pods.device_plugin_dir}, {"error", text_of(registering)}});
    }
    agent_.serve_devices(devices_);
    scope_.spawn("agent", agent_.run());
    loop_.call_at(after(loop_.now(), kReadyAfter), [this] { ready(); });
    if (const auto period = watchdog_period()) feed_watchdog(*period / 2);
    tell_systemd();
    loop_.run();
    return 0;
  }

 private:
  static devices::PluginsOptions device_options(const config::Config& config) {
    devices::PluginsOptions options;
    options.dir = config.pods.device_plugin_dir;
    return options;
  }

  // Slices are made where the unified hierarchy is systemd's. Source: sd_booted(3).
  Machine with_systemd(Machine machine) {
    const bool unified = machine.hierarchy.version() == cgroups::Version::kV2;
    if (unified && tree_.info("/run/systemd/system").ok()) machine.systemd = &systemd_;
    return machine;
  }

  void ready() {
    if (std::exchange(ready_told_, true)) return;
    notify_systemd("READY=1");
    log_info(kWho, "ready", {{"node", config_.node.name}});
  }

  void tell_systemd() {
    const std::string& waiting = agent_.waiting_for();
    notify_systemd("STATUS=" + (waiting.empty() ? std::string("in full control") : "waiting for " + waiting));
    if (waiting != "the container runtime") ready();
  }

  // Fed from the loop: a loop that is stuck feeds nobody, and systemd starts us again.
  void feed_watchdog(Duration period) {
    notify_systemd("WATCHDOG=1");
    loop_.call_at(after(loop_.now(), period), [this, period] { feed_watchdog(period); });
  }

  void stop(int signal) {
    log_info(kWho, "stopping, containers run on", {{"signal", signal}});
    notify_systemd("STOPPING=1");
    stop_scope_.spawn("stop", wind_down());
    loop_.call_at(after(loop_.now(), kStopWithin), [this] {
      log_warning(kWho, "the end took too long, leaving at once");
      loop_.stop();
    });
  }

  Co<void> wind_down() {
    co_await server_.stop();
    co_await scope_.close();
    co_await agent_.stop();
    co_await registration_.close();
    co_await devices_.close();
    (void)co_await table_->flush(table::Durability::kPowerSafe);
    loop_.stop();
  }

  const config::Config& config_;
  RealLoop& loop_;
  Tree& tree_;
  std::unique_ptr<table::SqliteTable> table_;
  ThreadOffload offload_;
  LauncherProcesses processes_;
  RealSignals signals_;
  RealNet net_;
  PidfdProcessEnds ends_;
  rpc::Poller poller_;
  rpc::Channel runtime_channel_, image_channel_;
  cri::GrpcRuntime runtime_;
  cri::GrpcImages images_;
  cri::GrpcEvents events_;
  SdBusUnits units_;
  cgroups::SystemdDriver systemd_;
  Agent agent_;
  devices::DevicePlugins devices_;
  devices::RegistrationServer registration_;
  LocalServer server_;
  bool ready_told_ = false;
  Scope scope_;
  Scope stop_scope_;
  TerminationSignals termination_;
};

absl::StatusOr<std::unique_ptr<table::SqliteTable>> open_table(const config::Config& config, RealLoop& loop,
                                                               Offload& writer) {
  const auto files = table::machine_files(join_path(config.root_dir, "podwright/state.db"));
  if (config.state_reset) {
    const auto aside = table::put_aside(files, "reset", loop.clock().wall());
    if (!aside.ok()) return annotate(aside.status(), "set the table aside (--state-reset)");
    log_warning(kWho, "the table was set aside by --state-reset", {{"path", *aside}});
  }
  return table::SqliteTable::open(loop, writer, files);
}

// --lock-file: null where there is none.
absl::StatusOr<std::unique_ptr<table::InstanceLock>> wait_for_start(const config::ProcessSettings& settings) {
  if (settings.lock_file.empty()) return nullptr;
  return table::InstanceLock::wait(settings.lock_file, [&settings](const std::string& pid) {
    log_info(kWho, "waiting for the lock file", {{"path", settings.lock_file}, {"held_by_pid", pid}});
  });
}

}  // namespace

int run_agent(config::Loaded loaded, RealLoop& loop, RealTree& tree, Launcher launcher) {
  const config::Config config = *std::move(loaded.config);
  set_up_log(config.log);
  log_info(kWho, "starting podwright", {{"version", PODWRIGHT_VERSION}, {"pid", getpid()}});
  for (const auto& warning : loaded.warnings) log_warning(kWho, warning);

  int exit_code = kExitFailed;
  const auto start_lock = wait_for_start(config.process);
  auto machine = look_at_machine(tree);
  absl::Status status = start_lock.ok() ? machine.status() : start_lock.status();
  if (status.ok()) status = prepare_host(config, *machine, tree);
  absl::StatusOr<std::unique_ptr<table::InstanceLock>> lock = absl::UnknownError("not tried");
  if (status.ok()) {
    lock = table::InstanceLock::acquire(join_path(config.root_dir, "podwright/lock"));
    status = lock.status();
  }
  ThreadOffload table_writer(loop, 1);
  absl::StatusOr<std::unique_ptr<table::SqliteTable>> table = absl::UnknownError("not tried");
  if (status.ok()) {
    table = open_table(config, loop, table_writer);
    status = table.status();
    if (!status.ok() && status.GetPayload(table::kNewerSchemaPayload)) exit_code = kExitNewerTable;
  }
  if (!status.ok()) {
    log_error(kWho, "cannot start", {{"error", text_of(status)}});
    stop_log_writer();
    std::fprintf(stderr, "podwright cannot start: %s\n", text_of(status).c_str());
    return exit_code;
  }
  {
    Running running(config, loop, tree, std::move(launcher), *std::move(machine), *std::move(table));
    exit_code = running.run();
  }
  log_info(kWho, "stopped");
  stop_log_writer();
  // Threads of gRPC may still be about; nothing of ours needs the usual end of a process.
  std::fflush(nullptr);
  return exit_code;
}

}  // namespace podwright
