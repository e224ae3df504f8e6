#include "base/process/process_ends.h"

#include <doctest/doctest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fstream>

namespace podwright {
namespace {

// A child that sleeps until it is killed or for a minute.
struct Sleeper {
  Sleeper() : pid(::fork()) {
    if (pid == 0) {
      ::sleep(60);
      ::_exit(0);
    }
  }
  ~Sleeper() { end(); }
  void end() {
    if (pid <= 0) return;
    ::kill(pid, SIGKILL);
    ::waitpid(pid, nullptr, 0);
    pid = 0;
  }
  pid_t pid;
};

// The last line's path: children are in the cgroup of their parent.
std::string own_cgroup() {
  std::ifstream file("/proc/self/cgroup");
  std::string line, last;
  while (std::getline(file, line)) last = line;
  return last.substr(last.rfind(':') + 1);
}

TEST_CASE("the end of a watched process is told once") {
  RealLoop loop;
  PidfdProcessEnds ends(loop);
  Sleeper sleeper;
  int told = 0;
  const auto watch = ends.watch(sleeper.pid, own_cgroup(), [&] {
    ++told;
    loop.stop();
  });
  REQUIRE(watch.ok());
  loop.call_at(after(loop.now(), 30s), [&] { loop.stop(); });  // a net, so that a failure ends the test

  loop.post([&] { sleeper.end(); });
  loop.run();

  CHECK(told == 1);
  CHECK(ends.size() == 0);
}

TEST_CASE("a process in another cgroup is not watched, nor one that has ended") {
  RealLoop loop;
  PidfdProcessEnds ends(loop);
  Sleeper sleeper;
  const pid_t pid = sleeper.pid;

  CHECK(absl::IsFailedPrecondition(ends.watch(pid, "no-such-container", [] {}).status()));
  sleeper.end();
  CHECK(absl::IsNotFound(ends.watch(pid, "/", [] {}).status()));
  CHECK(ends.size() == 0);
}

TEST_CASE("a watch that is forgotten tells nothing") {
  RealLoop loop;
  PidfdProcessEnds ends(loop);
  Sleeper first, second;
  bool told_first = false;
  const auto watch = ends.watch(first.pid, own_cgroup(), [&] { told_first = true; });
  REQUIRE(watch.ok());
  REQUIRE(ends.watch(second.pid, own_cgroup(), [&] { loop.stop(); }).ok());
  loop.call_at(after(loop.now(), 30s), [&] { loop.stop(); });

  ends.forget(*watch);
  first.end();
  second.end();
  loop.run();

  CHECK_FALSE(told_first);
}

}  // namespace
}  // namespace podwright
