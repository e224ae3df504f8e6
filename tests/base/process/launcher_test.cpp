#include "base/process/launcher.h"

#include <doctest/doctest.h>
#include <signal.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/co/real_loop.h"
#include "base/co/scope.h"
#include "base/limits.h"
#include "base/process/launcher_processes.h"
#include "base/process/signals.h"

using namespace podwright;

namespace {

Co<void> run_one(Processes& processes, ProcessRequest request, Instant deadline,
                 std::optional<absl::StatusOr<ProcessResult>>* into) {
  into->emplace(co_await processes.run(std::move(request), deadline));
}

struct World {
  World()
      : launcher(Launcher::start()), processes(loop, [this] {
          REQUIRE(launcher.ok());
          launcher_pid = launcher->pid();
          return *std::move(launcher);
        }()) {}

  ~World() {
    scope.cancel();
    run_until([this] { return scope.size() == 0; });
  }

  bool run_until(std::function<bool()> done) {
    look(&done, loop.now() + 20s);
    loop.run();
    loop.io().restart();
    return done();
  }

  absl::StatusOr<ProcessResult> run(ProcessRequest request, Duration limit = 20s) {
    std::optional<absl::StatusOr<ProcessResult>> result;
    scope.spawn("run", run_one(processes, std::move(request), after(loop.now(), limit), &result));
    REQUIRE(run_until([&] { return result.has_value(); }));
    return *std::move(result);
  }

  void look(std::function<bool()>* done, Instant limit) {
    if ((*done)() || loop.now() > limit) return loop.stop();
    loop.call_at(loop.now() + 1ms, [this, done, limit] { look(done, limit); });
  }

  RealLoop loop;
  absl::StatusOr<Launcher> launcher;
  pid_t launcher_pid = -1;
  LauncherProcesses processes;
  Scope scope{loop};
};

ProcessRequest shell(const std::string& script) {
  return {.program = "/bin/sh", .arguments = {"-c", script}, .env = {{"PATH", "/usr/bin:/bin"}}, .stdin_bytes = ""};
}

bool is_alive(pid_t pid) {
  return ::kill(pid, 0) == 0;
}

}  // namespace

TEST_CASE("a child's exit code, output and environment are its own") {
  World world;

  CHECK(world.run({.program = "/bin/true", .arguments = {}, .env = {}, .stdin_bytes = ""})->exit_code == 0);
  CHECK(world.run({.program = "/bin/false", .arguments = {}, .env = {}, .stdin_bytes = ""})->exit_code == 1);
  const auto spoke = world.run(shell("echo out; echo err >&2; exit 7"));
  REQUIRE(spoke.ok());
  CHECK(spoke->exit_code == 7);
  CHECK(spoke->stdout_bytes == "out\n");
  CHECK(spoke->stderr_bytes == "err\n");
  CHECK(world.run(shell("kill -9 $$"))->exit_code == 137);
  CHECK(world.run(shell("pwd; umask; ls /proc/self/fd | wc -l"))->stdout_bytes == "/\n0022\n4\n");
  const auto env = world.run({.program = "/usr/bin/env", .arguments = {}, .env = {{"A", "b c"}}, .stdin_bytes = ""});
  CHECK(env->stdout_bytes == "A=b c\n");
  const auto quoted =
      world.run({.program = "/bin/echo", .arguments = {"$(id)", "; rm", "a b"}, .env = {}, .stdin_bytes = ""});
  CHECK(quoted->stdout_bytes == "$(id) ; rm a b\n");
}

