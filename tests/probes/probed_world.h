// A fake runtime with one running container, a net in memory, and Probes that watch it.
#pragma once

#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "base/co/sim_loop.h"
#include "base/net/memory_net.h"
#include "cri/fake/fake_runtime.h"
#include "cri/fake/samples.h"
#include "probes/probes.h"

namespace podwright::probes {

struct ProbedWorld {
  explicit ProbedWorld(ProbeOptions with = {}, uint64_t seed = 1)
      : loop(seed),
        net(loop),
        runtime(loop),
        steps(loop.clock()),
        probes(loop, net, runtime, steps, started(with), sink()) {}

  // An agent that has been up for long, so that no first tick is drawn.
  ProbeOptions started(ProbeOptions options) const {
    options.agent_started = Instant(Duration(0));
    return options;
  }
  Sink<ProbeResult> sink() {
    return [this](ProbeResult result) {
      at.push_back(loop.now());
      results.push_back(std::move(result));
    };
  }
  ~ProbedWorld() {
    run_to_end(loop, probes.close());
    run_to_end(loop, net.close());
  }

  ContainerId run(const std::string& name = "app") {
    const auto config = cri::a_sandbox("uid");
    if (sandbox.empty()) sandbox = runtime.world().add_sandbox(SandboxId(loop.rng().hex(64)), "", config);
    const ContainerId id(loop.rng().hex(64));
    runtime.world().add_container(id, "", sandbox, cri::a_container(config, name, attempts), config);
    ++attempts;
    REQUIRE(runtime.world().start(id).ok());
    return id;
  }
  void script(std::function<std::optional<cri::ExecScript>(const std::vector<std::string>&)> exec) {
    cri::ContainerScript script;
    script.exec = std::move(exec);
    runtime.set_script(uid, name, script);
  }
  ProbedContainer container(const ContainerId& id, ProbeSpecs specs) {
    ProbedContainer container;
    container.target.uid = uid;
    container.target.pod = {"default", "pod"};
    container.target.container = name;
    container.target.id = id;
    container.target.pod_ips = {"10.0.0.7"};
    container.running_since = loop.now();
    container.specs = std::move(specs);
    return container;
  }
  // Adds a container that starts now.
  ContainerId add(ProbeSpecs specs, std::map<ProbeKind, ProbeState> restored = {}) {
    const ContainerId id = run();
    probes.add(container(id, std::move(specs)), std::move(restored));
    return id;
  }

  std::vector<ProbeResult> of(ProbeKind kind) const {
    std::vector<ProbeResult> found;
    for (const auto& result : results) {
      if (result.kind == kind) found.push_back(result);
    }
    return found;
  }
  std::optional<ContainerVerdicts> verdicts(const ContainerId& id) const { return probes.verdicts(uid, name, id); }
  int execs() const { return runtime.calls(cri::Method::kExecSync); }

  SimLoop loop;
  MemoryNet net;
  cri::FakeRuntime runtime;
  Steps steps;
  std::vector<ProbeResult> results;
  std::vector<Instant> at;  // of each result
  PodUid uid{"uid"};
  ContainerName name{"app"};
  SandboxId sandbox;
  uint32_t attempts = 0;
  Probes probes;
};

inline ProbeSpec exec_spec(std::string command = "check", std::chrono::seconds period = 10s) {
  ProbeSpec spec;
  spec.action = ExecAction{{std::move(command)}};
  spec.period = period;
  return spec;
}

inline cri::ExecScript ends_with(int32_t code, std::string out = "") {
  cri::ExecScript script;
  script.exit_code = code;
  script.stdout_bytes = std::move(out);
  return script;
}

inline cri::ExecScript hangs() {
  cri::ExecScript script;
  script.hangs = true;
  return script;
}

}  // namespace podwright::probes
