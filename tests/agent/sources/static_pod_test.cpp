#include "agent/sources/static_pod.h"

#include <doctest/doctest.h>

#include "base/limits.h"
#include "base/status/annotate.h"

using namespace podwright;
using namespace podwright::sources;

namespace {

constexpr char kWeb[] = R"(apiVersion: v1
kind: Pod
metadata: {name: web, labels: {app: web}}
spec:
  containers:
  - {name: c, image: "registry.test/box:1"}
)";

ManifestRules rules(std::string node = "node-1") {
  ManifestRules made;
  made.node_name = std::move(node);
  return made;
}

std::string error_of(const std::string& text, ManifestRules with = rules()) {
  const auto manifest = parse_manifest(text, "/m/a.yaml", with);
  return manifest.ok() ? "" : text_of(manifest.status());
}

}  // namespace

TEST_CASE("a static pod gets its name, namespace, node, annotations and toleration") {
  const auto manifest = parse_manifest(kWeb, "/m/web.yaml", rules());
  REQUIRE(manifest.ok());
  REQUIRE(manifest->pods.size() == 1);
  const core::Pod& pod = *manifest->pods[0];

  CHECK(pod.metadata().name() == "web-node-1");
  CHECK(pod.metadata().namespace_() == "default");
  CHECK(pod.spec().nodename() == "node-1");
  CHECK(pod.metadata().annotations().at("kubernetes.io/config.source") == "file");
  CHECK(pod.metadata().annotations().at("kubernetes.io/config.hash") == pod.metadata().uid());
  REQUIRE(pod.spec().tolerations_size() == 1);
  CHECK(pod.spec().tolerations(0).effect() == "NoExecute");
  CHECK(pod.spec().terminationgraceperiodseconds() == 30);
}

TEST_CASE("the UID is frozen: of the document as written, the node and the path") {
  // These vectors never change: a release that changes one replaces every static pod in the field.
  struct Row {
    const char* json;
    const char* node;
    pods::SourceKind kind;
    const char* origin;
  };
  for (const Row& row : {
           Row{R"({"kind":"Pod","metadata":{"name":"a"}})", "n1", pods::SourceKind::kFile, "/m/a.yaml"},
           Row{R"({"metadata":{"name":"a"},"kind":"Pod"})", "n1", pods::SourceKind::kFile, "/m/a.yaml"},
       }) {
    const auto document = api::parse_json(row.json);
    REQUIRE(document.ok());
    CHECK(static_pod_uid(*document, row.node, row.kind, row.origin).value == "2639b43b17cf5d0c1dc714e061682747");
  }
  const auto document = api::parse_json(R"({"kind":"Pod","metadata":{"name":"a"}})");
  REQUIRE(document.ok());
  CHECK(static_pod_uid(*document, "n1", pods::SourceKind::kHttp, "http://x/").value ==
        "d76a4d13203e77075983ee8fb6ae3c6c");
  CHECK(static_pod_uid(*document, "n2", pods::SourceKind::kFile, "/m/a.yaml").value ==
        "d6938a91a1245e750649af109be4f8d2");
}

TEST_CASE("YAML and JSON of one document, and comments, give one UID; another content another") {
  const auto uid = [](const std::string& text) {
    const auto manifest = parse_manifest(text, "/m/a.yaml", rules());
    INFO(text_of(manifest.status()));
    REQUIRE(manifest.ok());
    return manifest->pods[0]->metadata().uid();
  };
  const std::string json =
      R"({"kind":"Pod","apiVersion":"v1","spec":{"containers":[{"image":"registry.test/box:1","name":"c"}]},"metadata":{"labels":{"app":"web"},"name":"web"}})";
  CHECK(uid(kWeb) == uid(json));
  CHECK(uid(kWeb) == uid("# a comment\n" + std::string(kWeb)));
  CHECK(uid(kWeb) != uid(std::string(kWeb) + "  nodeName: x\n"));
  CHECK(
      uid("apiVersion: v1\nkind: Pod\nmetadata: {name: a, uid: given}\nspec: {containers: [{name: c, image: b}]}\n") ==
      "given");
}

