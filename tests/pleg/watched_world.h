// A fake runtime watched by a Pleg over a RuntimeCache, and a listener that looks at each pod that is marked, as the
// pod workers do.
#pragma once

#include <doctest/doctest.h>

#include <map>
#include <memory>
#include <vector>

#include "base/co/bell.h"
#include "base/co/scope.h"
#include "base/co/sim_loop.h"
#include "base/step/step.h"
#include "cri/fake/fake_runtime.h"
#include "cri/fake/samples.h"
#include "pleg/pleg.h"

namespace podwright::pleg {

struct WatchedWorld {
  explicit WatchedWorld(uint64_t seed = 1, Pleg::Options options = {})
      : loop(seed),
        runtime(loop, runtime_options(seed)),
        steps(loop.clock()),
        cache(loop, runtime, steps),
        pleg(loop, runtime, runtime, cache, steps, options, [this](const PodEvent& event) { on(event); }),
        scope(loop) {}

  static cri::FakeRuntimeOptions runtime_options(uint64_t seed) {
    cri::FakeRuntimeOptions options;
    options.seed = seed;
    return options;
  }

  void run_pleg() {
    scope.spawn("pleg", pleg.run());
    loop.run_for(100ms);
    events.clear();
  }

  void close() {
    run_to_end(loop, scope.close());
    run_to_end(loop, cache.close());
  }

  // ---- what happens in the world, without a call ----
  SandboxId sandbox(const std::string& uid, uint32_t attempt = 0) {
    return runtime.world().add_sandbox(SandboxId(loop.rng().hex(64)), "", cri::a_sandbox(uid, attempt));
  }
  ContainerId create(const SandboxId& sandbox, const std::string& uid, const std::string& name, uint32_t attempt = 0) {
    const auto config = cri::a_sandbox(uid);
    const ContainerId id(loop.rng().hex(64));
    runtime.world().add_container(id, "", sandbox, cri::a_container(config, name, attempt), config);
    return id;
  }
  ContainerId run(const SandboxId& sandbox, const std::string& uid, const std::string& name, uint32_t attempt = 0) {
    const ContainerId id = create(sandbox, uid, name, attempt);
    REQUIRE(runtime.world().start(id).ok());
    return id;
  }

  absl::StatusOr<PodRuntimePtr> look(const std::string& uid) { return run_and_get(loop, cache.inspect(PodUid(uid))); }

  // ---- what is told ----
  void on(const PodEvent& event) {
    events.push_back(event);
    if (!looks) return;
    auto& bell = bells[event.uid];
    if (!bell) {
      bell = std::make_shared<Bell>(loop);
      scope.spawn("worker", work(this, event.uid, bell));
    }
    bell->ring();
  }
  static Co<void> work(WatchedWorld* world, PodUid uid, std::shared_ptr<Bell> bell) {
    while (co_await bell->wait_until(Instant::max()) == Wait::kRung) {
      const auto seen = co_await world->cache.inspect(uid);
      if (seen.ok()) continue;
      if (co_await sleep_until(world->loop, after(world->loop.now(), 500ms)) == Wait::kCancelled) co_return;
      bell->ring();
    }
  }
  int told(PodEvent::Kind kind, const std::string& id = "") const {
    return static_cast<int>(std::count_if(events.begin(), events.end(), [&](const PodEvent& event) {
      return event.kind == kind && (id.empty() || event.id == id);
    }));
  }

  SimLoop loop;
  cri::FakeRuntime runtime;
  Steps steps;
  RuntimeCache cache;
  Pleg pleg;
  bool looks = false;  // each mark is followed by a look
  std::vector<PodEvent> events;
  std::map<PodUid, std::shared_ptr<Bell>> bells;
  Scope scope;
};

}  // namespace podwright::pleg
