#include "api/codec.h"

#include <doctest/doctest.h>

#include "api/types.h"
#include "podwright/config.pb.h"

using namespace podwright;
using namespace podwright::api;

namespace {

Node document(const std::string& text) {
  auto parsed = parse_document(text);
  REQUIRE(parsed.ok());
  return *std::move(parsed);
}

std::vector<std::string> texts(const std::vector<Problem>& problems) {
  std::vector<std::string> all;
  for (const auto& problem : problems) all.push_back((problem.is_error ? "E " : "W ") + problem.to_string());
  return all;
}

}  // namespace

TEST_CASE("a pod is read with its flattened and special fields") {
  core::Pod pod;
  const auto problems = decode(document(R"(
apiVersion: v1
kind: Pod
metadata: {name: web, labels: {app: web}, creationTimestamp: null}
spec:
  hostUsers: false
  containers:
  - name: c
    image: box:1
    ports: [{containerPort: 80, hostIP: 127.0.0.1}]
    resources: {limits: {cpu: 1.5, memory: 64Mi}}
    livenessProbe: {httpGet: {port: http}, periodSeconds: 2}
  volumes:
  - {name: v, emptyDir: {medium: Memory, sizeLimit: 1Gi}}
)"),
                               &pod);

  CHECK(texts(problems).empty());
  CHECK(pod.metadata().name() == "web");
  CHECK(pod.spec().containers(0).ports(0).hostip() == "127.0.0.1");
  CHECK(pod.spec().containers(0).resources().limits().at("cpu").string() == "1.5");
  CHECK(pod.spec().containers(0).livenessprobe().handler().httpget().port().strval() == "http");
  CHECK(pod.spec().volumes(0).volumesource().emptydir().medium() == "Memory");
  CHECK(pod.spec().has_hostusers());
}

TEST_CASE("problems are told with path, line and the nearest name") {
  core::Pod pod;
  const Node bad = document(R"(apiVersion: v1
kind: Pod
metadata: {name: web, annotations: {a: 1}}
spec:
  containers:
  - name: c
    imag: box:1
    ports: [{containerPort: "80"}, {containerPort: 1.5}, {containerPort: 99999999999}]
    args: [yes]
  nodeName: a
  nodeName: b
  zzzzzzzzzzzzzz: 1
)");

  CHECK(texts(decode(bad, &pod)) ==
        std::vector<std::string>{
            "E line 3: metadata.annotations.a: expected a string, got a number",
            "W line 7: spec.containers[0].imag: unknown field, did you mean image?",
            "E line 8: spec.containers[0].ports[0].containerPort: expected a whole number, got a string",
            "E line 8: spec.containers[0].ports[1].containerPort: expected a whole number, got 1.5",
            "E line 8: spec.containers[0].ports[2].containerPort: 99999999999 is out of range (-2147483648 to "
            "2147483647)",
            "E line 9: spec.containers[0].args[0]: expected a string, got a boolean",
            "W line 11: spec.nodeName: duplicate key, the later value counts",
            "W line 12: spec.zzzzzzzzzzzzzz: unknown field",
        });
  CHECK(pod.spec().nodename() == "b");

  core::Pod strict;
  int errors = 0;
  for (const auto& problem : decode(bad, &strict, {.strict = true})) errors += problem.is_error ? 1 : 0;
  CHECK(errors == 8);
}

TEST_CASE("a message is written as the reference writes it") {
  core::Pod pod;
  pod.mutable_metadata()->set_name("a<b");
  auto* container = pod.mutable_spec()->add_containers();
  container->set_name("c");
  (*container->mutable_resources()->mutable_limits())["cpu"].set_string("500m");
  container->mutable_livenessprobe()->mutable_handler()->mutable_exec()->add_command("true");
  pod.mutable_spec()->add_volumes()->mutable_volumesource()->mutable_emptydir();
  pod.mutable_status()->add_conditions()->set_type("Ready");

  CHECK(
      encode_json(pod, {"v1", "Pod"}) ==
      R"({"kind":"Pod","apiVersion":"v1","metadata":{"name":"a\u003cb"},"spec":{"volumes":[{"name":"","emptyDir":{}}],)"
      R"("containers":[{"name":"c","resources":{"limits":{"cpu":"500m"}},"livenessProbe":{"exec":{"command":["true"]}}}]},)"
      R"("status":{"conditions":[{"type":"Ready","status":"","lastProbeTime":null,"lastTransitionTime":null}]}})");
}

