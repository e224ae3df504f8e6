#include "agent/volumes/atomic_writer.h"

#include <doctest/doctest.h>

#include "base/limits.h"
#include "tests/agent/volumes/stopping_tree.h"
#include "tests/agent/volumes/volumes_world.h"

namespace podwright::volumes {
namespace {

struct Writer : VolumesWorld {
  Writer() { make_dir("/v"); }
  absl::StatusOr<bool> write(const Payload& payload, PayloadOwner owner = {}) {
    return write_payload(tree, "/v", payload, owner, "..version_" + std::to_string(++versions));
  }
  int versions = 0;
};

TEST_CASE("files are reached through ..data, which leads to one version") {
  Writer world;
  CHECK(*world.write({{"a", {"1", 0644}}, {"d/b", {"2", 0400}}}));
  CHECK(world.read("/v/a") == "1");
  CHECK(world.read("/v/d/b") == "2");
  CHECK(world.mode("/v/a") == 0644);
  CHECK(world.mode("/v/d/b") == 0400);
  CHECK(world.names("/v") == "..data ..version_1 a d");
  CHECK(*world.tree.read_symlink("/v/..data") == "..version_1");
  CHECK(*world.tree.read_symlink("/v/a") == "..data/a");
  CHECK(*world.tree.read_symlink("/v/d") == "..data/d");
}

TEST_CASE("what did not change is not swapped") {
  Writer world;
  const Payload payload{{"a", {"1", 0644}}, {"d/b", {"2", 0644}}};
  CHECK(*world.write(payload));
  CHECK(!*world.write(payload));
  CHECK(world.names("/v") == "..data ..version_1 a d");
}

TEST_CASE("any difference makes a new version, and the old one goes") {
  const Payload before{{"a", {"1", 0644}}, {"d/b", {"2", 0644}}};
  for (const auto& [names, after] : std::vector<std::pair<std::string, Payload>>{
           {"..data ..version_2 a d", {{"a", {"x", 0644}}, {"d/b", {"2", 0644}}}},
           {"..data ..version_2 a d", {{"a", {"1", 0600}}, {"d/b", {"2", 0644}}}},
           {"..data ..version_2 a", {{"a", {"1", 0644}}}},
           {"..data ..version_2 d", {{"d/b", {"2", 0644}}}},
           {"..data ..version_2 a d", {{"a", {"1", 0644}}, {"d/c", {"2", 0644}}}},
           {"..data ..version_2 a c d", {{"a", {"1", 0644}}, {"c", {"", 0644}}, {"d/b", {"2", 0644}}}},
           {"..data ..version_2", {}},
       }) {
    CAPTURE(names);
    Writer world;
    CHECK(*world.write(before));
    CHECK(*world.write(after));
    CHECK(world.names("/v") == names);
    for (const auto& [path, file] : after) CHECK(world.read("/v/" + path) == file.content);
  }
}

TEST_CASE(
    "whoever opens files through ..data sees one version, wherever the writer dies, and the next one completes it") {
  const Payload before{{"a", {"1", 0644}}, {"b", {"1", 0644}}, {"gone", {"1", 0644}}};
  const Payload after{{"a", {"2", 0644}}, {"b", {"2", 0644}}, {"d/new", {"2", 0644}}};
  bool saw_old = false;
  bool finished = false;
  int changes = 0;
  for (; !finished; ++changes) {
    CAPTURE(changes);
    Writer world;
    CHECK(*world.write(before));
    StoppingTree mortal(world.tree, changes);
    finished = write_payload(mortal, "/v", after, {1000, 2000}, "..version_2").ok();
    CHECK(finished == !mortal.stopped());

    const std::string a = world.read("/v/..data/a");
    CHECK(world.read("/v/..data/b") == a);
    CHECK(world.read("/v/a") == a);
    CHECK(world.read("/v/..data/gone") == (a == "1" ? "1" : "-"));
    CHECK(world.read("/v/..data/d/new") == (a == "2" ? "2" : "-"));
    saw_old = saw_old || a == "1";

    world.versions = 2;
    REQUIRE(world.write(after).ok());
    CHECK(world.read("/v/a") == "2");
    CHECK(world.read("/v/d/new") == "2");
    CHECK(world.names("/v").find("gone") == std::string::npos);
    CHECK(world.names("/v").find("tmp") == std::string::npos);
  }
  CHECK(saw_old);
  CHECK(changes > 12);
}

TEST_CASE("what a crash left is completed and cleared away") {
  Writer world;
  CHECK(*world.write({{"a", {"1", 0644}}}));
  // Died before the swap.
  world.make_file("/v/..version_old/a", "half");
  REQUIRE(world.tree.make_symlink("..version_old", "/v/..data_tmp").ok());
  // Died after the swap and before the names.
  REQUIRE(world.tree.remove_file("/v/a").ok());
  CHECK(!*world.write({{"a", {"1", 0644}}}));
  CHECK(world.read("/v/a") == "1");
  CHECK(*world.write({{"a", {"2", 0644}}}));
  CHECK(world.names("/v") == "..data ..version_3 a");
}

TEST_CASE("a full disk leaves the old version in force") {
  Writer world;
  CHECK(*world.write({{"a", {"1", 0644}}}));
  world.tree.set_full("/v", true);
  CHECK(!world.write({{"a", {"2", 0644}}}).ok());
  CHECK(world.read("/v/a") == "1");
  world.tree.set_full("/v", false);
  CHECK(*world.write({{"a", {"2", 0644}}}));
  CHECK(world.names("/v") == "..data ..version_3 a");
}

TEST_CASE("files and directories get their owner, directories hand the group on, and modes stay exact") {
  Writer world;
  CHECK(*world.write({{"d/e/b", {"2", 0440}}}, {1000, 2000}));
  for (const char* path : {"/v/..data/d", "/v/..data/d/e"}) {
    const auto info = world.tree.info_followed(path);
    CHECK(info->uid == 1000);
    CHECK(info->gid == 2000);
    CHECK(info->mode == 02755);
  }
  const auto file = world.tree.info_followed("/v/d/e/b");
  CHECK(file->uid == 1000);
  CHECK(file->gid == 2000);
  CHECK(file->mode == 0440);
}

TEST_CASE("paths that could leave the volume, or clash with the writer's own names, are refused") {
  for (const char* path : {"", "/", "/a", "..", "../a", "a/..", "a/../b", "a/./b", ".", "./a", "a//b", "a/", "..data",
                           "..data/a", "..2026"}) {
    CAPTURE(path);
    CHECK(absl::IsInvalidArgument(check_payload_path(path)));
  }
  for (const char* path : {"a", "a/b", "a/..b", ".hidden", "a..b"}) {
    CAPTURE(path);
    CHECK(check_payload_path(path).ok());
  }
  Writer world;
  CHECK(absl::IsInvalidArgument(world.write({{"a", {"1", 0644}}, {"../escaped", {"1", 0644}}}).status()));
  CHECK(world.names("/v") == "");
  CHECK(!world.exists("/escaped"));
}

TEST_CASE("a file beyond kObjectVolumeFileBytes is refused") {
  Writer world;
  CHECK(*world.write({{"a", {std::string(limits::kObjectVolumeFileBytes, 'x'), 0644}}}));
  CHECK(!*world.write({{"a", {std::string(limits::kObjectVolumeFileBytes, 'x'), 0644}}}));
  CHECK(absl::IsInvalidArgument(
      world.write({{"a", {std::string(limits::kObjectVolumeFileBytes + 1, 'x'), 0644}}}).status()));
}

TEST_CASE("K115: links that a container put there lead the writer nowhere") {
  for (const char* target : {"/host", "../host", "../../host", ".."}) {
    CAPTURE(target);
    Writer world;
    world.make_file("/host/a", "canary");
    world.make_file("/host/d/b", "canary");
    CHECK(*world.write({{"a", {"1", 0644}}, {"d/b", {"1", 0644}}}));
    REQUIRE(world.tree.remove_file("/v/..data").ok());
    REQUIRE(world.tree.make_symlink(target, "/v/..data").ok());
    REQUIRE(world.tree.make_symlink("/host", "/v/..stray").ok());
    REQUIRE(world.tree.remove_file("/v/d").ok());
    REQUIRE(world.tree.make_symlink("/host/d", "/v/d").ok());

    CHECK(*world.write({{"a", {"2", 0644}}, {"d/b", {"2", 0644}}}));

    CHECK(world.read("/v/a") == "2");
    CHECK(world.read("/v/d/b") == "2");
    CHECK(world.read("/host/a") == "canary");
    CHECK(world.read("/host/d/b") == "canary");
    CHECK(world.names("/host") == "a d");
  }
}

}  // namespace
}  // namespace podwright::volumes