TEST_CASE("what is wrong is told with field and line, all at once") {
  CHECK(error_of("apiVersion: v1\nkind: Pod\nspec: {containers: [{name: c, image: b}]}\n") ==
        "metadata.name: Required value: name is required");
  CHECK(error_of("just text").find("apiVersion and kind are missing") == 0);
  CHECK(error_of("apiVersion: v1\nkind: Deployment\n").find("kind: \"Deployment\" is not read here") == 0);
  CHECK(error_of("apiVersion: apps/v1\nkind: Pod\n").find("apiVersion: \"apps/v1\"") == 0);
  CHECK(error_of("") == "the manifest is empty");
  const std::string both = error_of(
      "apiVersion: v1\nkind: Pod\nmetadata: {name: a}\nspec: {containers: [{name: C_, image: \"\", ports: "
      "[{containerPort: "
      "99999}]}]}\n");
  CHECK(both.find("spec.containers[0].name") != std::string::npos);
  CHECK(both.find("spec.containers[0].image") != std::string::npos);
  CHECK(both.find("spec.containers[0].ports[0].containerPort") != std::string::npos);
}

TEST_CASE("several documents make several pods, and config objects beside them") {
  const std::string text =
      std::string(kWeb) +
      "---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: cm}\ndata: {k: v}\n"
      "---\napiVersion: v1\nkind: Secret\nmetadata: {name: s, namespace: t}\ndata: {k: dg==}\n"
      "---\napiVersion: v1\nkind: Pod\nmetadata: {name: two}\nspec: {containers: [{name: c, image: b}]}\n";
  const auto manifest = parse_manifest(text, "/m/a.yaml", rules());
  REQUIRE(manifest.ok());
  CHECK(manifest->pods.size() == 2);
  CHECK(manifest->objects.config_maps.contains({"default", "cm"}));
  CHECK(manifest->objects.secrets.at({"t", "s"})->data().at("k") == "v");

  ManifestRules strict = rules();
  strict.strict = true;
  CHECK(error_of(text, strict).find("several documents") == 0);
  ManifestRules cluster = rules();
  cluster.allow_config_objects = false;
  CHECK(error_of(text, cluster).find("kind: \"ConfigMap\" is not read here") != std::string::npos);
}

TEST_CASE("an unknown field is a warning, and an error where strict") {
  const std::string text =
      "apiVersion: v1\nkind: Pod\nmetadata: {name: a}\nspec: {containers: [{name: c, image: b, imagePulPolicy: "
      "Never}]}\n";
  const auto manifest = parse_manifest(text, "/m/a.yaml", rules());
  REQUIRE(manifest.ok());
  REQUIRE(manifest->warnings.size() == 1);
  CHECK(manifest->warnings[0].find("did you mean imagePullPolicy?") != std::string::npos);
  ManifestRules strict = rules();
  strict.strict = true;
  CHECK(error_of(text, strict).find("did you mean imagePullPolicy?") != std::string::npos);
}

TEST_CASE("a list is taken apart only where it may be") {
  const std::string list = R"({"apiVersion":"v1","kind":"PodList","items":[
    {"metadata":{"name":"a"},"spec":{"containers":[{"name":"c","image":"b"}]}},
    {"metadata":{"name":"b"},"spec":{"containers":[{"name":"c","image":"b"}]}}]})";
  CHECK_FALSE(error_of(list).empty());
  ManifestRules http = rules();
  http.kind = pods::SourceKind::kHttp;
  http.allow_lists = true;
  const auto manifest = parse_manifest(list, "http://x/", http);
  REQUIRE(manifest.ok());
  CHECK(manifest->pods.size() == 2);
  // Only what comes from a file tolerates every NoExecute taint.
  CHECK(manifest->pods[0]->spec().tolerations_size() == 0);
}
