// The fake is tested like code, since the simulation leans on it. tests/cluster asks a real server the same.
#include "tests/agent/kube/kube_world.h"
#include "tests/fakes/api/merge.h"

namespace podwright::kube {
namespace {

api::Node json(const std::string& text) {
  const auto node = api::parse_json(text);
  REQUIRE(node.ok());
  return *node;
}

std::string merged(const std::string& original, const std::string& patch) {
  return api::to_json(strategic_merge_patch(json(original), json(patch)), true);
}

TEST_CASE("a strategic merge patch merges lists by their keys and replaces the others") {
  struct Row {
    const char* original;
    const char* patch;
    const char* result;
  };
  const Row rows[] = {
      {R"({"a":1,"b":2})", R"({"b":null,"c":3})", R"({"a":1,"c":3})"},
      {R"({"conditions":[{"type":"A","status":"True"},{"type":"B","status":"True"}]})",
       R"({"conditions":[{"type":"B","status":"False"},{"type":"C"}]})",
       R"({"conditions":[{"status":"True","type":"A"},{"status":"False","type":"B"},{"type":"C"}]})"},
      {R"({"conditions":[{"type":"A"},{"type":"B"}]})", R"({"conditions":[{"$patch":"delete","type":"A"}]})",
       R"({"conditions":[{"type":"B"}]})"},
      {R"({"conditions":[{"type":"A"},{"type":"B"}]})",
       R"({"$setElementOrder/conditions":[{"type":"B"},{"type":"A"}],"conditions":[{"type":"A","x":"1"}]})",
       R"({"conditions":[{"type":"B"},{"type":"A","x":"1"}]})"},
      {R"({"addresses":[{"type":"InternalIP","address":"1"},{"type":"InternalIP","address":"2"}]})",
       R"({"addresses":[{"type":"InternalIP","address":"3"},{"$patch":"replace"}]})",
       R"({"addresses":[{"address":"3","type":"InternalIP"}]})"},
      {R"({"containerStatuses":[{"name":"a"},{"name":"b"}]})", R"({"containerStatuses":[{"name":"c"}]})",
       R"({"containerStatuses":[{"name":"c"}]})"},
      {R"({"finalizers":["a","b"]})", R"({"$deleteFromPrimitiveList/finalizers":["a"],"finalizers":["c"]})",
       R"({"finalizers":["b","c"]})"},
      {R"({"m":{"a":"1","b":"2"}})", R"({"m":{"$patch":"replace","c":"3"}})", R"({"m":{"c":"3"}})"},
      {R"({"m":{"a":"1"},"n":1})", R"({"m":{"$patch":"delete"}})", R"({"n":1})"},
  };
  for (const Row& row : rows) CHECK_MESSAGE(merged(row.original, row.patch) == row.result, row.patch);
}

TEST_CASE("a patch of the status changes nothing else, and one without effect makes no new version") {
  KubeWorld world;
  const auto pod = world.server.put(a_bare_pod("a", "n"));
  const Resource& pods = resource_of<core::Pod>();
  const ObjectKey key{"ns", "a"};
  const auto patch = [&](std::string text, std::string sub) {
    return run_and_get(world.loop, world.server.patch(pods, key, PatchKind::kStrategic, text, sub, world.in(1s)));
  };

  const auto patched = patch(R"({"spec":{"hostname":"x"},"status":{"phase":"Running"}})", "status");
  REQUIRE(patched.ok());
  const auto now = as<core::Pod>(*patched);
  CHECK(now->status().phase() == "Running");
  CHECK(now->spec().hostname().empty());
  CHECK(now->metadata().resourceversion() != pod->metadata().resourceversion());
  CHECK(now->metadata().generation() == 1);

  const auto again = patch(R"({"status":{"phase":"Running"}})", "status");
  CHECK(metadata_of(**again).resourceversion() == now->metadata().resourceversion());
  const auto spec = patch(R"({"spec":{"hostname":"x"},"status":{"phase":"Failed"}})", "");
  CHECK(metadata_of(**spec).generation() == 2);
  CHECK(as<core::Pod>(*spec)->status().phase() == "Running");
}

TEST_CASE("another object's UID and an old version are conflicts") {
  KubeWorld world;
  world.server.put(a_map("a"));
  const auto old = world.server.find<core::ConfigMap>({"ns", "a"});
  world.server.put(a_map("a", "2"));
  const Resource& maps = resource_of<core::ConfigMap>();

  CHECK(absl::IsAborted(run_and_get(world.loop, update(world.server, core::ConfigMap(*old), world.in(1s))).status()));
  CHECK(
      absl::IsAborted(run_and_get(world.loop, world.server.remove(maps, {"ns", "a"}, {.uid = "other"}, world.in(1s)))));
  const std::string patch = R"({"metadata":{"uid":"other"}})";
  CHECK(absl::IsAborted(
      run_and_get(world.loop, world.server.patch(maps, {"ns", "a"}, PatchKind::kMerge, patch, "", world.in(1s)))
          .status()));
  CHECK(absl::IsAlreadyExists(run_and_get(world.loop, create(world.server, a_map("a"), world.in(1s))).status()));
  CHECK(absl::IsNotFound(
      run_and_get(world.loop, get<core::ConfigMap>(world.server, ObjectKey{"ns", "b"}, world.in(1s))).status()));
}

TEST_CASE("a pod on a node is marked first and goes once its grace is taken back") {
  KubeWorld world;
  world.server.put(a_bare_pod("a", "n"));
  world.server.put(a_bare_pod("unscheduled", ""));
  const Resource& pods = resource_of<core::Pod>();
  const auto remove = [&](const char* name, DeleteOptions options) {
    return run_and_get(world.loop, world.server.remove(pods, {"ns", name}, options, world.in(1s)));
  };

  CHECK(remove("unscheduled", {}).ok());
  CHECK(world.server.find<core::Pod>({"ns", "unscheduled"}) == nullptr);
  CHECK(remove("a", {}).ok());
  const auto marked = world.server.find<core::Pod>({"ns", "a"});
  REQUIRE(marked != nullptr);
  CHECK(marked->metadata().has_deletiontimestamp());
  CHECK(marked->metadata().deletiongraceperiodseconds() == 30);
  CHECK(remove("a", {.grace = 60s}).ok());
  CHECK(world.server.find<core::Pod>({"ns", "a"})->metadata().deletiongraceperiodseconds() == 30);
  CHECK(remove("a", {.grace = 0s}).ok());
  CHECK(world.server.find<core::Pod>({"ns", "a"}) == nullptr);
}

TEST_CASE("a call whose answer is lost has had its effect") {
  KubeWorld world;
  world.server.set_script(
      [](const FakeCall&) { return FakeFault{.error = absl::UnavailableError("reset"), .takes_effect = true}; });

  CHECK(absl::IsUnavailable(run_and_get(world.loop, create(world.server, a_map("a"), world.in(1s))).status()));
  CHECK(world.server.find<core::ConfigMap>({"ns", "a"}) != nullptr);
}

}  // namespace
}  // namespace podwright::kube
