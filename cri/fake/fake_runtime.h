// FakeRuntime: a small working container runtime behind the ports of cri/runtime.h, called directly. Containers run,
// exit by their scripts, keep their names reserved as containerd does, and tell events.
//
// Its world lives outside every coroutine: each call leaves an entry on the world's own agenda and waits for a value,
// so a caller that is cancelled, late or destroyed with its loop changes nothing of what the call does. One loop drives
// it at a time; for a crash of the agent:
//
//   runtime.detach();  loop.drop();                        // frames and timers of the agent are gone
//   SimLoop again(seed, loop.shared_clock());
//   runtime.attach(again);                                 // the world goes on, overdue effects first
//
// It outlives the flows that call it. Everything happens on the loop's thread.
#pragma once

#include <deque>
#include <map>
#include <memory>
#include <vector>

#include "base/co/bell.h"
#include "cri/fake/agenda.h"
#include "cri/fake/faults.h"
#include "cri/fake/method.h"
#include "cri/fake/scripts.h"
#include "cri/fake/world.h"
#include "cri/runtime.h"

namespace podwright::cri {

struct FakeRuntimeOptions {
  uint64_t seed = 1;
  // How long a call takes where `takes` has nothing for it.
  Duration usual = std::chrono::milliseconds(5);
  std::map<Method, Duration> takes;
  // From what happens to its event.
  Duration event_delay = std::chrono::milliseconds(1);
  // Until the event stream is opened again after it ended.
  Duration reopen_after = std::chrono::milliseconds(100);
  // Nothing: Unimplemented, as containerd before 2.0.
  std::optional<CgroupDriver> cgroup_driver;
  std::vector<RuntimeHandler> handlers = {{"", true, true}};
  // CreateContainer needs its image to be there.
  bool checks_images = true;
};

// As measured on containerd 1.6 with runc.
std::map<Method, Duration> containerd_durations();

class FakeRuntime final : public Runtime, public Images, public RuntimeEvents {
 public:
  explicit FakeRuntime(Loop& loop, FakeRuntimeOptions options = {});
  ~FakeRuntime() override;

  void attach(Loop& loop) { agenda_.attach(loop); }
  void detach() { agenda_.detach(); }

  // ---- behaviour of what runs ----
  void set_script(const PodUid& uid, const ContainerName& name, ContainerScript script);
  void set_script(const PodKey& pod, const ContainerName& name, ContainerScript script);
  // Asked where no script is set; for images, commands and attempts.
  void set_default_script(std::function<ContainerScript(const SandboxConfig&, const ContainerConfig&)> script);
  // Present without a pull.
  void add_image(const std::string& ref, ImageScript script = {});
  void set_image_script(const std::string& ref, ImageScript script);
  // What the last pull of it was given.
  std::optional<Auth> last_auth(const std::string& ref) const;
  void set_network_ready(bool ready) { network_ready_ = ready; }
  void set_takes(Method method, Duration takes) { options_.takes[method] = takes; }

  // ---- faults ----
  Faults& faults() { return faults_; }
  void fail_next(Method method, absl::Status status, int times = 1);
  // Until remove()d from faults(); calls that hang already hang until release_hung().
  uint64_t hang(Method method, CallMatch matches = nullptr);
  uint64_t delay(Method method, Duration delay, CallMatch matches = nullptr);
  // The effect comes `delay` late, the answer never.
  void lose_answer(Method method, Duration delay = {}, int times = 1, CallMatch matches = nullptr);
  // Calls that hang arrive now.
  void release_hung();
  EventChances& event_chances() { return event_chances_; }

  // ---- what happens of its own accord ----
  void exit_container(const ContainerId& id, int32_t code, bool oom = false) { world_.exit(id, code, oom); }
  void kill_sandbox(const SandboxId& id) { world_.kill_sandbox(id); }
  // The runtime loses it, without an event.
  void forget(const ContainerId& id) { world_.forget(id); }
  // For that long all calls fail and the event stream is closed; containers run on. Calls in flight fail, and whether
  // their effect still comes is drawn.
  void down(Duration time);
  bool is_down() const { return agenda_.now() < up_at_; }
  // Power cut: containers are exited (255, "Unknown"), sandboxes not ready, calls in flight without effect.
  void reboot();
  // Ends the event stream; it is opened again after a while.
  void break_events();

  // ---- what is true, for tests and invariants ----
  const Truth& truth() const { return world_.truth(); }
  std::vector<SandboxStatus> sandboxes() const { return world_.list_sandboxes({}); }
  std::vector<ContainerStatus> containers() const { return world_.list({}); }
  // As a status call would answer.
  absl::StatusOr<ContainerStatus> peek(const ContainerId& id) const { return world_.status(id); }
  absl::StatusOr<SandboxStatus> peek(const SandboxId& id) const { return world_.sandbox_status(id); }
  const std::vector<Call>& calls() const { return calls_; }
  int calls(Method method) const;
  // Calls whose effect may still come, though their callers may be gone.
  std::size_t in_flight() const { return pending_; }
  // The most calls of it that were ever at work at once.
  int most_at_once(Method method) const;
  World& world() { return world_; }
  Agenda& agenda() { return agenda_; }

