// Agent: composes everything below, in the order of the dependencies. It knows the outside only through the ports it is
// handed, so that main.cpp runs it on the machine and tests/sim runs the same agent in virtual time.
#pragma once

#include <functional>
#include <memory>

#include "agent/cgroups/pod_cgroups.h"
#include "agent/config/config.h"
#include "agent/containers/collector.h"
#include "agent/containers/config.h"
#include "agent/containers/log_rotation.h"
#include "agent/events/event_recorder.h"
#include "agent/eviction/evictor.h"
#include "agent/images/image_cache.h"
#include "agent/images/image_collector.h"
#include "agent/objects/manifest_objects.h"
#include "agent/pods/node_view.h"
#include "agent/sources/file_source.h"
#include "agent/sources/http_source.h"
#include "agent/sources/mux.h"
#include "agent/sync/parts.h"
#include "agent/sync/sync_loop.h"
#include "agent/table/pod_table.h"
#include "agent/usage/usage.h"
#include "agent/volumes/pod_volumes.h"
#include "base/net/net.h"
#include "base/process/processes.h"
#include "base/process/signals.h"
#include "pleg/pleg.h"

namespace podwright {

// The seam: each has a real and a simulated form.
struct Ports {
  Loop& loop;
  Offload& offload;
  Tree& tree;
  Processes& processes;
  Signals& signals;
  Net& net;
  cri::Runtime& runtime;
  cri::Images& images;
  cri::RuntimeEvents& runtime_events;
  table::PodTable& table;
  sources::Fetch fetch;
  // Ends of processes, as hints; null without.
  ProcessEnds* process_ends = nullptr;
};

// What the machine is, looked at once at start.
struct Machine {
  BootId boot;
  std::size_t cores = 1;
  int64_t memory_bytes = 0;
  std::vector<std::string> addresses;  // of the node, primary first; never empty
  std::string kernel, os_image, machine_id, architecture;
  bool may_lower_oom_score = true;
  cgroups::Hierarchy hierarchy;
  cgroups::Driver* systemd = nullptr;
};

class Agent {
 public:
  Agent(Ports ports, const config::Config& config, Machine machine);
  ~Agent();

  // Waits for the runtime, adopts what runs, then acts on what the sources say. Runs until cancelled.
  Co<void> run();
  // After run() has ended: waits are left, calls with an effect get half a second (then they are found again at the
  // next start), the table is committed. Containers run on.
  Co<void> stop();

  // Gives pods the devices of plugins. Before run(); `plugins` lives until stop() has ended.
  void serve_devices(devices::DevicePlugins& plugins);

  // What is missing before full control, for STATUS= and describe; empty once the agent is in full control.
  const std::string& waiting_for() const { return waiting_for_; }
  bool in_control() const { return waiting_for_.empty(); }

  pods::NodeBoard& board() { return board_; }
  events::EventRecorder& events() { return events_; }
  Steps& steps() { return steps_; }
  sync::SyncLoop& sync_loop() { return *sync_; }
  probes::Probes& probes() { return probes_; }
  const containers::NodeFacts& node() const { return node_; }
  const Machine& machine() const { return machine_; }
  const config::Config& config() const { return config_; }
  // When this agent started, by the wall clock.
  WallTime started_at() const { return started_at_; }
  // "containerd://1.6.20"; empty before the runtime has answered.
  const std::string& runtime_version() const { return runtime_version_; }
  table::TableState table_state() const { return ports_.table.state(); }
  pleg::Pleg& pleg() { return *pleg_; }
  pleg::RuntimeCache& cache() { return cache_; }
  usage::Usage& usage() { return *usage_; }
  const eviction::Evictor& evictor() const { return *evictor_; }
  const images::ImageCollector& image_collector() const { return *image_collector_; }
  // Told when anything that readiness reports say has changed.
  void on_progress(std::function<void()> listener) { progress_ = std::move(listener); }

 private:
  Co<void> connect_runtime();
  Co<void> settle_cgroups();
  Co<void> bound_reserved();
  Co<void> adopt();
  Co<void> follow_objects();
  void start_sources();
  probes::ProbeOptions probe_options() const;
  std::vector<containers::LiveLog> live_logs() const;
  // pressure.cpp
  void make_evictor();
  std::vector<pods::PodPtr> active_pods() const;
  std::vector<std::string> wanted_images() const;
  void restart_evicted();
  Co<absl::StatusOr<FsStat>> image_file_system();
  Co<absl::Status> remove_unused_images(std::function<Co<bool>()> enough);
  void progress(std::string waiting_for);

  Ports ports_;
  const config::Config& config_;
  Machine machine_;
  std::string waiting_for_ = "the container runtime";
  std::string runtime_version_;
  WallTime started_at_;
  std::function<void()> progress_;

  Steps steps_;
  containers::NodeFacts node_;
  events::EventRecorder events_;
  pods::NodeBoard board_;
  objects::ManifestObjects objects_;
  cgroups::PodCgroups cgroups_;
  images::ImageCache images_;
  volumes::PodVolumes volumes_;
  probes::Hooks hooks_;
  probes::Probes probes_;
  pleg::RuntimeCache cache_;
  sync::StartGovernor governor_;
  sync::Strays strays_;
  sync::UserNamespaces user_namespaces_;
  sync::Parts parts_;
  std::unique_ptr<sync::SyncLoop> sync_;
  std::unique_ptr<pleg::Pleg> pleg_;
  sources::Mux mux_;
  std::unique_ptr<sources::FileSource> file_source_;
  std::unique_ptr<sources::HttpSource> http_source_;
  std::unique_ptr<containers::Collector> collector_;
  std::unique_ptr<containers::LogRotation> log_rotation_;
  std::unique_ptr<usage::Usage> usage_;
  std::unique_ptr<images::ImageCollector> image_collector_;
  std::unique_ptr<eviction::Evictor> evictor_;
  Scope scope_;
};

// The parts of Config that become Options and facts.
containers::NodeFacts node_facts(const config::Config& config, const Machine& machine);
admission::NodeCapacity node_capacity(const config::Config& config, const Machine& machine);

}  // namespace podwright