TEST_CASE("stdin is read to its end, also where it is long") {
  World world;
  const std::string text(300'000, 'x');
  ProcessRequest request{.program = "/bin/cat", .arguments = {}, .env = {}, .stdin_bytes = text};

  CHECK(world.run(request)->stdout_bytes == text);
}

TEST_CASE("what cannot be executed says why") {
  World world;

  CHECK(world.run({.program = "/no/such", .arguments = {}, .env = {}, .stdin_bytes = ""}).status().code() ==
        absl::StatusCode::kNotFound);
  CHECK(world.run({.program = "/etc/passwd", .arguments = {}, .env = {}, .stdin_bytes = ""}).status().code() ==
        absl::StatusCode::kPermissionDenied);
  CHECK(world.run({.program = "true", .arguments = {}, .env = {}, .stdin_bytes = ""}).status().code() ==
        absl::StatusCode::kInvalidArgument);
  const std::string nul("a\0b", 3);
  CHECK(world.run({.program = "/bin/true", .arguments = {nul}, .env = {}, .stdin_bytes = ""}).status().code() ==
        absl::StatusCode::kInvalidArgument);
  ProcessRequest large{
      .program = "/bin/true", .arguments = {std::string(limits::kCommandBytes, 'x')}, .env = {}, .stdin_bytes = ""};
  CHECK(world.run(large).status().code() == absl::StatusCode::kInvalidArgument);
}

TEST_CASE("at the deadline the whole group is killed, whatever it ignores") {
  World world;
  char name[] = "/tmp/podwright-process-XXXXXX";
  const int fd = ::mkstemp(name);
  REQUIRE(fd >= 0);
  const std::string file = name;

  const auto late = world.run(
      shell("trap '' TERM INT HUP; (trap '' TERM; echo $$ >" + file + "; exec sleep 1000) & sleep 1000"), 300ms);

  CHECK(late.status().code() == absl::StatusCode::kDeadlineExceeded);
  std::array<char, 64> text{};
  CHECK(::pread(fd, text.data(), text.size() - 1, 0) > 0);
  const pid_t group = std::atoi(text.data());
  REQUIRE(group > 1);
  CHECK(world.run_until([group] { return ::kill(-group, 0) != 0; }));
  CHECK(world.processes.left_behind() == 0);
  ::close(fd);
  ::unlink(name);
}

TEST_CASE("a cancelled run is cut and its child killed") {
  World world;
  std::optional<absl::StatusOr<ProcessResult>> result;
  {
    const Instant never = Instant::max();
    world.scope.spawn("run", run_one(world.processes, shell("sleep 1000"), never, &result));
  }

  world.scope.cancel();

  CHECK(world.run_until([&] { return result.has_value(); }));
  CHECK(result->status().code() == absl::StatusCode::kCancelled);
}

TEST_CASE("more output than allowed ends the child") {
  World world;
  ProcessRequest request = shell("yes");
  request.output_limit = 10'000;
  CHECK(world.run(request).status().code() == absl::StatusCode::kResourceExhausted);

  request = shell("printf 12345");
  request.output_limit = 5;
  CHECK(world.run(request)->stdout_bytes == "12345");
  request.output_limit = 4;
  CHECK(world.run(request).status().code() == absl::StatusCode::kResourceExhausted);
}

TEST_CASE("a child in the background neither delays the result nor survives it") {
  World world;

  const auto done = world.run(shell("sleep 1000 & echo $!"));

  REQUIRE(done.ok());
  const pid_t pid = std::atoi(done->stdout_bytes.c_str());
  REQUIRE(pid > 1);
  CHECK(world.run_until([pid] { return !is_alive(pid); }));
}

TEST_CASE("many children at once each get their own answer") {
  World world;
  std::vector<std::optional<absl::StatusOr<ProcessResult>>> results(60);
  for (std::size_t i = 0; i < results.size(); ++i) {
    ProcessRequest request = shell(fmt::format("echo {}; exit {}", i, i));
    const Instant deadline = world.loop.now() + 60s;
    world.scope.spawn("run", run_one(world.processes, std::move(request), deadline, &results[i]));
  }

  CHECK(world.run_until([&] {
    return std::all_of(results.begin(), results.end(), [](const auto& result) { return result.has_value(); });
  }));
  for (std::size_t i = 0; i < results.size(); ++i) {
    REQUIRE(results[i]->ok());
    CHECK((*results[i])->exit_code == static_cast<int>(i));
    CHECK((*results[i])->stdout_bytes == fmt::format("{}\n", i));
  }
}

TEST_CASE("children die when the agent is killed") {
  int pipe_ends[2];
  REQUIRE(::pipe(pipe_ends) == 0);
  const pid_t agent = ::fork();
  if (agent == 0) {
    World world;
    const std::string tell = fmt::format("/proc/{}/fd/{}", ::getpid(), pipe_ends[1]);
    std::optional<absl::StatusOr<ProcessResult>> result;
    ProcessRequest request = shell("trap '' TERM; echo $$ > " + tell + "; sleep 1000 & wait");
    const Instant never = Instant::max();
    world.scope.spawn("run", run_one(world.processes, std::move(request), never, &result));
    world.loop.run();
    ::_exit(1);
  }
  std::array<char, 64> text{};
  REQUIRE(::read(pipe_ends[0], text.data(), text.size() - 1) > 0);
  const pid_t child = std::atoi(text.data());
  REQUIRE(child > 1);
  CHECK(is_alive(child));

  ::kill(agent, SIGKILL);
  ::waitpid(agent, nullptr, 0);

  World world;  // its loop, to wait with
  CHECK(world.run_until([child] { return !is_alive(child) && ::kill(-child, 0) != 0; }));
  ::close(pipe_ends[0]);
  ::close(pipe_ends[1]);
}

TEST_CASE("without its launcher nothing hangs: each run says that it cannot") {
  World world;
  std::optional<absl::StatusOr<ProcessResult>> result;
  {
    const Instant never = Instant::max();
    world.scope.spawn("run", run_one(world.processes, shell("sleep 1000"), never, &result));
  }
  REQUIRE(world.run(shell("true")).ok());

  ::kill(world.launcher_pid, SIGKILL);

  CHECK(world.run_until([&] { return result.has_value(); }));
  CHECK(result->status().code() == absl::StatusCode::kUnavailable);
  CHECK(world.run(shell("true")).status().code() == absl::StatusCode::kUnavailable);
}

TEST_CASE("a foreign process is killed only where it is still meant") {
  const pid_t pid = ::fork();
  if (pid == 0) {
    ::pause();
    ::_exit(0);
  }
  RealSignals signals;

  CHECK(signals.kill_if(pid, [] { return false; }).ok());
  CHECK(::waitpid(pid, nullptr, WNOHANG) == 0);
  CHECK(signals.kill_if(pid, [] { return true; }).ok());

  int status = 0;
  CHECK(::waitpid(pid, &status, 0) == pid);
  CHECK(WIFSIGNALED(status));
  CHECK(signals.kill_if(pid, [] { return true; }).ok());
}
