// World: the sandboxes, containers and images of the fake runtime, and what they do over time. No coroutine and no
// caller lives here. Every function is an effect that happens at once, as of agenda.now(); what follows later (an exit,
// a KILL) goes on the agenda. What was ever true is kept apart, in the truth, for invariants.
#pragma once

#include <absl/status/status.h>
#include <absl/status/statusor.h>

#include <functional>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "base/co/sink.h"
#include "cri/fake/agenda.h"
#include "cri/fake/scripts.h"
#include "cri/runtime.h"

namespace podwright::cri {

// One run of one container, from its creation on; kept for ever.
struct ContainerLife {
  PodUid uid;
  ContainerName name;
  ContainerId id;
  SandboxId sandbox;
  uint32_t attempt = 0;
  Instant created_at;
  std::optional<Instant> started_at;
  std::optional<Instant> ended_at;
  std::optional<Instant> removed_at;
  int32_t exit_code = 0;
  bool oom = false;
  bool forgotten = false;
  std::optional<Instant> term_at;  // the first TERM
  std::vector<std::pair<Instant, std::vector<std::string>>> execs;
};

struct SandboxLife {
  PodUid uid;
  SandboxId id;
  uint32_t attempt = 0;
  Instant ready_at;
  std::optional<Instant> ended_at;
  std::optional<Instant> removed_at;
};

struct Truth {
  std::vector<ContainerLife> containers;
  std::vector<SandboxLife> sandboxes;

  // A sentence for each two runs of one (pod, container name) that overlapped; empty where all is well.
  std::vector<std::string> overlapping_containers() const;
  // The same for two ready sandboxes of one pod.
  std::vector<std::string> overlapping_sandboxes() const;
  std::vector<const ContainerLife*> runs_of(const PodUid& uid, const ContainerName& name) const;
};

class World {
 public:
  World(Agenda& agenda, Rng& rng, Sink<Event> tell) : agenda_(agenda), rng_(rng), tell_(std::move(tell)) {}

  // ---- names: an ID for a name that nobody has, or AlreadyExists ----
  absl::StatusOr<std::string> reserve(const std::string& name);
  void release(const std::string& name) { names_.erase(name); }

  // ---- sandboxes ----
  SandboxId add_sandbox(SandboxId id, std::string name, SandboxConfig config);
  void stop_sandbox(const SandboxId& id);
  void remove_sandbox(const SandboxId& id);
  // Its own process dies: not ready; the containers go on.
  void kill_sandbox(const SandboxId& id);
  absl::StatusOr<SandboxStatus> sandbox_status(const SandboxId& id) const;
  std::vector<SandboxStatus> list_sandboxes(const Filter& filter) const;

  // ---- containers ----
  absl::Status may_create(const SandboxId& sandbox, const ContainerConfig& config) const;
  void add_container(ContainerId id, std::string name, const SandboxId& sandbox, ContainerConfig config,
                     const SandboxConfig& sandbox_config);
  absl::Status start(const ContainerId& id);
  // `ended` is called once it does not run; the KILL after `grace` is only sent where `wanted` still says so.
  void stop(const ContainerId& id, Duration grace, std::function<bool()> wanted, std::function<void()> ended);
  void exit(const ContainerId& id, int32_t code, bool oom);
  void remove(const ContainerId& id);
  void forget(const ContainerId& id);
  absl::StatusOr<ContainerStatus> status(const ContainerId& id) const;
  std::vector<ContainerStatus> list(const Filter& filter) const;
  std::vector<ContainerStats> stats(const Filter& filter) const;
  absl::Status update(const ContainerId& id, Resources resources);
  absl::Status must_run(const ContainerId& id) const;
  // `timeout` zero: none. The answer comes when the command, its time or the container ends.
  void exec(const ContainerId& id, const std::vector<std::string>& command, Duration timeout,
            std::function<void(absl::StatusOr<ExecResult>)> done);
  // All processes are gone, as after a power cut; no event tells.
  void reboot();

  // Whose a container or sandbox is.
  PodUid owner_of(const std::string& id) const;
  ContainerName name_of(const std::string& id) const;

  // ---- behaviour ----
  std::map<std::pair<std::string, ContainerName>, ContainerScript> scripts;  // by pod UID, or by ns/name
  std::function<ContainerScript(const SandboxConfig&, const ContainerConfig&)> default_script;
  bool checks_images = true;

  // ---- images ----
  Image& add_image(const std::string& ref);
  const Image* find_image(const std::string& ref) const;
  void remove_image(const std::string& ref);
  std::vector<Image> images() const;
  std::map<std::string, ImageScript> image_scripts;  // by reference

  const Truth& truth() const { return truth_; }

 private:
  struct Sandbox {
    std::string name;
    SandboxStatus status;
    std::size_t life = 0;
  };
  struct Container {
    std::string name;
    ContainerConfig config;
    SandboxConfig sandbox_config;
    ContainerStatus status;
    std::size_t life = 0;
    std::vector<std::function<void()>> when_ended;
  };

  const Container* find(const ContainerId& id) const;
  Container* find(const ContainerId& id);
  Container* running(const ContainerId& id);
  ContainerScript script_of(const Container& container) const;
  void tell(Event::Kind kind, const std::string& id);
  void end_sandbox(Sandbox& sandbox);
  std::string draw_address();

  Agenda& agenda_;
  Rng& rng_;
  Sink<Event> tell_;
  std::map<std::string, std::string> names_;  // reserved name to the ID it is for
  std::map<SandboxId, Sandbox> sandboxes_;
  std::map<ContainerId, Container> containers_;
  std::map<std::string, Image> images_;
  uint32_t addresses_ = 0;
  Truth truth_;
};

}  // namespace podwright::cri
