// podwright-bench: the bare CRI player, the yardstick of the bench. It makes the calls that a pod with one container
// needs (RunPodSandbox, CreateContainer, StartContainer) with no agent around them, and prints how long they took.
//
//   podwright-bench --runtime unix:///PATH --image REF --pods N --in-flight K --logs DIR [--cgroup-parent /PATH]
//                   [--command WORD]...
//
// Output: a line for each pod, "sandbox create start since_begin", in milliseconds, in the order in which they started,
// after all were started and taken away again. Exit code 1 where a call failed, with its message.
#include <unistd.h>

#include <cstdio>
#include <filesystem>
#include <string_view>

#include "base/co/bell.h"
#include "base/co/real_loop.h"
#include "base/co/scope.h"
#include "base/rpc/channel.h"
#include "base/status/annotate.h"
#include "cri/grpc/grpc_runtime.h"

using namespace podwright;

namespace {

// Longer than any call on a loaded machine takes.
constexpr auto kCallLimit = std::chrono::minutes(4);

struct Arguments {
  std::string runtime, image, logs, cgroup_parent;
  std::vector<std::string> command;
  std::size_t pods = 1;
  std::size_t in_flight = 1;
};

struct Played {
  Duration sandbox{}, create{}, start{}, since_begin{};
};

constexpr char kUsage[] =
    "usage: podwright-bench --runtime unix:///PATH --image REF --pods N --in-flight K --logs DIR "
    "[--cgroup-parent /PATH] [--command WORD]...\n";

std::optional<Arguments> parse(int count, char** words) {
  Arguments to;
  for (int i = 1; i + 1 < count; i += 2) {
    const std::string_view word = words[i];
    const std::string value = words[i + 1];
    if (word == "--runtime") {
      to.runtime = value;
    } else if (word == "--image") {
      to.image = value;
    } else if (word == "--logs") {
      to.logs = value;
    } else if (word == "--cgroup-parent") {
      to.cgroup_parent = value;
    } else if (word == "--command") {
      to.command.push_back(value);
    } else if (word == "--pods") {
      to.pods = std::strtoul(value.c_str(), nullptr, 10);
    } else if (word == "--in-flight") {
      to.in_flight = std::strtoul(value.c_str(), nullptr, 10);
    } else {
      return std::nullopt;
    }
  }
  if (count % 2 == 0 || to.runtime.empty() || to.image.empty() || to.logs.empty() || to.in_flight == 0) {
    return std::nullopt;
  }
  return to;
}

double milliseconds(Duration time) {
  return std::chrono::duration<double, std::milli>(time).count();
}

// Plays the pods; each of `in_flight` flows takes the next one until none is left.
class Player {
 public:
  Player(RealLoop& loop, cri::Runtime& runtime, const Arguments& arguments)
      : loop_(loop), runtime_(runtime), arguments_(arguments), scope_(loop) {}

  Co<void> run() {
    begin_ = loop_.now();
    for (std::size_t i = 0; i < arguments_.in_flight; ++i) scope_.spawn("start", start_pods());
    (void)co_await scope_.idle(Instant::max());
    // Removal is not measured; it is done as wide as is safe for the runtime.
    for (std::size_t i = 0; i < kRemovers; ++i) scope_.spawn("remove", remove_pods());
    (void)co_await scope_.idle(Instant::max());
    loop_.stop();
  }

  const std::vector<Played>& played() const { return played_; }
  const absl::Status& failure() const { return failure_; }

 private:
  static constexpr std::size_t kRemovers = 8;

  Instant limit() { return loop_.now() + kCallLimit; }

