// What goes wrong between a caller and the fake runtime.
#include <doctest/doctest.h>

#include "base/co/scope.h"
#include "tests/cri/fake/world_of_one.h"

namespace podwright::cri {
namespace {

TEST_CASE("a failed call has no effect, and the next one works") {
  WorldOfOne one;
  one.runtime.fail_next(Method::kRunSandbox, absl::UnavailableError("no"), 2);

  for (int i = 0; i < 2; ++i) {
    CHECK(absl::IsUnavailable(run_and_get(one.loop, one.runtime.run_sandbox(a_sandbox("web"), one.soon())).status()));
  }
  CHECK(one.runtime.sandboxes().empty());
  CHECK(run_and_get(one.loop, one.runtime.run_sandbox(a_sandbox("web"), one.soon())).ok());
  CHECK(one.runtime.calls(Method::kRunSandbox) == 3);
}

TEST_CASE("a call that hangs for one pod ends by its deadline and leaves others alone") {
  WorldOfOne one;
  const uint64_t fault =
      one.runtime.hang(Method::kRunSandbox, [](const Call& call) { return call.uid == PodUid("stuck"); });
  const Instant begin = one.loop.now();

  CHECK(run_and_get(one.loop, one.runtime.run_sandbox(a_sandbox("well"), one.soon())).ok());
  CHECK(absl::IsDeadlineExceeded(
      run_and_get(one.loop, one.runtime.run_sandbox(a_sandbox("stuck"), one.soon(4s))).status()));
  CHECK(one.loop.now() - begin < 5s);
  CHECK(one.runtime.sandboxes().size() == 1);
  CHECK(one.runtime.in_flight() == 1);

  one.runtime.faults().remove(fault);
  CHECK(absl::IsAlreadyExists(run_and_get(one.loop, one.runtime.run_sandbox(a_sandbox("stuck"), one.soon())).status()));
  one.runtime.release_hung();
  one.loop.run_for(1s);
  CHECK(one.runtime.sandboxes().size() == 2);
  CHECK(one.runtime.in_flight() == 0);
}

TEST_CASE("a lost answer looks like a time-out, and the effect comes later") {
  WorldOfOne one;
  one.runtime.lose_answer(Method::kRunSandbox, 5s);

  const auto id = run_and_get(one.loop, one.runtime.run_sandbox(a_sandbox("web"), one.soon(2s)));

  CHECK(absl::IsDeadlineExceeded(id.status()));
  CHECK(one.runtime.sandboxes().empty());
  one.loop.run_for(4s);
  CHECK(one.runtime.sandboxes().size() == 1);
}

TEST_CASE("the effect of a cancelled call still comes") {
  WorldOfOne one;
  absl::StatusOr<SandboxId> id = absl::UnknownError("not yet");
  Scope scope(one.loop);
  scope.spawn("call", one.keep(one.runtime.run_sandbox(a_sandbox("web"), one.soon()), &id));
  one.loop.run_for(2ms);

  scope.cancel();
  one.loop.run_for(2ms);
  CHECK(absl::IsCancelled(id.status()));
  CHECK(one.runtime.sandboxes().empty());
  CHECK(one.runtime.in_flight() == 1);
  one.loop.run_for(2ms);

  CHECK(one.runtime.sandboxes().size() == 1);
}

TEST_CASE("an answer may come late, and a call that worked may be told to have failed") {
  WorldOfOne one;
  Fault late;
  late.kind = Fault::Kind::kLateAnswer;
  late.method = Method::kRunSandbox;
  late.delay = 3s;
  one.runtime.faults().add(late);
  Fault after_all;
  after_all.kind = Fault::Kind::kFailAfter;
  after_all.method = Method::kRunSandbox;
  one.runtime.faults().add(after_all);
  const Instant begin = one.loop.now();

  CHECK(run_and_get(one.loop, one.runtime.run_sandbox(a_sandbox("a"), one.soon())).ok());
  CHECK(one.loop.now() - begin >= 3s);
  CHECK(absl::IsUnavailable(run_and_get(one.loop, one.runtime.run_sandbox(a_sandbox("b"), one.soon())).status()));
  CHECK(one.runtime.sandboxes().size() == 2);
}

TEST_CASE("a delay makes calls arrive later until it is taken back") {
  WorldOfOne one;
  const uint64_t fault = one.runtime.delay(Method::kVersion, 10s);
  const Instant begin = one.loop.now();

  CHECK(run_and_get(one.loop, one.runtime.version(one.soon())).ok());
  CHECK(one.loop.now() - begin >= 10s);
  one.runtime.faults().remove(fault);
  CHECK(run_and_get(one.loop, one.runtime.version(one.soon(1s))).ok());
}

TEST_CASE("what is created while the caller's loop is dropped exists on the next loop") {
  auto first = std::make_unique<SimLoop>(1);
  FakeRuntime runtime(*first);
  const auto clock = first->shared_clock();
  const SandboxConfig config = a_sandbox("web");
  const auto sandbox = run_and_get(*first, runtime.run_sandbox(config, Instant::max()));
  REQUIRE(sandbox.ok());
  auto scope = std::make_unique<Scope>(*first);
  absl::StatusOr<ContainerId> id = absl::UnknownError("no answer");
  scope->spawn(
      "create",
      WorldOfOne::keep(runtime.create_container(*sandbox, a_container(config, "app"), config, Instant::max()), &id));
  first->run_for(1ms);
  REQUIRE(runtime.calls(Method::kCreateContainer) == 1);
  REQUIRE(runtime.containers().empty());

  runtime.detach();
  first->drop();
  scope.reset();
  first.reset();
  SimLoop second(2, clock);
  runtime.attach(second);
  second.run_for(1s);

  CHECK(runtime.containers().size() == 1);
  CHECK(id.status().message() == "no answer");
  const auto listed = run_and_get(second, runtime.list_containers({}, Instant::max()));
  CHECK(listed->size() == 1);
}

TEST_CASE("what fell due while no loop was attached happens in order and as of its own time") {
  SimLoop loop(1);
  FakeRuntime runtime(loop);
  ContainerScript script;
  script.run_for = 10s;
  runtime.set_script(PodUid("web"), ContainerName("app"), script);
  const SandboxConfig config = a_sandbox("web");
  const auto sandbox = run_and_get(loop, runtime.run_sandbox(config, Instant::max()));
  const auto id =
      run_and_get(loop, runtime.create_container(*sandbox, a_container(config, "app"), config, Instant::max()));
  REQUIRE(run_and_get(loop, runtime.start_container(*id, Instant::max())).ok());

  runtime.detach();
  loop.drop();
  loop.run_for(1min);
  CHECK(runtime.peek(*id)->state == ContainerState::kRunning);
  runtime.attach(loop);

  CHECK(runtime.peek(*id)->state == ContainerState::kExited);
  const auto& life = runtime.truth().containers.front();
  CHECK(*life.ended_at - *life.started_at == 10s);
  CHECK(runtime.peek(*id)->finished_at - runtime.peek(*id)->started_at == 10s);
}

TEST_CASE("while the runtime is down calls fail, and containers run on") {
  WorldOfOne one;
  const ContainerId id = one.run("web", "app");

  one.runtime.down(5s);

  CHECK(absl::IsUnavailable(run_and_get(one.loop, one.runtime.list_containers({}, one.soon())).status()));
  one.loop.run_for(5s);
  CHECK(run_and_get(one.loop, one.runtime.list_containers({}, one.soon())).ok());
  CHECK(one.runtime.peek(id)->state == ContainerState::kRunning);
}

TEST_CASE("a call that the runtime's end cuts fails at once, and its effect comes or not") {
  int came = 0;
  for (uint64_t seed = 1; seed <= 40; ++seed) {
    WorldOfOne one(seed);
    absl::StatusOr<SandboxId> id = absl::UnknownError("not yet");
    Scope scope(one.loop);
    scope.spawn("call", one.keep(one.runtime.run_sandbox(a_sandbox("web"), one.soon()), &id));
    one.loop.run_for(1ms);

    one.runtime.down(1s);
    one.loop.run_for(100us);
    CHECK(absl::IsUnavailable(id.status()));
    one.loop.run_for(2s);

    const bool there = !one.runtime.sandboxes().empty();
    came += there ? 1 : 0;
    // Whatever became of it, the name tells the truth.
    const auto again = run_and_get(one.loop, one.runtime.run_sandbox(a_sandbox("web"), one.soon()));
    CHECK(absl::IsAlreadyExists(again.status()) == there);
    CHECK(one.runtime.sandboxes().size() == 1);
  }
  CHECK(came > 5);
  CHECK(came < 35);
}

TEST_CASE("after a reboot nothing runs, exit codes are unknown, and sandboxes are not ready") {
  WorldOfOne one;
  const ContainerId id = one.run("web", "app");

  one.runtime.reboot();

  CHECK(one.runtime.peek(id)->state == ContainerState::kExited);
  CHECK(one.runtime.peek(id)->exit_code == 255);
  CHECK(one.runtime.peek(id)->reason == "Unknown");
  CHECK(one.runtime.sandboxes().front().state == SandboxState::kNotReady);
}

TEST_CASE("a forgotten container is unknown to every call") {
  WorldOfOne one;
  const ContainerId id = one.run("web", "app");

  one.runtime.forget(id);

  CHECK(absl::IsNotFound(run_and_get(one.loop, one.runtime.container_status(id, one.soon())).status()));
  CHECK(one.runtime.containers().empty());
  CHECK(one.runtime.truth().containers.front().forgotten);
}

std::string history(uint64_t seed) {
  WorldOfOne one(seed);
  one.runtime.faults().chances() = {0.1, 0.1, 0.1, 0.1, 0.1, 1s};
  std::string told;
  for (int i = 0; i < 30; ++i) {
    const auto id = run_and_get(one.loop, one.runtime.run_sandbox(a_sandbox(std::to_string(i)), one.soon(2s)));
    told += fmt::format("{} {} {}\n", (one.loop.now().time_since_epoch()).count(), static_cast<int>(id.status().code()),
                        id.ok() ? id->value : "");
  }
  return told;
}

TEST_CASE("random faults are the same for the same seed, and others for another") {
  CHECK(history(7) == history(7));
  CHECK(history(7) != history(8));
}

}  // namespace
}  // namespace podwright::cri