TEST_CASE("what was written reads back and is written the same") {
  core::Pod pod;
  const auto problems = decode(document(R"({"metadata":{"name":"a","creationTimestamp":"2024-05-06T07:08:09Z"},
    "spec":{"containers":[{"name":"c","env":[{"name":"A","valueFrom":{"configMapKeyRef":{"name":"cm","key":"k"}}}]}],
    "volumes":[{"name":"p","projected":{"sources":[{"secret":{"name":"s","items":[{"key":"a","path":"b"}]}}]}}]}})"),
                               &pod);
  REQUIRE(problems.empty());
  core::Pod again;
  CHECK(decode(document(encode_json(pod)), &again).empty());
  CHECK(encode_json(again) == encode_json(pod));
}

TEST_CASE("null leaves a field as it is, and an object where a list should stand is an error") {
  core::Pod pod;
  CHECK(decode(document(R"({"metadata":null,"spec":{"containers":null,"nodeName":null}})"), &pod).empty());
  CHECK_FALSE(decode(document(R"({"spec":{"containers":{}}})"), &pod).empty());
  CHECK_FALSE(decode(document(R"([])"), &pod).empty());
}

TEST_CASE("a key that stands twice is read onto the earlier one") {
  core::Pod pod;
  (void)decode(document(R"({"spec":{"containers":[{"name":"a"}],"containers":[{"image":"b"}]},
                            "metadata":{"labels":{"a":"1"},"labels":{"b":"2"}}})"),
               &pod);
  REQUIRE(pod.spec().containers_size() == 1);
  CHECK(pod.spec().containers(0).name() == "a");
  CHECK(pod.spec().containers(0).image() == "b");
  CHECK(pod.metadata().labels_size() == 2);
}

TEST_CASE("configuration kinds go through the same codec") {
  config::KubeletConfiguration kubelet;
  const auto problems = decode(document(R"(
apiVersion: kubelet.config.k8s.io/v1beta1
kind: KubeletConfiguration
staticPodPath: /etc/kubernetes/manifests
syncFrequency: 1m
failCgroupV1: false
evictionHard: {memory.available: 100Mi}
staticPodURLHeader: {X-A: [b, c]}
authentication: {anonymous: {enabled: false}}
)"),
                               &kubelet);
  CHECK(texts(problems).empty());
  CHECK(kubelet.syncfrequency().duration() == 60'000'000'000);
  CHECK(kubelet.staticpodurlheader().at("X-A").items_size() == 2);
  CHECK(kubelet.has_failcgroupv1());
}

TEST_CASE("the protobuf envelope is upstream's, byte for byte") {
  core::Pod pod;
  pod.mutable_metadata()->set_name("a");
  const std::string bytes = wrap(pod, {"v1", "Pod"});
  const std::string expected(
      "\x6b\x38\x73\x00\x0a\x09\x0a\x02\x76\x31\x12\x03\x50\x6f\x64\x12\x05\x0a\x03\x0a\x01\x61\x1a\x00\x22\x00", 26);
  CHECK(bytes == expected);

  const auto opened = unwrap(bytes);
  REQUIRE(opened.ok());
  CHECK(opened->first.kind == "Pod");
  CHECK(opened->second == pod.SerializeAsString());
  CHECK_FALSE(unwrap("").ok());
  CHECK_FALSE(unwrap("k8s").ok());
  CHECK_FALSE(unwrap(std::string("k8s\0", 4)).ok());
}
