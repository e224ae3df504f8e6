#include "agent/containers/resources.h"

#include <doctest/doctest.h>

#include "tests/agent/containers/containers_world.h"

namespace podwright::containers {
namespace {

pods::PodPtr with(const std::string& resources, const std::string& metadata = "", const std::string& spec = "") {
  return a_pod("{containers: [{name: a, image: 'i:1', resources: " + resources + "}]" + spec + "}", metadata);
}

int64_t score(const pods::PodPtr& pod, int64_t capacity = int64_t{8} << 30) {
  return oom_score_adj(*pod, pod->spec().containers(0), capacity);
}

TEST_CASE("who is killed first when memory runs out") {
  CHECK(score(with("{}")) == 1000);
  CHECK(score(with("{limits: {cpu: 1, memory: 1Gi}}")) == -997);
  CHECK(score(with("{requests: {memory: 4Gi}}")) == 500);
  CHECK(score(with("{requests: {cpu: 1}}")) == 999);
  CHECK(score(with("{requests: {memory: 1Mi}}")) == 999);
  CHECK(score(with("{requests: {memory: 8Gi}}")) == 3);
  CHECK(score(with("{requests: {memory: 9Gi}}")) == 3);
  CHECK(score(with("{}", "annotations: {kubernetes.io/config.source: file}",
                   ", priorityClassName: system-node-critical")) == -997);
  CHECK(score(with("{}", "", ", priorityClassName: system-node-critical")) == 1000);
}

TEST_CASE("a sidecar is killed no sooner than the regular container with the smallest request") {
  const auto pod = a_pod(
      "{initContainers: [{name: s, image: 'i:1', restartPolicy: Always}],"
      " containers: [{name: a, image: 'i:1', resources: {requests: {memory: 4Gi}}},"
      " {name: b, image: 'i:1', resources: {requests: {memory: 2Gi}}}]}");
  CHECK(oom_score_adj(*pod, pod->spec().initcontainers(0), int64_t{8} << 30) == 750);
}

TEST_CASE("cpu in shares and quota") {
  CHECK(milli_to_shares(0) == 2);
  CHECK(milli_to_shares(1) == 2);
  CHECK(milli_to_shares(1000) == 1024);
  CHECK(milli_to_shares(1'000'000) == 262144);
  CHECK(milli_to_quota(0, 100000) == 0);
  CHECK(milli_to_quota(1, 100000) == 1000);
  CHECK(milli_to_quota(1500, 100000) == 150000);
}

TEST_CASE("a container's resources as the runtime gets them") {
  NodeFacts node = a_node();
  node.cgroup_v2 = true;
  const auto pod = with("{limits: {cpu: 500m, memory: 64Mi, hugepages-2Mi: 4Mi}, requests: {cpu: 250m}}");
  const cri::Resources made = container_resources(*pod, pod->spec().containers(0), node);
  CHECK(made.cpu_shares == 256);
  CHECK(made.cpu_period_us == 100000);
  CHECK(made.cpu_quota_us == 50000);
  CHECK(made.memory_bytes == 64 << 20);
  CHECK(made.hugepages == std::vector<cri::HugepageLimit>{{"2MB", 4 << 20}});
  CHECK(made.unified.at("memory.oom.group") == "1");

  node.cpu_cfs_quota = false;
  CHECK(container_resources(*pod, pod->spec().containers(0), node).cpu_quota_us == 0);
  const auto bare = with("{}");
  const cri::Resources none = container_resources(*bare, bare->spec().containers(0), a_node());
  CHECK(none.cpu_shares == 2);
  CHECK(none.cpu_quota_us == 0);
  CHECK(none.memory_bytes == 0);
  CHECK(none.unified.empty());
}

TEST_CASE("a node that may not lower a score keeps it at 0 or above") {
  NodeFacts node = a_node();
  node.may_lower_oom_score = false;
  const auto pod = with("{limits: {cpu: 1, memory: 1Gi}}");
  CHECK(container_resources(*pod, pod->spec().containers(0), node).oom_score_adj == 0);
}

}  // namespace
}  // namespace podwright::containers
