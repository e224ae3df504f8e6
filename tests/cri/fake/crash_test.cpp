// The agent may be killed at any step; what it had asked for happens, and the next agent can take it up by labels.
#include <doctest/doctest.h>

#include "base/co/scope.h"
#include "tests/cri/fake/world_of_one.h"

namespace podwright::cri {
namespace {

constexpr Duration kCall = 30s;

Filter of_web() {
  Filter filter;
  filter.labels[kPodUidLabel] = "web";
  return filter;
}

Co<std::string> find_sandbox(Loop* loop, FakeRuntime* runtime) {
  const auto all = co_await runtime->list_sandboxes(of_web(), after(loop->now(), kCall));
  co_return all.ok() && !all->empty() ? all->front().id.value : "";
}

Co<std::string> find_container(Loop* loop, FakeRuntime* runtime) {
  const auto all = co_await runtime->list_containers(of_web(), after(loop->now(), kCall));
  co_return all.ok() && !all->empty() ? all->front().id.value : "";
}

// A small agent: brings one container of one pod up, taking up what is there.
Co<void> bring_up(Loop* loop, FakeRuntime* runtime, bool* up) {
  const SandboxConfig config = a_sandbox("web");
  std::string sandbox = co_await find_sandbox(loop, runtime);
  while (sandbox.empty()) {
    const auto made = co_await runtime->run_sandbox(config, after(loop->now(), kCall));
    if (made.ok()) sandbox = made->value;
    if (!made.ok()) sandbox = co_await find_sandbox(loop, runtime);
  }
  std::string container = co_await find_container(loop, runtime);
  while (container.empty()) {
    const auto made = co_await runtime->create_container(SandboxId(sandbox), a_container(config, "app"), config,
                                                         after(loop->now(), kCall));
    if (made.ok()) container = made->value;
    if (!made.ok()) container = co_await find_container(loop, runtime);
  }
  // Started already: refused, which is as good.
  (void)co_await runtime->start_container(ContainerId(container), after(loop->now(), kCall));
  const auto status = co_await runtime->container_status(ContainerId(container), after(loop->now(), kCall));
  *up = status.ok() && status->state == ContainerState::kRunning;
}

TEST_CASE("an agent that is killed at any step leaves a world that the next one completes, with nothing twice") {
  int cut = 0;
  for (uint64_t seed = 1; seed <= 150; ++seed) {
    CAPTURE(seed);
    SeededRng rng(seed);
    auto loop = std::make_unique<SimLoop>(seed);
    FakeRuntime runtime(*loop, WorldOfOne::options(seed));
    runtime.faults().chances().late_answer = 0.2;
    bool up = false;

    // A few lives, each cut after a drawn number of steps; the last one may end.
    for (uint64_t life = 0; life < 4; ++life) {
      auto scope = std::make_unique<Scope>(*loop);
      scope->spawn("agent", bring_up(loop.get(), &runtime, &up));
      const uint64_t steps = life == 3 ? UINT64_MAX : rng.below(25);
      for (uint64_t i = 0; i < steps && loop->step(); ++i) {
      }
      if (runtime.in_flight() > 0) ++cut;
      runtime.detach();
      auto next = std::make_unique<SimLoop>(seed + life, loop->shared_clock());
      loop->drop();
      scope.reset();
      loop = std::move(next);
      runtime.attach(*loop);
    }

    CHECK(up);
    CHECK(runtime.in_flight() == 0);
    CHECK(runtime.truth().sandboxes.size() == 1);
    CHECK(runtime.truth().containers.size() == 1);
    CHECK(runtime.truth().overlapping_containers().empty());
  }
  // The crashes did fall into calls.
  CHECK(cut > 50);
}

TEST_CASE("a fake may die before the loop that it was on") {
  SimLoop loop;
  auto runtime = std::make_unique<FakeRuntime>(loop);
  {
    Scope scope(loop);
    bool up = false;
    scope.spawn("agent", bring_up(&loop, runtime.get(), &up));
    loop.run_for(1ms);
    loop.drop();
  }
  runtime->world().add_sandbox(SandboxId("s"), "s", a_sandbox("other"));

  runtime.reset();
  loop.run_for(1min);

  CHECK(loop.waiting() == 0);
}

}  // namespace
}  // namespace podwright::cri
