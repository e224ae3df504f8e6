#include "api/defaults.h"

#include <doctest/doctest.h>

#include "api/codec.h"

using namespace podwright;
using namespace podwright::api;

namespace {

// The JSON of a pod's spec after defaulting; `spec` is YAML flow text.
Node defaulted(const std::string& spec) {
  const auto documents = parse_yaml("{spec: " + spec + "}");
  REQUIRE(documents.ok());
  REQUIRE(documents->size() == 1);
  core::Pod pod;
  REQUIRE(decode(documents->front(), &pod).empty());
  set_defaults(pod);
  core::Pod again = pod;
  set_defaults(again);
  CHECK(encode_json(again) == encode_json(pod));
  const auto written = parse_json(encode_json(pod));
  REQUIRE(written.ok());
  return *written->find("spec");
}

// The text of what stands at `path` ("containers.0.ports.0.protocol"); "absent" where nothing does.
std::string at(const Node& spec, const std::string& path) {
  const Node* node = &spec;
  std::size_t begin = 0;
  while (begin <= path.size()) {
    const auto end = std::min(path.find('.', begin), path.size());
    const std::string key = path.substr(begin, end - begin);
    begin = end + 1;
    if (node->kind == Node::Kind::kList) {
      const auto index = std::stoul(key);
      if (index >= node->items.size()) return "absent";
      node = &node->items[index];
    } else {
      node = node->find(key);
    }
    if (node == nullptr) return "absent";
  }
  return to_json(*node);
}

struct Row {
  std::string spec, path, value;
};

void check(const std::vector<Row>& rows) {
  for (const auto& row : rows) {
    CAPTURE(row.spec);
    CAPTURE(row.path);
    CHECK(at(defaulted(row.spec), row.path) == row.value);
  }
}

}  // namespace

TEST_CASE("what a pod leaves open is filled in, and what it says stays") {
  check({
      {"{}", "restartPolicy", R"("Always")"},
      {"{restartPolicy: Never}", "restartPolicy", R"("Never")"},
      {"{}", "dnsPolicy", R"("ClusterFirst")"},
      {"{dnsPolicy: None}", "dnsPolicy", R"("None")"},
      {"{}", "terminationGracePeriodSeconds", "30"},
      {"{terminationGracePeriodSeconds: 0}", "terminationGracePeriodSeconds", "0"},
      {"{}", "schedulerName", R"("default-scheduler")"},
      {"{}", "enableServiceLinks", "true"},
      {"{enableServiceLinks: false}", "enableServiceLinks", "false"},
      {"{}", "securityContext", "{}"},
      {"{}", "tolerations", "absent"},
      {"{}", "priority", "absent"},
      {"{hostNetwork: true, containers: [{ports: [{containerPort: 80}]}]}", "containers.0.ports.0.hostPort", "80"},
      {"{containers: [{ports: [{containerPort: 80}]}]}", "containers.0.ports.0.hostPort", "absent"},
  });
}

TEST_CASE("the pull policy follows the image's name") {
  const auto policy = [](const std::string& image) {
    return at(defaulted("{containers: [{image: '" + image + "'}]}"), "containers.0.imagePullPolicy");
  };
  CHECK(policy("box") == R"("Always")");
  CHECK(policy("box:latest") == R"("Always")");
  CHECK(policy("host:5000/box") == R"("Always")");
  CHECK(policy("host:5000/box:1") == R"("IfNotPresent")");
  CHECK(policy("box:1") == R"("IfNotPresent")");
  CHECK(policy("box@sha256:0123") == R"("IfNotPresent")");
  CHECK(policy("box:latest@sha256:0123") == R"("Always")");
}

