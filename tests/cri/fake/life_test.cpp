// What runs in the fake runtime, and how it ends.
#include <doctest/doctest.h>

#include "base/co/scope.h"
#include "base/co/sim_loop.h"
#include "tests/cri/fake/world_of_one.h"

namespace podwright::cri {
namespace {

TEST_CASE("a container runs after sandbox, create and start, and is listed by its pod") {
  WorldOfOne one;

  const ContainerId id = one.run("web", "app");

  Filter of_pod;
  of_pod.labels[kPodUidLabel] = "web";
  const auto listed = run_and_get(one.loop, one.runtime.list_containers(of_pod, one.soon()));
  REQUIRE(listed.ok());
  REQUIRE(listed->size() == 1);
  CHECK(listed->front().id == id);
  CHECK(listed->front().state == ContainerState::kRunning);
  CHECK(listed->front().started_at == WallTime());  // only a status call tells
  const auto status = run_and_get(one.loop, one.runtime.container_status(id, one.soon()));
  REQUIRE(status.ok());
  CHECK(status->started_at > status->created_at);
  CHECK(status->log_path == "/var/log/pods/default_pod-web_web/app/0.log");
  Filter of_other;
  of_other.labels[kPodUidLabel] = "other";
  CHECK(run_and_get(one.loop, one.runtime.list_sandboxes(of_other, one.soon()))->empty());
}

TEST_CASE("sandboxes have addresses of their own, but none in the host's network or once stopped") {
  WorldOfOne one;
  SandboxConfig host = a_sandbox("host");
  host.namespaces.network = NamespaceMode::kNode;

  const SandboxId a = one.sandbox(a_sandbox("a"));
  const SandboxId b = one.sandbox(a_sandbox("b"));
  const SandboxId c = one.sandbox(host);

  CHECK(one.runtime.peek(a)->ips != one.runtime.peek(b)->ips);
  CHECK(one.runtime.peek(a)->ips.size() == 1);
  CHECK(one.runtime.peek(c)->ips.empty());
  CHECK(run_and_get(one.loop, one.runtime.stop_sandbox(a, one.soon())).ok());
  CHECK(one.runtime.peek(a)->ips.empty());
  CHECK(one.runtime.peek(a)->state == SandboxState::kNotReady);
}

TEST_CASE("a script ends a container after its time") {
  struct Row {
    int32_t code;
    bool oom;
    std::string reason;
  };
  for (const Row& row : {Row{0, false, "Completed"}, Row{3, false, "Error"}, Row{137, true, "OOMKilled"}}) {
    WorldOfOne one;
    ContainerScript script;
    script.run_for = 10s;
    script.exit_code = row.code;
    script.oom = row.oom;
    one.runtime.set_script(PodUid("web"), ContainerName("app"), script);
    const ContainerId id = one.run("web", "app");

    one.loop.run_for(9s);
    CHECK(one.runtime.peek(id)->state == ContainerState::kRunning);
    one.loop.run_for(2s);

    const auto status = one.runtime.peek(id);
    CHECK(status->state == ContainerState::kExited);
    CHECK(status->exit_code == row.code);
    CHECK(status->reason == row.reason);
    CHECK(status->finished_at - status->started_at == 10s);
  }
}

TEST_CASE("scripts are found by pod UID, then by full name, then by the default") {
  WorldOfOne one;
  ContainerScript two, three, four;
  two.term_exit_code = 2;
  three.term_exit_code = 3;
  four.term_exit_code = 4;
  one.runtime.set_script(PodUid("a"), ContainerName("app"), two);
  one.runtime.set_script(PodKey{"default", "pod-a"}, ContainerName("app"), three);
  one.runtime.set_script(PodKey{"default", "pod-b"}, ContainerName("app"), three);
  one.runtime.set_default_script([four](const SandboxConfig&, const ContainerConfig&) { return four; });

  int code = 2;
  for (const std::string uid : {"a", "b", "c"}) {
    const ContainerId id = one.run(uid, "app");
    CHECK(run_and_get(one.loop, one.runtime.stop_container(id, 5s, one.soon())).ok());
    CHECK(one.runtime.peek(id)->exit_code == code++);
  }
}

TEST_CASE("a container that ignores TERM is killed once the grace has passed") {
  WorldOfOne one;
  ContainerScript script;
  script.ignores_term = true;
  one.runtime.set_script(PodUid("web"), ContainerName("app"), script);
  const ContainerId id = one.run("web", "app");
  const Instant begin = one.loop.now();

  CHECK(run_and_get(one.loop, one.runtime.stop_container(id, 7s, one.soon())).ok());

  CHECK(one.runtime.peek(id)->exit_code == 137);
  const auto& life = one.runtime.truth().containers.front();
  CHECK(*life.ended_at - *life.term_at == 7s);
  CHECK(one.loop.now() - begin >= 7s);
}

TEST_CASE("a second stop with less grace ends a container sooner, and the first stop ends too") {
  WorldOfOne one;
  ContainerScript script;
  script.ignores_term = true;
  one.runtime.set_script(PodUid("web"), ContainerName("app"), script);
  const ContainerId id = one.run("web", "app");
  const Instant begin = one.loop.now();
  absl::Status first = absl::UnknownError("not yet");
  Scope scope(one.loop);
  scope.spawn("stop", one.keep(one.runtime.stop_container(id, 60s, one.soon(2min)), &first));

  CHECK(run_and_get(one.loop, one.runtime.stop_container(id, 2s, one.soon())).ok());
  one.loop.run_for(10ms);

  CHECK(first.ok());
  CHECK(one.loop.now() - begin < 3s);
}

TEST_CASE("without a caller a stop sends TERM but no KILL, as containerd does") {
  WorldOfOne one;
  ContainerScript script;
  script.ignores_term = true;
  one.runtime.set_script(PodUid("web"), ContainerName("app"), script);
  const ContainerId id = one.run("web", "app");

  const auto status = run_and_get(one.loop, one.runtime.stop_container(id, 10s, one.soon(1s)));
  one.loop.run_for(1min);

  CHECK(absl::IsDeadlineExceeded(status));
  CHECK(one.runtime.truth().containers.front().term_at.has_value());
  CHECK(one.runtime.peek(id)->state == ContainerState::kRunning);
}

TEST_CASE("stopping the sandbox kills what runs in it, removing it removes all, and both are safe twice") {
  WorldOfOne one;
  const ContainerId id = one.run("web", "app");
  const SandboxId sandbox = one.runtime.sandboxes().front().id;

  for (int i = 0; i < 2; ++i) CHECK(run_and_get(one.loop, one.runtime.stop_sandbox(sandbox, one.soon())).ok());
  CHECK(one.runtime.peek(id)->exit_code == 137);
  for (int i = 0; i < 2; ++i) CHECK(run_and_get(one.loop, one.runtime.remove_sandbox(sandbox, one.soon())).ok());

  CHECK(one.runtime.containers().empty());
  CHECK(one.runtime.sandboxes().empty());
  CHECK(absl::IsNotFound(run_and_get(one.loop, one.runtime.container_status(id, one.soon())).status()));
  CHECK(run_and_get(one.loop, one.runtime.stop_container(id, 1s, one.soon())).ok());
  CHECK(run_and_get(one.loop, one.runtime.remove_container(id, one.soon())).ok());
}

TEST_CASE("a sandbox that died leaves its containers running but takes no new one") {
  WorldOfOne one;
  const ContainerId id = one.run("web", "app");
  const SandboxId sandbox = one.runtime.sandboxes().front().id;

  one.runtime.kill_sandbox(sandbox);

  CHECK(one.runtime.peek(sandbox)->state == SandboxState::kNotReady);
  CHECK(one.runtime.peek(id)->state == ContainerState::kRunning);
  CHECK(absl::IsNotFound(one.create(sandbox, "web", "second").status()));
}

TEST_CASE("a start that fails leaves the container exited with StartError") {
  WorldOfOne one;
  ContainerScript script;
  script.start_error = "exec: \"nothing\": executable file not found in $PATH";
  one.runtime.set_script(PodUid("web"), ContainerName("app"), script);
  const SandboxId sandbox = one.sandbox(a_sandbox("web"));
  const auto id = one.create(sandbox, "web", "app");

  const auto status = run_and_get(one.loop, one.runtime.start_container(*id, one.soon()));

  CHECK(status.code() == absl::StatusCode::kUnknown);
  CHECK(one.runtime.peek(*id)->reason == "StartError");
  CHECK(one.runtime.peek(*id)->exit_code == 128);
  CHECK_FALSE(one.runtime.truth().containers.front().started_at.has_value());
}

TEST_CASE("a name is reserved while its container exists, and while a call for it is at work") {
  WorldOfOne one;
  const SandboxId sandbox = one.sandbox(a_sandbox("web"));
  const auto id = one.create(sandbox, "web", "app");
  REQUIRE(id.ok());

  CHECK(absl::IsAlreadyExists(one.create(sandbox, "web", "app").status()));
  CHECK(one.create(sandbox, "web", "app", 1).ok());
  const auto twice = run_and_get(one.loop, one.runtime.run_sandbox(a_sandbox("web"), one.soon()));
  CHECK(absl::IsAlreadyExists(twice.status()));
  CHECK(std::string(twice.status().message()).find("is reserved for") != std::string::npos);
  CHECK(run_and_get(one.loop, one.runtime.remove_container(*id, one.soon())).ok());
  CHECK(one.create(sandbox, "web", "app").ok());

  one.runtime.lose_answer(Method::kRunSandbox, 10s);
  CHECK(absl::IsDeadlineExceeded(
      run_and_get(one.loop, one.runtime.run_sandbox(a_sandbox("late"), one.soon(1s))).status()));
  CHECK(
      absl::IsAlreadyExists(run_and_get(one.loop, one.runtime.run_sandbox(a_sandbox("late"), one.soon(1s))).status()));
}

TEST_CASE("commands answer as scripted, run out of time, and end with their container") {
  WorldOfOne one;
  ContainerScript script;
  script.execs["cat /ready"] = {1, "", "no such file\n", 5ms, false};
  script.execs["sleep forever"] = {0, "", "", 0ms, true};
  one.runtime.set_script(PodUid("web"), ContainerName("app"), script);
  const ContainerId id = one.run("web", "app");

  const auto exec = [&](std::vector<std::string> command, std::chrono::seconds timeout) {
    return run_and_get(one.loop, one.runtime.exec_sync(id, std::move(command), timeout, one.soon(1min)));
  };
  CHECK(exec({"true"}, 1s)->exit_code == 0);
  CHECK(exec({"cat", "/ready"}, 1s)->exit_code == 1);
  CHECK(exec({"cat", "/ready"}, 1s)->stderr_bytes == "no such file\n");
  CHECK(absl::IsDeadlineExceeded(exec({"sleep", "forever"}, 1s).status()));
  one.loop.call_at(after(one.loop.now(), 2s), [&] { one.runtime.exit_container(id, 1); });
  CHECK(exec({"sleep", "forever"}, 0s)->exit_code == 137);
  CHECK(exec({"true"}, 1s).status().code() == absl::StatusCode::kFailedPrecondition);
  CHECK(one.runtime.truth().containers.front().execs.size() == 5);
}

TEST_CASE("an image is there once pulled, by reference, ID and digest, and a container needs it") {
  WorldOfOne one;
  const SandboxConfig sandbox_config = a_sandbox("web");
  const SandboxId sandbox = one.sandbox(sandbox_config);
  ContainerConfig config = a_container(sandbox_config, "app");
  config.image = "registry:5000/app:1";
  const auto create = [&] {
    return run_and_get(one.loop, one.runtime.create_container(sandbox, config, sandbox_config, one.soon()));
  };
  CHECK(absl::IsNotFound(create().status()));
  Auth auth;
  auth.username = "me";

  const auto pulled = run_and_get(one.loop, one.runtime.pull("registry:5000/app:1", auth, sandbox_config, one.soon()));

  REQUIRE(pulled.ok());
  CHECK(one.runtime.last_auth("registry:5000/app:1")->username == "me");
  const auto by_id = run_and_get(one.loop, one.runtime.image_status(*pulled, one.soon()));
  REQUIRE(by_id.ok());
  CHECK(by_id->repo_tags == std::vector<std::string>{"registry:5000/app:1"});
  CHECK(by_id->repo_digests.front().starts_with("registry:5000/app@sha256:"));
  const auto id = create();
  REQUIRE(id.ok());
  CHECK(one.runtime.peek(*id)->image_ref == by_id->repo_digests.front());
  CHECK(run_and_get(one.loop, one.runtime.remove("registry:5000/app:1", one.soon())).ok());
  CHECK(run_and_get(one.loop, one.runtime.list(one.soon()))->empty());
}

TEST_CASE("the truth tells of two runs of one container at the same time") {
  WorldOfOne one;
  const SandboxId sandbox = one.sandbox(a_sandbox("web"));
  const auto first = one.create(sandbox, "web", "app", 0);
  const auto second = one.create(sandbox, "web", "app", 1);
  CHECK(run_and_get(one.loop, one.runtime.start_container(*first, one.soon())).ok());
  CHECK(one.runtime.truth().overlapping_containers().empty());

  CHECK(run_and_get(one.loop, one.runtime.start_container(*second, one.soon())).ok());

  CHECK(one.runtime.truth().overlapping_containers().size() == 1);
  CHECK(one.runtime.truth().runs_of(PodUid("web"), ContainerName("app")).size() == 2);
  CHECK(one.runtime.truth().overlapping_sandboxes().empty());
}

}  // namespace
}  // namespace podwright::cri
