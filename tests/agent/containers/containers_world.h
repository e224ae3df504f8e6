// A node, its objects and a pod, for the configurations that the runtime is handed.
#pragma once

#include "agent/containers/config.h"
#include "agent/objects/manifest_objects.h"
#include "base/co/sim_loop.h"
#include "tests/agent/sample_pods.h"

namespace podwright::containers {

inline NodeFacts a_node() {
  NodeFacts node;
  node.node_name = "n1";
  node.host_ip = "192.0.2.1";
  node.host_ips = {"192.0.2.1", "2001:db8::1"};
  node.cluster_domain = "cluster.local";
  node.cluster_dns = {"10.96.0.10"};
  node.host_nameservers = {"192.0.2.53"};
  node.host_searches = {"example.com"};
  node.host_options = {"timeout:1"};
  node.memory_capacity_bytes = int64_t{8} << 30;
  node.cpu_allocatable_milli = 3500;
  node.memory_allocatable_bytes = int64_t{7} << 30;
  return node;
}

struct ContainersWorld {
  void put_config_map(const std::string& name, const std::string& data) {
    set.config_maps[{"default", name}] = std::make_shared<core::ConfigMap>(from_yaml<core::ConfigMap>("data: " + data));
    objects.replace(set);
  }
  void put_secret(const std::string& name, const std::string& members) {
    set.secrets[{"default", name}] = std::make_shared<core::Secret>(from_yaml<core::Secret>(members));
    objects.replace(set);
  }

  // The environment of the first regular container, "A=1 B=2" in its order, or the error.
  std::string env(const pods::PodPtr& pod, const std::vector<std::string>& ips = {"10.1.0.2"}) {
    const auto found = resolve_environment(pod, pod->spec().containers(0), node, ips, objects);
    if (!found.ok()) return "error: " + std::string(found.status().message());
    std::string text;
    for (const auto& [name, value] : *found) text += (text.empty() ? "" : "|") + name + "=" + value;
    return text;
  }
  std::string env(const std::string& members) {
    return env(a_pod("{containers: [{name: a, image: 'i:1', " + members + "}], serviceAccountName: sa}",
                     "labels: {app: web}, annotations: {x.test/note: hi}"));
  }

  // The configuration of a container of the pod.
  absl::StatusOr<cri::ContainerConfig> config(const pods::PodPtr& pod, const std::string& name = "a") {
    inputs.pod = pod;
    inputs.container = *pods::find_container(pod, ContainerName(name));
    inputs.image_ref = "sha256:abc";
    return make_container_config(inputs, node);
  }
  cri::ContainerConfig config_of(const std::string& members, const std::string& spec = "") {
    auto made = config(a_pod("{containers: [{name: a, image: 'i:1'" + (members.empty() ? "" : ", " + members) + "}]" +
                             (spec.empty() ? "" : ", " + spec) + "}"));
    REQUIRE_MESSAGE(made.ok(), std::string(made.status().message()));
    return *std::move(made);
  }
  std::string refusal(const std::string& members, const std::string& spec = "", const std::string& metadata = "") {
    return std::string(config(a_pod("{containers: [{name: a, image: 'i:1'" + (members.empty() ? "" : ", " + members) +
                                        "}]" + (spec.empty() ? "" : ", " + spec) + "}",
                                    metadata))
                           .status()
                           .message());
  }
  Resolved sandbox(const pods::PodPtr& pod) {
    auto made = make_sandbox_config(pod, 2, node, "/kubepods/podu1", std::nullopt);
    REQUIRE_MESSAGE(made.ok(), std::string(made.status().message()));
    return *std::move(made);
  }

  SimLoop loop;
  objects::ManifestObjects objects{loop};
  objects::ObjectSet set;
  NodeFacts node = a_node();
  ContainerInputs inputs;
};

}  // namespace podwright::containers