  // ---- Runtime ----
  Co<absl::StatusOr<Version>> version(Instant deadline) override;
  Co<absl::StatusOr<RuntimeStatus>> status(bool verbose, Instant deadline) override;
  Co<absl::StatusOr<CgroupDriver>> cgroup_driver(Instant deadline) override;
  Co<absl::StatusOr<SandboxId>> run_sandbox(SandboxConfig config, Instant deadline) override;
  Co<absl::Status> stop_sandbox(SandboxId id, Instant deadline) override;
  Co<absl::Status> remove_sandbox(SandboxId id, Instant deadline) override;
  Co<absl::StatusOr<SandboxStatus>> sandbox_status(SandboxId id, Instant deadline) override;
  Co<absl::StatusOr<std::vector<SandboxStatus>>> list_sandboxes(Filter filter, Instant deadline) override;
  Co<absl::StatusOr<ContainerId>> create_container(SandboxId sandbox, ContainerConfig config,
                                                   SandboxConfig sandbox_config, Instant deadline) override;
  Co<absl::Status> start_container(ContainerId id, Instant deadline) override;
  Co<absl::Status> stop_container(ContainerId id, std::chrono::seconds grace, Instant deadline) override;
  Co<absl::Status> remove_container(ContainerId id, Instant deadline) override;
  Co<absl::StatusOr<ContainerStatus>> container_status(ContainerId id, Instant deadline) override;
  Co<absl::StatusOr<std::vector<ContainerStatus>>> list_containers(Filter filter, Instant deadline) override;
  Co<absl::Status> update_resources(ContainerId id, Resources resources, Instant deadline) override;
  Co<absl::Status> reopen_log(ContainerId id, Instant deadline) override;
  Co<absl::StatusOr<ExecResult>> exec_sync(ContainerId id, std::vector<std::string> command,
                                           std::chrono::seconds timeout, Instant deadline) override;
  Co<absl::StatusOr<std::string>> exec_url(ExecRequest request, Instant deadline) override;
  Co<absl::StatusOr<std::string>> attach_url(AttachRequest request, Instant deadline) override;
  Co<absl::StatusOr<std::string>> port_forward_url(SandboxId sandbox, std::vector<int32_t> ports,
                                                   Instant deadline) override;
  Co<absl::StatusOr<std::vector<ContainerStats>>> list_stats(Filter filter, Instant deadline) override;

  // ---- Images ----
  Co<absl::StatusOr<std::vector<Image>>> list(Instant deadline) override;
  Co<absl::StatusOr<Image>> image_status(std::string image, Instant deadline) override;
  Co<absl::StatusOr<std::string>> pull(std::string image, std::optional<Auth> auth, SandboxConfig for_sandbox,
                                       Instant deadline) override;
  Co<absl::Status> remove(std::string image, Instant deadline) override;
  Co<absl::StatusOr<ImageFsInfo>> fs_info(Instant deadline) override;

  // ---- RuntimeEvents ----
  Co<void> watch(Sink<Event> sink, Sink<bool> open) override;

 private:
  // One call at work. It lives as long as something of it is still to come.
  struct Work {
    Call call;
    // The runtime died under it: its effect does not come.
    bool dropped = false;
    bool hangs = false;
    bool answered = false;
    Duration extra{};
    std::function<void(absl::Status)> fail;
  };
  using WorkPtr = std::shared_ptr<Work>;

  // To whom the world answers: a caller that may be gone, over a way that may lose or change the answer.
  template <class T>
  struct Answer {
    std::weak_ptr<OneShot<T>> to;
    Agenda* agenda = nullptr;
    std::optional<Fault> fault;
    WorkPtr work;

    bool awaited() const { return !to.expired(); }
    void operator()(T value) const;
  };

  // An open event stream.
  struct Stream {
    explicit Stream(Loop& loop) : bell(loop) {}
    Bell bell;
    std::deque<Event> events;
    bool ended = false;
  };

  template <class T>
  using Begin = std::function<void(Answer<T>)>;

  // The way of every call: takes note of it, lets `begin` start its work in the world when it arrives there, and waits
  // for the answer.
  template <class T>
  Co<T> call(Call call, Instant deadline, Begin<T> begin);
  // How a call begins that only looks: half its time before the look, half after.
  template <class T>
  Begin<T> reading(Method method, std::function<T()> look);
  // How a call begins that does something: after its time, once, unless the runtime died.
  template <class T>
  Begin<T> acting(Method method, std::function<T()> effect);

  void note_work(const WorkPtr& work);
  Call call_of(Method method, const std::string& id) const;
  Duration takes(Method method) const;
  // Runs `effect` in `time`, or `undo` where the runtime died meanwhile.
  void later(WorkPtr work, Duration time, Loop::Work effect, Loop::Work undo);
  // The runtime dies under the calls at work: they fail, and their effects come or not.
  void cut_work(bool effects_may_come);
  void on_event(Event event);
  void send_due_events();

  FakeRuntimeOptions options_;
  SeededRng rng_;
  Agenda agenda_;
  Faults faults_;
  World world_;
  EventChances event_chances_;
  std::multimap<Instant, Event> outbox_;
  std::weak_ptr<Stream> stream_;
  std::vector<Call> calls_;
  std::vector<std::weak_ptr<Work>> at_work_;
  std::map<Method, int> most_at_once_;
  std::vector<Loop::Work> hung_;
  std::size_t pending_ = 0;
  std::map<std::string, Auth> auths_;
  Instant up_at_{};
  bool network_ready_ = true;
  uint64_t urls_ = 0;
};

}  // namespace podwright::cri