  cri::SandboxConfig sandbox_of(std::size_t number) const {
    cri::SandboxConfig config;
    const std::string uid = fmt::format("player-{}-{}", getpid(), number);
    config.pod = PodKey{"bench", uid};
    config.uid = PodUid{uid};
    config.log_directory = arguments_.logs + "/" + uid;
    config.cgroup_parent = arguments_.cgroup_parent;
    config.namespaces.network = cri::NamespaceMode::kNode;
    config.labels = {{cri::kPodNameLabel, uid}, {cri::kPodNamespaceLabel, "bench"}, {cri::kPodUidLabel, uid}};
    return config;
  }

  cri::ContainerConfig container_of() const {
    cri::ContainerConfig config;
    config.name = ContainerName{"main"};
    config.image = arguments_.image;
    config.command = arguments_.command;
    config.log_path = "main.log";
    config.namespaces.network = cri::NamespaceMode::kNode;
    config.labels = {{cri::kContainerNameLabel, "main"}};
    return config;
  }

  Co<absl::Status> start_pod(std::size_t number) {
    const cri::SandboxConfig config = sandbox_of(number);
    std::filesystem::create_directories(config.log_directory);
    Played played;
    Instant mark = loop_.now();
    const auto lap = [this, &mark] {
      const Instant before = std::exchange(mark, loop_.now());
      return Duration(mark - before);
    };
    const auto sandbox = co_await runtime_.run_sandbox(config, limit());
    if (!sandbox.ok()) co_return annotate(sandbox.status(), "run sandbox {}", number);
    sandboxes_.push_back(*sandbox);
    played.sandbox = lap();
    const cri::ContainerConfig container = container_of();
    const auto id = co_await runtime_.create_container(*sandbox, container, config, limit());
    if (!id.ok()) co_return annotate(id.status(), "create container {}", number);
    played.create = lap();
    const absl::Status started = co_await runtime_.start_container(*id, limit());
    if (!started.ok()) co_return annotate(started, "start container {}", number);
    played.start = lap();
    played.since_begin = mark - begin_;
    played_.push_back(played);
    co_return absl::OkStatus();
  }

  Co<void> start_pods() {
    while (next_ < arguments_.pods && failure_.ok()) {
      const std::size_t number = next_++;
      const absl::Status status = co_await start_pod(number);
      if (!status.ok()) failure_ = status;
    }
  }

  Co<void> remove_pods() {
    while (!sandboxes_.empty()) {
      const SandboxId id = sandboxes_.back();
      sandboxes_.pop_back();
      absl::Status status = co_await runtime_.stop_sandbox(id, limit());
      if (status.ok()) status = co_await runtime_.remove_sandbox(id, limit());
      if (!status.ok()) failure_ = annotate(status, "take sandbox {} away", id);
    }
  }

  RealLoop& loop_;
  cri::Runtime& runtime_;
  const Arguments& arguments_;
  Instant begin_;
  std::size_t next_ = 0;
  std::vector<SandboxId> sandboxes_;
  std::vector<Played> played_;
  absl::Status failure_;
  Scope scope_;
};

}  // namespace

int main(int count, char** words) {
  const std::optional<Arguments> arguments = parse(count, words);
  if (!arguments) {
    std::fputs(kUsage, stderr);
    return 2;
  }
  RealLoop loop;
  rpc::Poller poller(loop);
  rpc::Channel channel(poller, arguments->runtime);
  // The player has no limit of its own but in_flight.
  cri::GrpcOptions options;
  options.writes = options.stops = arguments->in_flight + arguments->pods;
  cri::GrpcRuntime runtime(loop, channel, options);
  Player player(loop, runtime, *arguments);
  Scope scope(loop);
  scope.spawn("player", player.run());
  loop.run();
  if (!player.failure().ok()) {
    std::fprintf(stderr, "%s\n", player.failure().ToString().c_str());
    return 1;
  }
  for (const Played& pod : player.played()) {
    std::printf("%.3f %.3f %.3f %.3f\n", milliseconds(pod.sandbox), milliseconds(pod.create), milliseconds(pod.start),
                milliseconds(pod.since_begin));
  }
  return 0;
}
