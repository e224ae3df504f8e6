#include "agent/containers/config.h"

#include <doctest/doctest.h>

#include "tests/agent/containers/containers_world.h"

namespace podwright::containers {
namespace {

TEST_CASE("what a sandbox carries: the pod's labels and annotations, and the agent's own") {
  ContainersWorld world;
  const auto made = world
                        .sandbox(a_pod("{containers: [{name: a, image: 'i:1', ports: [{containerPort: 80}, "
                                       "{containerPort: 53, protocol: UDP, hostPort: 5353, hostIP: 192.0.2.1}]}]}",
                                       "labels: {app: web}, annotations: {note: hi}"))
                        .config;
  CHECK(made.pod.text() == "default/web");
  CHECK(made.uid.value == "u1");
  CHECK(made.attempt == 2);
  CHECK(made.hostname == "web");
  CHECK(made.log_directory == "/var/log/pods/default_web_u1");
  CHECK(made.cgroup_parent == "/kubepods/podu1");
  CHECK(made.labels == cri::Labels{{"app", "web"},
                                   {"io.kubernetes.pod.name", "web"},
                                   {"io.kubernetes.pod.namespace", "default"},
                                   {"io.kubernetes.pod.uid", "u1"}});
  CHECK(made.annotations == cri::Labels{{"note", "hi"}});
  CHECK(made.ports ==
        std::vector<cri::PortMapping>{{cri::Protocol::kTcp, 80, 0, ""}, {cri::Protocol::kUdp, 53, 5353, "192.0.2.1"}});
  CHECK(made.seccomp.type == cri::SecurityProfile::Type::kRuntimeDefault);
  CHECK(made.namespaces.network == cri::NamespaceMode::kPod);
  CHECK(made.namespaces.pid == cri::NamespaceMode::kContainer);
  CHECK(!made.privileged);
}

TEST_CASE("a pod's own label cannot take the place of the agent's") {
  ContainersWorld world;
  const auto made =
      world.sandbox(a_pod("{containers: [{name: a, image: 'i:1'}]}", "labels: {io.kubernetes.pod.uid: other}"));
  CHECK(made.config.labels.at("io.kubernetes.pod.uid") == "u1");
}

TEST_CASE("a sandbox in the host's network has no host name, and its namespaces are the host's") {
  ContainersWorld world;
  const auto made = world
                        .sandbox(a_pod("{hostNetwork: true, hostPID: true, hostIPC: true,"
                                       " containers: [{name: a, image: 'i:1', securityContext: {privileged: true}}]}"))
                        .config;
  CHECK(made.hostname.empty());
  CHECK(made.namespaces.network == cri::NamespaceMode::kNode);
  CHECK(made.namespaces.pid == cri::NamespaceMode::kNode);
  CHECK(made.namespaces.ipc == cri::NamespaceMode::kNode);
  CHECK(made.privileged);
  CHECK(world.sandbox(a_pod("{shareProcessNamespace: true, containers: [{name: a, image: 'i:1'}]}"))
            .config.namespaces.pid == cri::NamespaceMode::kPod);
}

TEST_CASE("sysctls: safe ones, those that the node allows, and nothing that could set another") {
  ContainersWorld world;
  const auto with = [](const std::string& name, const std::string& value) {
    return a_pod("{containers: [{name: a, image: 'i:1'}], securityContext: {sysctls: [{name: " + name + ", value: \"" +
                 value + "\"}]}}");
  };
  CHECK(world.sandbox(with("net.ipv4.tcp_syncookies", "1")).config.sysctls.at("net.ipv4.tcp_syncookies") == "1");
  CHECK(world.sandbox(with("net/ipv4/tcp_syncookies", "1")).config.sysctls.at("net.ipv4.tcp_syncookies") == "1");
  const auto refused = make_sandbox_config(with("net.core.somaxconn", "1"), 0, world.node, "", std::nullopt);
  CHECK(absl::IsPermissionDenied(refused.status()));
  world.node.allowed_unsafe_sysctls = {"net.core.*"};
  CHECK(world.sandbox(with("net.core.somaxconn", "1")).config.sysctls.size() == 1);
  CHECK(!make_sandbox_config(with("net.core.somaxconn", "1+kernel.core_pattern=x"), 0, world.node, "", std::nullopt)
             .ok());
}

TEST_CASE("what a container carries") {
  ContainersWorld world;
  world.inputs.restart_count = 3;
  world.inputs.device_annotations = {{"x.test/device", "d"}, {"io.kubernetes.container.hash", "theirs"}};
  const auto made = world.config_of(
      "command: [c], args: [x], workingDir: /w, stdin: true, stdinOnce: true, tty: true,"
      " ports: [{name: http, containerPort: 80}], lifecycle: {preStop: {exec: {command: [sh, -c, 'a \"b\"']}}}",
      "terminationGracePeriodSeconds: 7");
  CHECK(made.name.value == "a");
  CHECK(made.attempt == 3);
  CHECK(made.image == "sha256:abc");
  CHECK(made.user_specified_image == "i:1");
  CHECK(made.working_dir == "/w");
  CHECK(made.log_path == "a/3.log");
  CHECK(made.stdin);
  CHECK(made.stdin_once);
  CHECK(made.tty);
  CHECK(made.labels == cri::Labels{{"io.kubernetes.container.name", "a"},
                                   {"io.kubernetes.pod.name", "web"},
                                   {"io.kubernetes.pod.namespace", "default"},
                                   {"io.kubernetes.pod.uid", "u1"}});
  core::Container hashed;
  hashed.set_name("a");
  hashed.set_image("i:1");
  CHECK(made.annotations ==
        cri::Labels{
            {"io.kubernetes.container.hash", pods::container_hash(hashed)},
            {"io.kubernetes.container.ports", "[{\"name\":\"http\",\"containerPort\":80,\"protocol\":\"TCP\"}]"},
            {"io.kubernetes.container.preStopHandler", "{\"exec\":{\"command\":[\"sh\",\"-c\",\"a \\\"b\\\"\"]}}"},
            {"io.kubernetes.container.restartCount", "3"},
            {"io.kubernetes.container.terminationMessagePath", "/dev/termination-log"},
            {"io.kubernetes.container.terminationMessagePolicy", "File"},
            {"io.kubernetes.pod.terminationGracePeriod", "7"},
            {"x.test/device", "d"}});
}

TEST_CASE("the hosts file and the termination message are mounted, unless the container mounts that path itself") {
  ContainersWorld world;
  world.inputs.hosts_path = "/r/etc-hosts";
  world.inputs.termination_message_path = "/r/message";
  const auto made = world.config_of("");
  REQUIRE(made.mounts.size() == 2);
  CHECK(made.mounts[0].container_path == "/etc/hosts");
  CHECK(made.mounts[0].host_path == "/r/etc-hosts");
  CHECK(!made.mounts[0].readonly);
  CHECK(made.mounts[1].container_path == "/dev/termination-log");

  const auto own =
      world.config_of("volumeMounts: [{name: v, mountPath: /etc/hosts}]", "volumes: [{name: v, emptyDir: {}}]");
  REQUIRE(own.mounts.size() == 1);
  CHECK(own.mounts[0].container_path == "/dev/termination-log");
}

TEST_CASE("a mount that is to be read-only recursively needs a runtime that can") {
  ContainersWorld world;
  cri::Mount mount;
  mount.container_path = "/v";
  mount.recursive_readonly = true;
  world.inputs.volume_mounts.mounts = {mount};
  CHECK(world.refusal("").find("cannot make /v read-only recursively") != std::string::npos);
  world.node.runtime.handlers = {{"", true, false}};
  CHECK(world.refusal("").empty());
}

TEST_CASE("log paths") {
  const NodeFacts node = a_node();
  CHECK(pod_log_dir(node, {"ns", "p"}, PodUid("u")) == "/var/log/pods/ns_p_u");
  CHECK(container_log_path(ContainerName("c"), 4) == "c/4.log");
  CHECK(container_log_link(node, {"ns", "p"}, ContainerName("c"), ContainerId("id")) ==
        "/var/log/containers/p_ns_c-id.log");
  const std::string longest =
      container_log_link(node, {"ns", std::string(253, 'p')}, ContainerName("c"), ContainerId("id"));
  CHECK(longest == "/var/log/containers/" + std::string(251, 'p') + ".log");
}

TEST_CASE("the restart count survives in the names of the log files") {
  const auto count = [](std::vector<std::string> names) {
    std::vector<DirectoryEntry> entries;
    for (auto& name : names) entries.push_back({std::move(name), FileType::kFile});
    return restart_count_from_logs(entries);
  };
  CHECK(count({}) == 0);
  CHECK(count({"0.log"}) == 1);
  CHECK(count({"0.log", "10.log", "9.log"}) == 11);
  CHECK(count({"2.log.20260101-000000.gz"}) == 3);
  CHECK(count({"x.log", "1.txt", "-1.log", "99999999999.log"}) == 0);
}

}  // namespace
}  // namespace podwright::containers
