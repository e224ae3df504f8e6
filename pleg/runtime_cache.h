// RuntimeCache: for each pod what the runtime has of it, and how good that knowledge is. Filled by targeted looks, by
// full lists, and by what the runtime or a call of ours has just said, which is believed at once and refined by the
// next look. A look at one pod that hangs disturbs no other.
#pragma once

#include <absl/status/statusor.h>

#include <functional>
#include <map>
#include <memory>
#include <set>
#include <unordered_map>
#include <vector>

#include "base/co/scope.h"
#include "base/step/step.h"
#include "cri/runtime.h"
#include "pleg/pod_runtime.h"

namespace podwright::pleg {

class RuntimeCache {
 public:
  struct Options {
    // Of one look at one pod.
    Duration look_deadline = std::chrono::seconds(2);
    Duration list_deadline = std::chrono::minutes(2);
  };

  RuntimeCache(Loop& loop, cri::Runtime& runtime, Steps& steps, Options options);
  RuntimeCache(Loop& loop, cri::Runtime& runtime, Steps& steps) : RuntimeCache(loop, runtime, steps, Options()) {}

  // What was last seen; null where nothing ever was.
  PodRuntimePtr get(const PodUid& uid) const;

  // One targeted look that begins no earlier than this call. Looks of one pod are shared by those who ask meanwhile.
  // A failed look leaves the cache as it was.
  Co<absl::StatusOr<PodRuntimePtr>> inspect(PodUid uid);

  // A complete look at everything, for the start.
  Co<absl::StatusOr<std::vector<PodRuntimePtr>>> look_at_all();

  // StartContainer returned OK: it runs.
  void believe_started(const PodUid& uid, const ContainerId& id);
  // The runtime said that it ended. Gives the pod, where the container is known.
  std::optional<PodUid> believe_exit(const ContainerId& id, int32_t exit_code, WallTime at, bool oom_killed);

  // Whose a container or sandbox is, as far as it was ever seen.
  std::optional<PodUid> owner_of(const std::string& id) const;

  // Takes the owners from full lists; gives the pods that are in neither list any more.
  void note_lists(const std::vector<cri::SandboxStatus>& sandboxes,
                  const std::vector<cri::ContainerStatus>& containers);

  void drop(const PodUid& uid);
  std::size_t size() const { return pods_.size(); }

  // Exits for which an event and a status call disagreed; the status won.
  uint64_t contradictions() const { return contradictions_; }

  Co<void> close() { return scope_.close(); }

 private:
  struct Look {
    explicit Look(Loop& loop) : done(loop) {}
    bool running = false;
    bool again = false;  // somebody asked after the running look had begun
    uint64_t finished = 0;
    uint64_t begun = 0;
    absl::Status result;
    Notice done;
  };

  Co<void> run_looks(PodUid uid, std::shared_ptr<Look> look);
  Co<absl::Status> look_once(PodUid uid);
  Co<absl::Status> fill(std::shared_ptr<PodRuntime> pod, Instant deadline);
  Co<void> fill_sandbox(std::shared_ptr<PodRuntime> pod, std::size_t index, Instant deadline, absl::Status* result);
  Co<void> fill_container(std::shared_ptr<PodRuntime> pod, std::size_t index, Instant deadline, absl::Status* result);
  void store(std::shared_ptr<PodRuntime> pod);

  Loop& loop_;
  cri::Runtime& runtime_;
  Steps& steps_;
  Options options_;
  std::map<PodUid, PodRuntimePtr> pods_;
  std::map<PodUid, std::shared_ptr<Look>> looks_;
  std::unordered_map<std::string, PodUid> owners_;
  // Exited containers whose status a status call gave: it changes no more.
  std::set<ContainerId> final_;
  // Ends that the runtime told before a look has seen them.
  struct Told {
    int32_t exit_code = 0;
    WallTime at;
    bool oom_killed = false;
  };
  std::map<ContainerId, Told> told_;
  uint64_t contradictions_ = 0;
  Scope scope_;
};

// The UID and the full name that the labels of a container or sandbox tell; nothing where it is not a pod's.
std::optional<std::pair<PodUid, PodKey>> pod_of(const cri::Labels& labels);

}  // namespace podwright::pleg
