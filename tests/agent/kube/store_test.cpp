#include "agent/kube/store.h"

#include "tests/agent/kube/kube_world.h"

namespace podwright::kube {
namespace {

ObjectPtr stored(const std::string& name, const std::string& version, const std::string& uid = "u",
                 const std::string& value = "1") {
  auto map = std::make_shared<core::ConfigMap>(a_map(name, value));
  map->mutable_metadata()->set_resourceversion(version);
  map->mutable_metadata()->set_uid(uid);
  return map;
}

std::vector<std::string> data_of(const Message& object) {
  return {static_cast<const core::ConfigMap&>(object).data().at("k")};
}

TEST_CASE("a replaced set comes back as what went, what came and what changed") {
  Store store;
  CHECK(store.replace({stored("a", "1"), stored("b", "2"), stored("c", "3")}).size() == 3);

  const auto changes = store.replace({stored("b", "2"), stored("c", "5"), stored("d", "6")});

  REQUIRE(changes.size() == 3);
  CHECK(changes[0].now == nullptr);
  CHECK(key_of(*changes[0].before).name == "a");
  CHECK(key_of(*changes[1].now).name == "c");
  CHECK(metadata_of(*changes[1].before).resourceversion() == "3");
  CHECK(key_of(*changes[2].now).name == "d");
  CHECK(changes[2].before == nullptr);
  CHECK(store.size() == 3);
}

TEST_CASE("another object of the same name is a deletion and an addition") {
  Store store;
  store.put(stored("a", "1", "first"));

  const auto changes = store.put(stored("a", "2", "second"));

  REQUIRE(changes.size() == 2);
  CHECK(metadata_of(*changes[0].before).uid() == "first");
  CHECK(changes[0].now == nullptr);
  CHECK(changes[1].before == nullptr);
  CHECK(metadata_of(*changes[1].now).uid() == "second");
}

TEST_CASE("a deletion tells the last state the server knew, and a second one is no change") {
  Store store;
  store.put(stored("a", "1"));

  const auto changes = store.erase({"ns", "a"}, stored("a", "7"));

  REQUIRE(changes.size() == 1);
  CHECK(metadata_of(*changes[0].before).resourceversion() == "7");
  CHECK(store.erase({"ns", "a"}, nullptr).empty());
}

TEST_CASE("an index follows its objects, also those that were there before it") {
  Store store;
  store.put(stored("a", "1", "u", "red"));
  store.add_index("colour", data_of);
  store.put(stored("b", "2", "u", "red"));
  CHECK(store.by_index("colour", "red").size() == 2);

  store.put(stored("a", "3", "u", "blue"));
  store.erase({"ns", "b"}, nullptr);

  CHECK(store.by_index("colour", "red").empty());
  REQUIRE(store.by_index("colour", "blue").size() == 1);
  CHECK(key_of(*store.by_index("colour", "blue")[0]).name == "a");
  CHECK(store.by_index("shape", "round").empty());
}

}  // namespace
}  // namespace podwright::kube
