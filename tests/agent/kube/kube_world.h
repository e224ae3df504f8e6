// What the tests of agent/kube share: objects by a few words, and waiting for a condition in virtual time.
#pragma once

#include <doctest/doctest.h>

#include <string>

#include "agent/kube/informer.h"
#include "base/co/scope.h"
#include "base/co/sim_loop.h"
#include "tests/fakes/api/fake_api_server.h"

namespace podwright::kube {

inline core::ConfigMap a_map(const std::string& name, const std::string& value = "1") {
  core::ConfigMap map;
  map.mutable_metadata()->set_namespace_("ns");
  map.mutable_metadata()->set_name(name);
  (*map.mutable_data())["k"] = value;
  return map;
}

inline core::Pod a_bare_pod(const std::string& name, const std::string& node) {
  core::Pod pod;
  pod.mutable_metadata()->set_namespace_("ns");
  pod.mutable_metadata()->set_name(name);
  pod.mutable_spec()->set_nodename(node);
  auto* container = pod.mutable_spec()->add_containers();
  container->set_name("c");
  container->set_image("i:1");
  return pod;
}

struct KubeWorld {
  explicit KubeWorld(uint64_t seed = 1) : loop(seed), steps(loop.clock()), server(loop) {}
  ~KubeWorld() {
    // Flows must not outlive what they refer to.
    loop.drop();
  }
  template <class Done>
  bool soon(Done done, Duration within = 10min) {
    return loop.run_until_true(done, after(loop.now(), within));
  }
  Instant in(Duration time) { return after(loop.now(), time); }

  SimLoop loop;
  Steps steps;
  FakeApiServer server;
};

}  // namespace podwright::kube
