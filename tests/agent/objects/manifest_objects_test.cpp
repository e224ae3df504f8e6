#include "agent/objects/manifest_objects.h"

#include <doctest/doctest.h>

#include "base/co/scope.h"
#include "base/co/sim_loop.h"
#include "tests/agent/sample_pods.h"

namespace podwright::objects {
namespace {

using namespace std::chrono_literals;

ObjectSet a_set(const std::string& map, const std::string& secret = "{data: {k: MQ==}}") {
  ObjectSet set;
  if (!map.empty()) set.config_maps[{"ns", "one"}] = std::make_shared<core::ConfigMap>(from_yaml<core::ConfigMap>(map));
  if (!secret.empty()) set.secrets[{"ns", "two"}] = std::make_shared<core::Secret>(from_yaml<core::Secret>(secret));
  return set;
}

Co<void> count_changes(Objects& objects, int* count) {
  while (co_await objects.changed(Instant::max()) == Wait::kRung) ++*count;
}

TEST_CASE("before the first scan nobody can tell whether an object is missing") {
  SimLoop loop;
  ManifestObjects objects(loop);
  CHECK(absl::IsUnavailable(objects.config_map("ns", "one").status()));
  CHECK(absl::IsUnavailable(objects.secret("ns", "two").status()));
  objects.replace({});
  CHECK(absl::IsNotFound(objects.config_map("ns", "one").status()));
  CHECK(absl::IsNotFound(objects.secret("ns", "two").status()));
}

TEST_CASE("objects are found by namespace and name, each kind for itself") {
  SimLoop loop;
  ManifestObjects objects(loop);
  objects.replace(a_set("{data: {a: '1'}}"));
  REQUIRE(objects.config_map("ns", "one").ok());
  CHECK((*objects.config_map("ns", "one"))->data().at("a") == "1");
  CHECK((*objects.secret("ns", "two"))->data().at("k") == "1");
  CHECK(absl::IsNotFound(objects.config_map("other", "one").status()));
  CHECK(absl::IsNotFound(objects.config_map("ns", "two").status()));
  CHECK(absl::IsNotFound(objects.secret("ns", "one").status()));
  CHECK(std::string(objects.secret("ns", "one").status().message()) ==
        "secret \"one\" not found among the manifests of namespace ns");
}

TEST_CASE("a change is told once, and what did not change keeps its message") {
  SimLoop loop;
  ManifestObjects objects(loop);
  Scope scope(loop);
  int changes = 0;
  scope.spawn("count", count_changes(objects, &changes));
  loop.run_for(1s);

  objects.replace(a_set("{data: {a: '1'}}"));
  loop.run_for(1s);
  CHECK(changes == 1);
  const uint64_t version = objects.version();
  const auto map = *objects.config_map("ns", "one");
  const auto secret = *objects.secret("ns", "two");

  objects.replace(a_set("{data: {a: '1'}}"));
  loop.run_for(1s);
  CHECK(changes == 1);
  CHECK(objects.version() == version);
  CHECK(*objects.config_map("ns", "one") == map);

  objects.replace(a_set("{data: {a: '2'}}"));
  loop.run_for(1s);
  CHECK(changes == 2);
  CHECK(objects.version() == version + 1);
  CHECK((*objects.config_map("ns", "one"))->data().at("a") == "2");
  CHECK(*objects.secret("ns", "two") == secret);
  // Who holds the old message still has the old content.
  CHECK(map->data().at("a") == "1");
}

TEST_CASE("an object that comes or goes is a change, in either kind; the first scan is one though it is empty") {
  SimLoop loop;
  ManifestObjects objects(loop);
  objects.replace({});
  uint64_t version = objects.version();
  CHECK(version == 1);
  objects.replace({});
  CHECK(objects.version() == version);
  for (const auto& set : {a_set("{data: {a: '1'}}", ""), a_set("{data: {a: '1'}}"), a_set(""),
                          a_set("", "{data: {k: Mg==}}"), ObjectSet()}) {
    objects.replace(set);
    CHECK(objects.version() == version + 1);
    version = objects.version();
  }
}

TEST_CASE("an object under another name is another object, though it says the same") {
  SimLoop loop;
  ManifestObjects objects(loop);
  objects.replace(a_set("{data: {a: '1'}}"));
  ObjectSet moved;
  moved.config_maps[{"ns", "renamed"}] = *objects.config_map("ns", "one");
  moved.secrets[{"ns", "two"}] = *objects.secret("ns", "two");
  const uint64_t version = objects.version();
  objects.replace(moved);
  CHECK(objects.version() == version + 1);
  CHECK(absl::IsNotFound(objects.config_map("ns", "one").status()));
}

TEST_CASE("a wait for a change ends with its deadline and with its flow") {
  SimLoop loop;
  ManifestObjects objects(loop);
  const Instant begin = loop.now();
  CHECK(run_and_get(loop, objects.changed(begin + 5s)) == Wait::kLate);
  CHECK(loop.now() == begin + 5s);
  Scope scope(loop);
  int changes = 0;
  scope.spawn("count", count_changes(objects, &changes));
  loop.run_for(1s);
  scope.cancel();
  loop.run_for(1s);
  CHECK(scope.size() == 0);
  CHECK(loop.waiting() == 0);
}

}  // namespace
}  // namespace podwright::objects
