// SimWorld: a machine in virtual time: a disk, cgroups, a runtime, a table's files; and on it the real Agent, which may
// be started, killed at any step, and started again. Everything but the Agent outlives its crash.
#pragma once

#include <memory>
#include <set>
#include <string>

#include "agent/agent.h"
#include "agent/table/memory_vfs.h"
#include "agent/table/sqlite_table.h"
#include "base/co/offload.h"
#include "base/co/sim_loop.h"
#include "base/files/memory_cgroups.h"
#include "base/files/memory_tree.h"
#include "base/net/memory_net.h"
#include "base/process/scripted_processes.h"
#include "cri/fake/fake_runtime.h"

namespace podwright::sim {

inline constexpr char kManifests[] = "/etc/kubernetes/manifests";

// A status as it was published, for invariants over time.
struct Published {
  Instant at;
  int life = 0;  // of the agent
  PodUid uid;
  PodKey key;
  pods::PodPtr pod;
  pods::PodStatusPtr status;
  std::string state;
};

class SimWorld {
 public:
  explicit SimWorld(uint64_t seed);
  ~SimWorld();

  SimLoop& loop() { return *loop_; }
  cri::FakeRuntime& runtime() { return *runtime_; }
  MemoryTree& tree() { return *tree_; }
  table::MemoryVfs& table_files() { return vfs_; }
  config::Config& config() { return config_; }
  Agent* agent() { return life_ ? life_->agent.get() : nullptr; }
  SeededRng& rng() { return rng_; }
  int lives() const { return lives_; }
  // When the agent of today was started.
  Instant started_at() const { return started_at_; }

  // ---- the agent ----
  void start_agent();
  // SIGKILL: nothing of it is left, the rest of the machine goes on.
  void kill_agent();
  // SIGKILL and start.
  void restart_agent();
  // The power goes and comes back: what was not synced is lost, containers are gone, the boot is another one.
  void reboot();
  bool runs() const { return life_ != nullptr; }

  // ---- manifests ----
  void write_manifest(const std::string& name, const std::string& text);
  void remove_manifest(const std::string& name);
  const std::map<std::string, std::string>& manifests() const { return manifests_; }

  // ---- time ----
  void run_for(Duration time);
  // True where `done` came to hold within `time`.
  template <class Done>
  bool wait(Done done, Duration time) {
    const Instant limit = loop_->now() + time;
    while (!done()) {
      if (!step(limit)) return done();
    }
    return true;
  }
  // One piece of work; false where nothing is due by `limit`.
  bool step(Instant limit);

  // ---- what is seen ----
  // The newest view of a pod by its full name; null where there is none.
  pods::PodViewPtr pod(const std::string& name) const;
  std::string phase(const std::string& name) const;
  const std::vector<Published>& published() const { return published_; }
  // The run of a container that is alive now; null where there is none.
  const cri::ContainerLife* running(const std::string& pod, const std::string& container) const;
  std::vector<const cri::ContainerLife*> runs(const std::string& pod, const std::string& container) const;

 private:
  void install();
  // What dies with the agent, in the order of its making.
  struct Life {
    explicit Life(SimWorld& world);
    SimOffload offload;
    MemoryNet net;
    std::unique_ptr<table::SqliteTable> table;
    std::unique_ptr<Agent> agent;
    std::unique_ptr<Scope> scope;
  };
  void note_published();

  uint64_t seed_;
  SeededRng rng_;
  std::unique_ptr<SimLoop> loop_;
  std::unique_ptr<cri::FakeRuntime> runtime_;
  std::unique_ptr<MemoryTree> tree_;
  std::shared_ptr<MemoryCgroups> cgroups_;
  ScriptedProcesses processes_;
  table::MemoryVfs vfs_;
  config::Config config_;
  std::unique_ptr<Signals> signals_;
  std::map<std::string, std::string> manifests_;
  std::unique_ptr<Life> life_;
  int lives_ = 0;
  Instant started_at_{};
  int boots_ = 1;
  uint64_t seen_version_ = 0;
  std::map<PodUid, pods::PodViewPtr> seen_;
  std::vector<Published> published_;
};

}  // namespace podwright::sim
