// RuntimeCache: for each pod what the runtime has of it, and how good that knowledge is. Filled by targeted looks, by
// full lists, and by what the runtime or a call of ours has just said, which is believed at once and refined by the
// next look. A look at one pod that hangs disturbs no other.
#pragma once

#include <absl/status/statusor.h>

#include <map>
#include <memory>
#include <set>
#include <unordered_map>
#include <vector>

#include "base/co/bell.h"
#include "base/co/scope.h"
#include "base/step/step.h"
#include "cri/runtime.h"
#include "pleg/pod_runtime.h"
#include "pleg/relist.h"

namespace podwright::pleg {

class RuntimeCache {
 public:
  struct Options {
    // Of one look at one pod.
    Duration look_deadline = std::chrono::seconds(2);
    Duration list_deadline = std::chrono::minutes(2);
    // Looks at work at once. Hung ones hold their places until look_deadline, so there are more places than a
    // runtime with a few stuck pods uses up.
    std::size_t looks_at_once = 32;
    // How far the runtime's status calls may lag behind its own events before that is a contradiction.
    Duration status_lag = std::chrono::seconds(5);
  };

  RuntimeCache(Loop& loop, cri::Runtime& runtime, Steps& steps, Options options);
  RuntimeCache(Loop& loop, cri::Runtime& runtime, Steps& steps) : RuntimeCache(loop, runtime, steps, Options()) {}

  // What was last seen; null where nothing ever was.
  PodRuntimePtr get(const PodUid& uid) const;

  // One targeted look that begins no earlier than this call. Looks of one pod are shared by those who ask meanwhile.
  // A failed look leaves the cache as it was. NotFound where drop() came meanwhile.
  Co<absl::StatusOr<PodRuntimePtr>> inspect(PodUid uid);

  // A complete look at everything, for the start. A pod whose statuses cannot be had is left out: one that is stuck
  // does not keep the others waiting, and the first relist tells of it.
  Co<absl::StatusOr<std::vector<PodRuntimePtr>>> look_at_all();

  // StartContainer returned OK: it runs. A look that was answered before does not undo it.
  void believe_started(const PodUid& uid, const ContainerId& id);
  // The runtime said that it ended. Gives the pod, where the container is known. A status call may only refine reason
  // and message; one that says otherwise is a contradiction, and wins.
  std::optional<PodUid> believe_exit(const ContainerId& id, int32_t exit_code, WallTime at, bool oom_killed);

  // Whose a container or sandbox is, as far as it was ever seen.
  std::optional<PodUid> owner_of(const std::string& id) const;
  bool is_sandbox(const std::string& id) const;

  // Takes owners from lists, full or not.
  void note_lists(const std::vector<cri::SandboxStatus>& sandboxes,
                  const std::vector<cri::ContainerStatus>& containers);

  // Forgets the owners of what full lists do not have and no pod's last look had.
  void forget_unlisted(const std::vector<cri::SandboxStatus>& sandboxes,
                       const std::vector<cri::ContainerStatus>& containers);

  // The states of each pod as the cache has them, for comparison with full lists.
  AllStates states() const;

  // Pods with an end that was told and that no status call has confirmed yet.
  std::vector<PodUid> unconfirmed() const;

  // Forgets the pod, with a look that is at work.
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
    bool dropped = false;
    uint64_t finished = 0;
    uint64_t begun = 0;
    absl::Status result;
    Notice done;
  };

  Co<void> run_looks(PodUid uid, std::shared_ptr<Look> look);
  Co<absl::Status> look_once(PodUid uid, std::shared_ptr<Look> look);
  Co<void> fill_at_start(std::shared_ptr<PodRuntime> pod);
  Co<absl::Status> fill(std::shared_ptr<PodRuntime> pod, Instant deadline);
  Co<void> fill_sandbox(std::shared_ptr<PodRuntime> pod, std::size_t index, Instant deadline, absl::Status* result);
  Co<void> fill_container(std::shared_ptr<PodRuntime> pod, std::size_t index, Instant deadline, absl::Status* result);
  void apply_told(const PodRuntime& pod, cri::ContainerStatus& container);
  void forget_container(const ContainerId& id);
  void store(std::shared_ptr<PodRuntime> pod);

  Loop& loop_;
  cri::Runtime& runtime_;
  Steps& steps_;
  Options options_;
  std::map<PodUid, PodRuntimePtr> pods_;
  std::map<PodUid, std::shared_ptr<Look>> looks_;
  struct Owner {
    PodUid uid;
    bool sandbox = false;
  };
  std::unordered_map<std::string, Owner> owners_;  // of containers and sandboxes, by ID
  // Exited containers whose status a status call gave: it changes no more.
  std::set<ContainerId> final_;
  // Ends that the runtime told and no look has seen yet.
  struct Told {
    PodUid uid;
    Instant told_at;
    int32_t exit_code = 0;
    WallTime at;
    bool oom_killed = false;
  };
  std::map<ContainerId, Told> told_;
  // Starts that returned OK and that no look has seen yet.
  std::map<ContainerId, WallTime> started_;
  uint64_t contradictions_ = 0;
  Slots slots_;
  Scope scope_;
};

}  // namespace podwright::pleg
