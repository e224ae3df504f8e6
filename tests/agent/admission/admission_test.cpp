#include "agent/admission/admission.h"

#include <doctest/doctest.h>

#include "tests/agent/sample_pods.h"

namespace podwright::admission {
namespace {

NodeCapacity a_node() {
  NodeCapacity node;
  node.node_name = "n1";
  node.labels = {{"kubernetes.io/os", "linux"}, {"disk", "ssd"}};
  node.cpu_milli = 4000;
  node.memory_bytes = int64_t{8} << 30;
  node.ephemeral_bytes = int64_t{10} << 30;
  return node;
}

pods::PodPtr a_small_pod(const std::string& resources = "{}", const std::string& more = "",
                         const std::string& metadata = "", const std::string& container = "") {
  return a_pod("{containers: [{name: a, image: 'i:1', resources: " + resources +
                   (container.empty() ? "" : ", " + container) + "}]" + (more.empty() ? "" : ", " + more) + "}",
               metadata);
}
pods::PodPtr of_cpu(const std::string& cpu) {
  return a_small_pod("{requests: {cpu: " + cpu + "}}");
}

// "yes", or "Reason: message", with "wait " in front where it is not yet.
std::string told(const Decision& decision) {
  if (decision.answer == Decision::Answer::kYes) return "yes";
  return (decision.answer == Decision::Answer::kNotYet ? "wait " : "") + decision.reason + ": " + decision.message;
}
std::string answer(const pods::PodPtr& pod, const std::vector<pods::PodPtr>& active = {},
                   const NodeCapacity& node = a_node(), const std::vector<pods::PodPtr>& ending = {}) {
  return told(admit(*pod, active, node, ending));
}
std::string reason(const pods::PodPtr& pod, const std::vector<pods::PodPtr>& active = {},
                   const NodeCapacity& node = a_node()) {
  return admit(*pod, active, node).reason;
}

const std::string kStatic = "annotations: {kubernetes.io/config.source: file}";

TEST_CASE("a pod that fits comes in, down to the last bit of the node") {
  CHECK(answer(of_cpu("4")) == "yes");
  CHECK(answer(of_cpu("1"), {of_cpu("1"), of_cpu("2")}) == "yes");
  CHECK(answer(a_small_pod("{requests: {memory: 8Gi, ephemeral-storage: 10Gi}}")) == "yes");
  CHECK(answer(a_small_pod(), {of_cpu("4")}) == "yes");
}

TEST_CASE("what the node lacks is named with what is asked, used and there") {
  CHECK(answer(of_cpu("8"), {of_cpu("100m")}) ==
        "OutOfcpu: Node didn't have enough resource: cpu, requested: 8000, used: 100, capacity: 4000");
  CHECK(answer(of_cpu("1"), {of_cpu("3500m")}) ==
        "OutOfcpu: Node didn't have enough resource: cpu, requested: 1000, used: 3500, capacity: 4000");
  CHECK(answer(a_small_pod("{requests: {memory: 9Gi}}")) ==
        "OutOfmemory: Node didn't have enough resource: memory, requested: 9663676416, used: 0, capacity: 8589934592");
  CHECK(reason(a_small_pod("{requests: {ephemeral-storage: 11Gi}}")) == "OutOfephemeral-storage");
  NodeCapacity node = a_node();
  node.pods = 2;
  CHECK(answer(a_small_pod(), {a_small_pod(), a_small_pod()}, node) ==
        "OutOfpods: Node didn't have enough resource: pods, requested: 1, used: 2, capacity: 2");
}

TEST_CASE("extended resources count where the node has them, and are no matter where it has not") {
  NodeCapacity node = a_node();
  node.others["example.test/dev"] = 2;
  const auto with = [](const std::string& name, int count) {
    return a_small_pod("{limits: {" + name + ": " + std::to_string(count) + "}}");
  };
  CHECK(reason(with("example.test/dev", 2), {}, node).empty());
  CHECK(reason(with("example.test/dev", 2), {with("example.test/dev", 1)}, node) == "OutOfexample.test/dev");
  CHECK(reason(with("example.test/unknown", 9), {}, node).empty());
}

TEST_CASE("init containers, sidecars and overhead count as upstream has it") {
  const auto pod = a_pod(
      "{initContainers: [{name: s, image: 'i:1', restartPolicy: Always, resources: {requests: {cpu: 1}}},"
      " {name: i, image: 'i:1', resources: {requests: {cpu: 3}}}],"
      " containers: [{name: a, image: 'i:1', resources: {requests: {cpu: 1}}}]}");
  CHECK(reason(pod).empty());
  CHECK(reason(pod, {of_cpu("1m")}) == "OutOfcpu");
}

TEST_CASE("K103: an absurd wish is refused and does not count for those after it") {
  const auto absurd = of_cpu("'1e12'");
  CHECK(reason(absurd) == "OutOfcpu");
  CHECK(reason(of_cpu("20m"), {}) == "");
  // Sums that would overflow are as much as there can be.
  const auto most = a_small_pod("{requests: {memory: 8Ei}}");
  CHECK(reason(of_cpu("20m"), {most, most, most}) == "");
  CHECK(reason(a_small_pod("{requests: {memory: 1}}"), {most, most, most}) == "OutOfmemory");
}

TEST_CASE("K28, K104: who is only kept out by pods that are ending waits for them") {
  const NodeCapacity node = a_node();
  CHECK(answer(of_cpu("4"), {}, node, {of_cpu("1")}) ==
        "wait OutOfcpu: Node didn't have enough resource: cpu, requested: 4000, used: 1000, capacity: 4000");
  CHECK(answer(of_cpu("3"), {}, node, {of_cpu("1")}) == "yes");
  CHECK(answer(of_cpu("4"), {of_cpu("1")}, node, {of_cpu("1")}).starts_with("OutOfcpu"));
  CHECK(answer(of_cpu("5"), {}, node, {of_cpu("1")}).starts_with("OutOfcpu"));
  const auto port = a_small_pod("{}", "", "", "ports: [{containerPort: 80, hostPort: 80}]");
  CHECK(answer(port, {}, node, {port}).starts_with("wait NodePorts"));
  NodeCapacity small = a_node();
  small.pods = 1;
  CHECK(answer(a_small_pod(), {}, small, {a_small_pod()}).starts_with("wait OutOfpods"));
}

TEST_CASE("host ports clash by protocol, port and address") {
  const auto with = [](const std::string& ports, const std::string& more = "") {
    return a_small_pod("{}", more, "", "ports: [" + ports + "]");
  };
  const auto holds = with("{containerPort: 80, hostPort: 80}");
  CHECK(answer(with("{containerPort: 81, hostPort: 80}"), {holds}) ==
        "NodePorts: Predicate NodePorts failed: node(s) didn't have free ports for the requested pod ports: TCP 80 is "
        "held by pod default/web");
  CHECK(reason(with("{containerPort: 80}"), {holds}).empty());
  CHECK(reason(with("{containerPort: 80, hostPort: 81}"), {holds}).empty());
  CHECK(reason(with("{containerPort: 80, hostPort: 80, protocol: UDP}"), {holds}).empty());
  CHECK(reason(with("{containerPort: 80, hostPort: 80, hostIP: 192.0.2.1}"), {holds}) == "NodePorts");
  const auto one = with("{containerPort: 80, hostPort: 80, hostIP: 192.0.2.1}");
  CHECK(reason(with("{containerPort: 80, hostPort: 80, hostIP: 192.0.2.1}"), {one}) == "NodePorts");
  CHECK(reason(with("{containerPort: 80, hostPort: 80, hostIP: 192.0.2.2}"), {one}).empty());
  CHECK(reason(with("{containerPort: 80, hostPort: 80, hostIP: 0.0.0.0}"), {one}) == "NodePorts");
  CHECK(reason(with("{containerPort: 80}", "hostNetwork: true"), {holds}) == "NodePorts");

  const auto init = a_pod(
      "{initContainers: [{name: i, image: 'i:1', ports: [{containerPort: 80, hostPort: 80}]}],"
      " containers: [{name: a, image: 'i:1'}]}");
  const auto sidecar = a_pod(
      "{initContainers: [{name: i, image: 'i:1', restartPolicy: Always, ports: [{containerPort: 80, hostPort: 80}]}],"
      " containers: [{name: a, image: 'i:1'}]}");
  CHECK(reason(init, {holds}).empty());
  CHECK(reason(sidecar, {holds}) == "NodePorts");
}

TEST_CASE("a pod for another node, another system or other labels") {
  CHECK(reason(a_small_pod("{}", "nodeName: n1")).empty());
  CHECK(reason(a_small_pod("{}", "nodeName: n2")) == "NodeName");
  CHECK(reason(a_small_pod("{}", "os: {name: linux}")).empty());
  CHECK(reason(a_small_pod("{}", "os: {name: windows}")) == "PodOSNotSupported");
  CHECK(reason(a_small_pod("{}", "nodeSelector: {kubernetes.io/os: linux}")).empty());
  CHECK(reason(a_small_pod("{}", "nodeSelector: {kubernetes.io/os: windows}")) == "PodOSSelectorNodeLabelDoesNotMatch");
  CHECK(reason(a_small_pod("{}", "nodeSelector: {disk: ssd}")).empty());
  CHECK(answer(a_small_pod("{}", "nodeSelector: {disk: tape}")) ==
        "NodeAffinity: Predicate NodeAffinity failed: node(s) didn't match Pod's node affinity/selector");
  CHECK(reason(a_small_pod("{}", "nodeSelector: {none: x}")) == "NodeAffinity");
  // Nobody schedules a static pod.
  CHECK(reason(a_small_pod("{}", "nodeSelector: {disk: tape}", kStatic)).empty());
}

TEST_CASE("pressure keeps out whom it would evict first") {
  struct Row {
    pods::NodePressure pressure;
    std::string best_effort, burstable;
  };
  for (const Row& row : std::vector<Row>{
           {{}, "", ""},
           {{.memory = true}, "The node had condition: [MemoryPressure]. ", ""},
           {{.disk = true}, "The node had condition: [DiskPressure]. ", "The node had condition: [DiskPressure]. "},
           {{.pid = true}, "The node had condition: [PIDPressure]. ", "The node had condition: [PIDPressure]. "},
           {{.memory = true, .disk = true},
            "The node had condition: [MemoryPressure DiskPressure]. ",
            "The node had condition: [MemoryPressure DiskPressure]. "},
       }) {
    NodeCapacity node = a_node();
    node.pressure = row.pressure;
    CAPTURE(row.best_effort);
    CHECK(admit(*a_small_pod(), {}, node).message == row.best_effort);
    CHECK(admit(*of_cpu("1m"), {}, node).message == row.burstable);
    CHECK(admit(*a_small_pod("{}", "", kStatic), {}, node).answer == Decision::Answer::kYes);
    CHECK(admit(*a_small_pod("{}", "priority: 2000000000"), {}, node).answer == Decision::Answer::kYes);
    if (!row.best_effort.empty()) CHECK(admit(*a_small_pod(), {}, node).reason == "Evicted");
  }
}

TEST_CASE("a best-effort pod that tolerates memory pressure comes in, but under no other") {
  NodeCapacity node = a_node();
  node.pressure.memory = true;
  const auto with = [](const std::string& toleration) {
    return a_small_pod("{}", "tolerations: [" + toleration + "]");
  };
  for (const char* good : {"{key: node.kubernetes.io/memory-pressure, operator: Exists}", "{operator: Exists}",
                           "{key: node.kubernetes.io/memory-pressure, operator: Exists, effect: NoSchedule}"}) {
    CAPTURE(std::string(good));
    CHECK(reason(with(good), {}, node).empty());
  }
  for (const char* bad :
       {"{key: node.kubernetes.io/memory-pressure, operator: Exists, effect: NoExecute}",
        "{key: node.kubernetes.io/memory-pressure, operator: Equal, value: x}", "{key: other, operator: Exists}"}) {
    CAPTURE(std::string(bad));
    CHECK(reason(with(bad), {}, node) == "Evicted");
  }
  node.pressure.disk = true;
  CHECK(reason(with("{operator: Exists}"), {}, node) == "Evicted");
}

TEST_CASE("K32: a node that shuts down takes nobody in") {
  NodeCapacity node = a_node();
  node.shutting_down = true;
  CHECK(answer(a_small_pod("{}", "", kStatic), {}, node) ==
        "NodeShutdown: Pod was rejected as the node is shutting down.");
}

TEST_CASE("sysctls: safe ones, allowed ones, and none that a host namespace shares") {
  const auto with = [](const std::string& name, const std::string& more = "") {
    return a_small_pod(
        "{}", "securityContext: {sysctls: [{name: " + name + ", value: '1'}]}" + (more.empty() ? "" : ", " + more));
  };
  NodeCapacity node = a_node();
  node.allowed_unsafe_sysctls = {"net.core.*", "kernel.msgmax"};
  CHECK(reason(with("net.ipv4.tcp_syncookies"), {}, node).empty());
  CHECK(reason(with("net/ipv4/tcp_syncookies"), {}, node).empty());
  CHECK(reason(with("net.core.somaxconn"), {}, node).empty());
  CHECK(reason(with("kernel.msgmax"), {}, node).empty());
  CHECK(answer(with("kernel.msgmaximum"), {}, node) ==
        "SysctlForbidden: forbidden sysctl: \"kernel.msgmaximum\" not allowlisted");
  CHECK(reason(with("net.core.somaxconn")) == "SysctlForbidden");
  CHECK(answer(with("net.ipv4.tcp_syncookies", "hostNetwork: true"), {}, node) ==
        "SysctlForbidden: forbidden sysctl: \"net.ipv4.tcp_syncookies\" not allowed with host net enabled");
  CHECK(answer(with("kernel.shm_rmid_forced", "hostIPC: true"), {}, node) ==
        "SysctlForbidden: forbidden sysctl: \"kernel.shm_rmid_forced\" not allowed with host ipc enabled");
  CHECK(reason(with("kernel.msgmax", "hostIPC: true"), {}, node) == "SysctlForbidden");
}

TEST_CASE("what the runtime cannot do is refused before it starts") {
  NodeCapacity node = a_node();
  const auto strict = a_small_pod("{}", "securityContext: {supplementalGroupsPolicy: Strict}");
  CHECK(reason(strict) == "SupplementalGroupsPolicyNotSupported");
  const auto own_users = a_small_pod("{}", "hostUsers: false");
  CHECK(reason(own_users) == "PodFeatureUnsupported");
  node.supplemental_groups_policy = true;
  node.user_namespaces = true;
  CHECK(reason(strict, {}, node).empty());
  CHECK(reason(own_users, {}, node).empty());
  CHECK(reason(a_small_pod("{}", "hostUsers: true")).empty());
}

TEST_CASE("K116: volumes that this node never sets up are refused with the way out") {
  const auto with = [](const std::string& source) { return a_small_pod("{}", "volumes: [{name: v, " + source + "}]"); };
  const Decision git = admit(*with("gitRepo: {repository: r}"), {}, a_node());
  CHECK(git.reason == "PodFeatureUnsupported");
  CHECK(git.message.find("init container") != std::string::npos);
  CHECK(reason(with("iscsi: {targetPortal: p, iqn: q, lun: 0}")) == "PodFeatureUnsupported");
  CHECK(reason(with("emptyDir: {}")).empty());
}

}  // namespace
}  // namespace podwright::admission
