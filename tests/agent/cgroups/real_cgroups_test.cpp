// PodCgroups on the machine's own cgroups, below a root of its own. Needs root.
#include <doctest/doctest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>

#include "agent/cgroups/pod_cgroups.h"
#include "base/co/offload.h"
#include "base/co/real_loop.h"
#include "base/co/scope.h"
#include "base/files/real_tree.h"

using namespace podwright;
using namespace podwright::cgroups;

namespace {

Co<void> keep(Co<absl::Status> co, std::optional<absl::Status>* into) {
  into->emplace(co_await std::move(co));
}

absl::Status run(RealLoop& loop, Scope& scope, Co<absl::Status> co) {
  std::optional<absl::Status> result;
  scope.spawn("test", keep(std::move(co), &result));
  std::function<void()> look = [&] {
    if (result) return loop.stop();
    loop.call_at(loop.now() + 1ms, look);
  };
  look();
  loop.run();
  loop.io().restart();
  return *result;
}

}  // namespace

TEST_CASE("a pod's cgroup on the machine is made, bounded, emptied by killing and removed") {
  RealLoop loop;
  RealTree tree(loop);
  const auto hierarchy = Hierarchy::detect(tree);
  if (::geteuid() != 0 || !hierarchy.ok()) {
    std::printf("skipped, since it needs root and cgroups: cgroups of the machine\n");
    return;
  }
  const std::string root = fmt::format("/podwright-test-{}", ::getpid());
  ThreadOffload offload(loop, 1);
  RealSignals signals;
  Options options;
  options.cgroup_root = root;
  options.pod_limits.pids_limit = 100;
  PodCgroups cgroups(loop, offload, tree, signals, *hierarchy, options);
  Scope scope(loop);
  auto pod = std::make_shared<core::Pod>();
  pod->mutable_metadata()->set_uid("12-34");
  auto* resources = pod->mutable_spec()->add_containers()->mutable_resources();
  (*resources->mutable_requests())["cpu"].set_string("100m");
  (*resources->mutable_limits())["memory"].set_string("64Mi");

  const absl::Status started = run(loop, scope, cgroups.start());
  INFO(started.ToString());
  REQUIRE(started.ok());
  const absl::Status made = run(loop, scope, cgroups.ensure(pod));
  INFO(made.ToString());
  REQUIRE(made.ok());
  CHECK(run(loop, scope, cgroups.start()).ok());
  CHECK(run(loop, scope, cgroups.enforce({.milli_cpu = 2000, .memory_bytes = 1 << 30, .pids = 1000})).ok());

  const std::string path = cgroups.cri_parent(*pod);
  CHECK(path == root + "/kubepods/burstable/pod12-34");
  const bool v1 = hierarchy->version() == Version::kV1;
  const auto value = [&](const char* controller, const std::string& file) {
    const auto text = tree.read(join_path(hierarchy->directory(controller, path), file), 100);
    return text.ok() ? *text : std::string(text.status().message());
  };
  CHECK(value("memory", v1 ? "memory.limit_in_bytes" : "memory.max") == "67108864\n");
  CHECK(value("cpu", v1 ? "cpu.shares" : "cpu.weight") == (v1 ? "102\n" : "4\n"));
  CHECK(value("pids", "pids.max") == "100\n");

  const pid_t child = ::fork();
  if (child == 0) {
    ::pause();
    ::_exit(0);
  }
  const std::string inner = path + "/container";
  for (const char* controller : {"memory", "cpu", "cpuset"}) {
    if (!v1 && controller != std::string("memory")) continue;
    REQUIRE(hierarchy->make(tree, inner).ok());
    const std::string procs = join_path(hierarchy->directory(controller, inner), "cgroup.procs");
    CHECK(tree.write(procs, fmt::format("{}", child), 0644).ok());
  }
  CHECK(hierarchy->processes(tree, path) == std::set<pid_t>{child});
  CHECK(cgroups.list() == std::vector<PodUid>{PodUid("12-34")});

  // The dead child stays in its cgroup until its parent has waited for it.
  std::thread parent([child] { ::waitpid(child, nullptr, 0); });
  const absl::Status removed = run(loop, scope, cgroups.remove(PodUid("12-34")));
  parent.join();

  INFO(removed.ToString());
  CHECK(removed.ok());
  CHECK(cgroups.list().empty());
  CHECK(hierarchy->remove(tree, root).ok());
  CHECK_FALSE(hierarchy->exists(tree, root));
}
