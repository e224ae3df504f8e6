#include "agent/volumes/payloads.h"

#include <doctest/doctest.h>

#include "agent/volumes/resource_field.h"
#include "tests/agent/volumes/volumes_world.h"

namespace podwright::volumes {
namespace {

// "a=1:644 d/b=2:400": paths with content and mode.
std::string text_of(const Payload& payload) {
  std::string text;
  for (const auto& [path, file] : payload) {
    text += fmt::format("{}{}={}:{:o}", text.empty() ? "" : " ", path, file.content, file.mode);
  }
  return text;
}

std::string config_map(const std::string& object, const std::string& source) {
  const auto volume = from_yaml<core::ConfigMapVolumeSource>(source);
  Payload payload;
  const absl::Status added = add_config_map(from_yaml<core::ConfigMap>(object), volume.items(), volume.optional(),
                                            volume.has_defaultmode() ? volume.defaultmode() : 0644, payload);
  if (!added.ok()) CHECK(absl::IsFailedPrecondition(added));
  return added.ok() ? text_of(payload) : "error: " + std::string(added.message());
}

TEST_CASE("all keys of a configMap, or those that items name") {
  const std::string object = "{data: {a: '1', b: '2'}, binaryData: {c: Mw==}}";
  CHECK(config_map(object, "{name: x}") == "a=1:644 b=2:644 c=3:644");
  CHECK(config_map(object, "{name: x, defaultMode: 0400}") == "a=1:400 b=2:400 c=3:400");
  CHECK(config_map(object, "{name: x, items: [{key: b, path: d/f}, {key: c, path: g, mode: 0600}]}") ==
        "d/f=2:644 g=3:600");
  CHECK(config_map(object, "{name: x, items: [{key: z, path: z}]}") ==
        "error: configmap references non-existent key: z");
  CHECK(config_map(object, "{name: x, optional: true, items: [{key: z, path: z}, {key: a, path: a}]}") == "a=1:644");
}

TEST_CASE("of a secret stringData wins over data") {
  Payload payload;
  REQUIRE(
      add_secret(from_yaml<core::Secret>("{data: {a: MQ==, b: MQ==}, stringData: {b: '2'}}"), {}, false, 0644, payload)
          .ok());
  CHECK(text_of(payload) == "a=1:644 b=2:644");
}

std::string downward(const std::string& item, const std::string& spec = "") {
  const auto pod = a_pod("{containers: [{name: a, image: 'i:1', resources: {limits: {cpu: 1500m}}}]" +
                             (spec.empty() ? "" : ", " + spec) + "}",
                         "labels: {b: '2', a: '1'}, annotations: {x.test/note: \"say \\\"hi\\\"\\n\\tback\\\\slash\"}");
  const auto source = from_yaml<core::DownwardAPIVolumeSource>("items: [{path: f, " + item + "}]");
  Options options;
  options.node_memory_bytes = uint64_t{8} << 30;
  options.node_cpu_milli = 3500;
  Payload payload;
  const absl::Status added = add_downward(*pod, {}, options, source.items(), 0644, payload);
  return added.ok() ? payload.at("f").content : "error: " + std::string(added.message());
}

TEST_CASE("fields of the pod as files") {
  CHECK(downward("fieldRef: {fieldPath: metadata.name}") == "web");
  CHECK(downward("fieldRef: {fieldPath: metadata.namespace}") == "default");
  CHECK(downward("fieldRef: {fieldPath: metadata.uid}") == "u1");
  CHECK(downward("fieldRef: {fieldPath: metadata.labels}") == "a=\"1\"\nb=\"2\"");
  CHECK(downward("fieldRef: {fieldPath: metadata.annotations}") == "x.test/note=\"say \\\"hi\\\"\\n\\tback\\\\slash\"");
  CHECK(downward("fieldRef: {fieldPath: \"metadata.labels['a']\"}") == "1");
  CHECK(downward("fieldRef: {fieldPath: \"metadata.annotations['none']\"}") == "");
}

TEST_CASE("K45: a field that volumes do not offer is an error, not an empty file") {
  CHECK(downward("fieldRef: {fieldPath: status.podIP}") ==
        "error: downwardAPI: fieldPath \"status.podIP\" is not offered in volumes");
  CHECK(downward("mode: 0600").starts_with("error: "));
}

TEST_CASE("control characters in labels and annotations are written as Go writes them") {
  google::protobuf::Map<std::string, std::string> map;
  map["k"] = std::string("\a\b\f\v\r\x01\x7f", 7);
  CHECK(map_file(map) == "k=\"\\a\\b\\f\\v\\r\\x01\\x7f\"");
}

TEST_CASE("resources as files: rounded up, missing limits are the pod's or the node's") {
  const auto value = [](const std::string& resource, const std::string& more = "", const std::string& spec = "") {
    return downward("resourceFieldRef: {containerName: a, resource: " + resource + more + "}", spec);
  };
  CHECK(value("limits.cpu") == "2");
  CHECK(value("limits.cpu", ", divisor: 1m") == "1500");
  CHECK(value("limits.memory", ", divisor: 1Gi") == "8");
  CHECK(value("limits.memory", ", divisor: 1Mi", "resources: {limits: {memory: 100Mi}}") == "100");
  CHECK(value("requests.memory") == "0");
  CHECK(value("nonsense").starts_with("error: downwardAPI: "));
  CHECK(downward("resourceFieldRef: {containerName: none, resource: limits.cpu}") ==
        "error: downwardAPI: container \"none\" not found");

  const auto bare = a_pod("{containers: [{name: a, image: 'i:1'}]}");
  core::ResourceFieldSelector ref;
  ref.set_resource("limits.cpu");
  CHECK(*resource_field(*bare, bare->spec().containers(0), ref, {3500, 0}) == "4");
}

TEST_CASE("modes of single files come before the default") {
  const auto pod = a_pod("{containers: [{name: a, image: 'i:1'}]}");
  const auto source = from_yaml<core::DownwardAPIVolumeSource>(
      "items: [{path: f, mode: 0400, fieldRef: {fieldPath: metadata.name}},"
      " {path: g, fieldRef: {fieldPath: metadata.name}}]");
  Payload payload;
  REQUIRE(add_downward(*pod, {}, {}, source.items(), 0640, payload).ok());
  CHECK(text_of(payload) == "f=web:400 g=web:640");
}

}  // namespace
}  // namespace podwright::volumes
