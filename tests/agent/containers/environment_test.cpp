#include <doctest/doctest.h>

#include "tests/agent/containers/containers_world.h"

namespace podwright::containers {
namespace {

TEST_CASE("K44: expansion uses what was defined before, and leaves what it does not know") {
  ContainersWorld world;
  const auto pod = a_pod(
      "{containers: [{name: a, image: 'i:1', command: [sh, -c, 'echo $(C) $B $D; env'], env: ["
      "{name: B, value: '$(A)-x'}, {name: A, value: '1'}, {name: C, value: '$(A)-y'}, {name: D, value: '$$(A)'},"
      " {name: A, value: '2'}, {name: E, value: '$(NOPE) $(A'}]}]}");
  CHECK(world.env(pod) == "B=$(A)-x|A=2|C=1-y|D=$(A)|E=$(NOPE) $(A");

  world.inputs.env = *resolve_environment(pod, pod->spec().containers(0), world.node, {}, world.objects);
  const auto config = world.config(pod);
  REQUIRE(config.ok());
  CHECK(config->command == std::vector<std::string>{"sh", "-c", "echo 1-y $B $D; env"});
  CHECK(config->envs == world.inputs.env);
}

TEST_CASE("env comes before envFrom, later before earlier, and expansion sees both") {
  ContainersWorld world;
  world.put_config_map("one", "{A: one, B: one, C: one}");
  world.put_secret("two", "stringData: {B: two, C: two}");
  CHECK(world.env("envFrom: [{configMapRef: {name: one}}, {secretRef: {name: two}}],"
                  " env: [{name: C, value: three}, {name: D, value: $(A)$(B)$(C)}]") ==
        "A=one|B=two|C=three|D=onetwothree");
  CHECK(world.env("envFrom: [{prefix: P_, configMapRef: {name: one}}], env: [{name: X, value: $(P_A)}]") ==
        "P_A=one|P_B=one|P_C=one|X=one");
}

TEST_CASE("an empty value is an empty string") {
  ContainersWorld world;
  CHECK(world.env("env: [{name: A}, {name: B, value: ''}]") == "A=|B=");
}

TEST_CASE("missing objects and keys are errors in upstream's words, unless they are optional") {
  ContainersWorld world;
  world.put_config_map("one", "{A: one}");
  world.put_secret("two", "data: {B: dHdv}");
  CHECK(world.env("env: [{name: A, valueFrom: {configMapKeyRef: {name: one, key: A}}},"
                  " {name: B, valueFrom: {secretKeyRef: {name: two, key: B}}}]") == "A=one|B=two");
  CHECK(world.env("envFrom: [{configMapRef: {name: none}}]") == "error: configmap \"none\" not found");
  CHECK(world.env("envFrom: [{secretRef: {name: none}}]") == "error: secret \"none\" not found");
  CHECK(world.env("env: [{name: A, valueFrom: {configMapKeyRef: {name: none, key: A}}}]") ==
        "error: env A: configmap \"none\" not found");
  CHECK(world.env("env: [{name: A, valueFrom: {configMapKeyRef: {name: one, key: K}}}]") ==
        "error: env A: couldn't find key K in ConfigMap default/one");
  CHECK(world.env("env: [{name: A, valueFrom: {secretKeyRef: {name: two, key: K}}}]") ==
        "error: env A: couldn't find key K in Secret default/two");
  CHECK(world.env("envFrom: [{configMapRef: {name: none, optional: true}}, {secretRef: {name: none, optional: true}}],"
                  " env: [{name: A, valueFrom: {configMapKeyRef: {name: none, key: A, optional: true}}},"
                  " {name: B, valueFrom: {secretKeyRef: {name: two, key: K, optional: true}}}]") == "");
}

TEST_CASE("objects that are not read yet are no missing ones") {
  ContainersWorld world;
  const auto pod =
      a_pod("{containers: [{name: a, image: 'i:1', envFrom: [{configMapRef: {name: one, optional: true}}]}]}");
  CHECK(
      absl::IsUnavailable(resolve_environment(pod, pod->spec().containers(0), world.node, {}, world.objects).status()));
}

TEST_CASE("fields of the pod and of the node") {
  ContainersWorld world;
  for (const auto& [path, expected] : {std::pair{"metadata.name", "web"},
                                       {"metadata.namespace", "default"},
                                       {"metadata.uid", "u1"},
                                       {"metadata.labels['app']", "web"},
                                       {"metadata.labels['none']", ""},
                                       {"metadata.annotations['x.test/note']", "hi"},
                                       {"spec.nodeName", "n1"},
                                       {"spec.host", "n1"},
                                       {"spec.serviceAccountName", "sa"},
                                       {"status.hostIP", "192.0.2.1"},
                                       {"status.hostIPs", "192.0.2.1,2001:db8::1"},
                                       {"status.podIP", "10.1.0.2"},
                                       {"status.podIPs", "10.1.0.2"}}) {
    CAPTURE(path);
    CHECK(world.env(std::string("env: [{name: A, valueFrom: {fieldRef: {fieldPath: \"") + path + "\"}}}]") ==
          std::string("A=") + expected);
  }
  CHECK(world.env("env: [{name: A, valueFrom: {fieldRef: {fieldPath: spec.containers}}}]").starts_with("error: env A"));
}

TEST_CASE("resources are divided and rounded up; a missing limit is the node's, a missing request nothing") {
  ContainersWorld world;
  const auto value = [&world](const std::string& resource, const std::string& divisor) {
    return world.env(
        "resources: {limits: {cpu: 1500m, memory: 100Mi}, requests: {cpu: 250m}}, env: [{name: A,"
        " valueFrom: {resourceFieldRef: {resource: " +
        resource + (divisor.empty() ? "" : ", divisor: " + divisor) + "}}}]");
  };
  CHECK(value("limits.cpu", "") == "A=2");
  CHECK(value("limits.cpu", "1m") == "A=1500");
  CHECK(value("requests.cpu", "") == "A=1");
  CHECK(value("requests.cpu", "'0'") == "A=1");
  CHECK(value("limits.memory", "") == "A=104857600");
  CHECK(value("limits.memory", "1Gi") == "A=1");
  CHECK(value("requests.ephemeral-storage", "") == "A=0");

  CHECK(world.env("env: [{name: A, valueFrom: {resourceFieldRef: {resource: limits.cpu}}}]") == "A=4");
  CHECK(world.env("env: [{name: A, valueFrom: {resourceFieldRef: {resource: limits.memory, divisor: 1Gi}}}]") == "A=7");
  CHECK(world.env("env: [{name: A, valueFrom: {resourceFieldRef: {resource: requests.memory}}}]") == "A=0");
}

TEST_CASE("a resource may be another container's, also an init container's") {
  ContainersWorld world;
  const auto pod = a_pod(
      "{initContainers: [{name: i, image: 'i:1', resources: {limits: {cpu: 3}}}],"
      " containers: [{name: a, image: 'i:1', env: [{name: A, valueFrom: {resourceFieldRef: {containerName: b,"
      " resource: limits.cpu}}}, {name: B, valueFrom: {resourceFieldRef: {containerName: i, resource: limits.cpu}}}]},"
      " {name: b, image: 'i:1', resources: {limits: {cpu: 2}}}]}");
  CHECK(world.env(pod) == "A=2|B=3");
}

}  // namespace
}  // namespace podwright::containers