TEST_CASE("containers of each kind get the same") {
  for (const std::string kind : {"containers", "initContainers", "ephemeralContainers"}) {
    CAPTURE(kind);
    const Node spec = defaulted("{" + kind + R"(: [{name: a, image: "b:1", ports: [{containerPort: 1}],
      env: [{name: A, valueFrom: {fieldRef: {fieldPath: metadata.name}}}],
      livenessProbe: {httpGet: {port: 80}}, readinessProbe: {grpc: {port: 1}}, startupProbe: {exec: {command: [a]}},
      lifecycle: {postStart: {httpGet: {port: 1}}, preStop: {httpGet: {port: 1, path: /x, scheme: HTTPS}}},
      resources: {limits: {cpu: 1, memory: 1Gi, a.b/c: 0.0001}, requests: {cpu: 500m}}}]})");
    const std::string first = kind + ".0.";
    CHECK(at(spec, first + "terminationMessagePath") == R"("/dev/termination-log")");
    CHECK(at(spec, first + "terminationMessagePolicy") == R"("File")");
    CHECK(at(spec, first + "ports.0.protocol") == R"("TCP")");
    CHECK(at(spec, first + "env.0.valueFrom.fieldRef.apiVersion") == R"("v1")");
    CHECK(at(spec, first + "livenessProbe.httpGet.path") == R"("/")");
    CHECK(at(spec, first + "livenessProbe.httpGet.scheme") == R"("HTTP")");
    CHECK(at(spec, first + "livenessProbe.timeoutSeconds") == "1");
    CHECK(at(spec, first + "livenessProbe.periodSeconds") == "10");
    CHECK(at(spec, first + "readinessProbe.successThreshold") == "1");
    CHECK(at(spec, first + "readinessProbe.grpc.service") == R"("")");
    CHECK(at(spec, first + "startupProbe.failureThreshold") == "3");
    CHECK(at(spec, first + "lifecycle.postStart.httpGet.path") == R"("/")");
    CHECK(at(spec, first + "lifecycle.preStop.httpGet.path") == R"("/x")");
    CHECK(at(spec, first + "lifecycle.preStop.httpGet.scheme") == R"("HTTPS")");
    CHECK(at(spec, first + "resources.requests") == R"({"a.b/c":"1m","cpu":"500m","memory":"1Gi"})");
  }
}

TEST_CASE("volumes get their modes, their kind and their times") {
  check({
      {"{volumes: [{name: a}]}", "volumes.0.emptyDir", "{}"},
      {"{volumes: [{name: a, nfs: {}}]}", "volumes.0.emptyDir", "absent"},
      {"{volumes: [{name: a, hostPath: {path: /a}}]}", "volumes.0.hostPath.type", R"("")"},
      {"{volumes: [{name: a, secret: {}}]}", "volumes.0.secret.defaultMode", "420"},
      {"{volumes: [{name: a, secret: {defaultMode: 0}}]}", "volumes.0.secret.defaultMode", "0"},
      {"{volumes: [{name: a, configMap: {}}]}", "volumes.0.configMap.defaultMode", "420"},
      {"{volumes: [{name: a, downwardAPI: {items: [{path: a, fieldRef: {fieldPath: metadata.name}}]}}]}",
       "volumes.0.downwardAPI",
       R"({"items":[{"path":"a","fieldRef":{"apiVersion":"v1","fieldPath":"metadata.name"}}],)"
       R"("defaultMode":420})"},
      {"{volumes: [{name: a, projected: {sources: [{serviceAccountToken: {path: t}}]}}]}", "volumes.0.projected",
       R"({"sources":[{"serviceAccountToken":{"expirationSeconds":3600,"path":"t"}}],"defaultMode":420})"},
      {"{volumes: [{name: a, image: {reference: b}}]}", "volumes.0.image.pullPolicy", R"("Always")"},
      {"{volumes: [{name: a, iscsi: {}}]}", "volumes.0.iscsi.iscsiInterface", R"("default")"},
  });
}

TEST_CASE("a request of the pod itself comes from its containers, else from its limit") {
  check({
      {"{resources: {limits: {cpu: 2, memory: 1Gi}}, containers: [{resources: {requests: {cpu: 300m}}}]}",
       "resources.requests", R"({"cpu":"300m","memory":"1Gi"})"},
      {"{resources: {limits: {cpu: 2}, requests: {cpu: 1}}, containers: [{resources: {requests: {cpu: 300m}}}]}",
       "resources.requests", R"({"cpu":"1"})"},
      {"{resources: {requests: {memory: 1Gi}}, containers: [{resources: {requests: {cpu: 300m}}}]}",
       "resources.requests", R"({"memory":"1Gi"})"},
      {"{containers: [{resources: {limits: {cpu: 1}}}]}", "resources", "absent"},
  });
}
