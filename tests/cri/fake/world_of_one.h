// A loop with a fake runtime on it, and the few calls that most tests begin with.
#pragma once

#include <doctest/doctest.h>

#include "base/co/scope.h"
#include "base/co/sim_loop.h"
#include "cri/fake/fake_runtime.h"
#include "cri/fake/samples.h"

namespace podwright::cri {

struct WorldOfOne {
  explicit WorldOfOne(uint64_t seed = 1) : loop(seed), runtime(loop, options(seed)) {}

  static FakeRuntimeOptions options(uint64_t seed) {
    FakeRuntimeOptions options;
    options.seed = seed;
    return options;
  }

  Instant soon(Duration wait = 30s) { return after(loop.now(), wait); }

  SandboxId sandbox(const SandboxConfig& config) {
    auto id = run_and_get(loop, runtime.run_sandbox(config, soon()));
    REQUIRE(id.ok());
    return *id;
  }

  absl::StatusOr<ContainerId> create(const SandboxId& sandbox, const std::string& uid, const std::string& name,
                                     uint32_t attempt = 0) {
    const SandboxConfig config = a_sandbox(uid);
    return run_and_get(loop, runtime.create_container(sandbox, a_container(config, name, attempt), config, soon()));
  }

  // A sandbox with one running container.
  ContainerId run(const std::string& uid, const std::string& name) {
    const auto id = create(sandbox(a_sandbox(uid)), uid, name);
    REQUIRE(id.ok());
    REQUIRE(run_and_get(loop, runtime.start_container(*id, soon())).ok());
    return *id;
  }

  template <class T>
  static Co<void> keep(Co<T> co, T* into) {
    *into = co_await std::move(co);
  }

  SimLoop loop;
  FakeRuntime runtime;
};

}  // namespace podwright::cri
