#include "base/files/memory_tree.h"

#include <doctest/doctest.h>
#include <sys/mount.h>

#include <cerrno>

#include "base/co/sim_loop.h"

using namespace podwright;

TEST_CASE("after a power cut a replaced file has one of its whole contents and all that came before it is there") {
  for (uint64_t seed = 1; seed <= 50; ++seed) {
    SimLoop loop;
    MemoryTree tree(loop, seed);
    REQUIRE(tree.make_directories("/var/lib", 0755).ok());
    REQUIRE(tree.replace("/var/lib/state", "one", 0600).ok());
    REQUIRE(tree.replace("/var/lib/state", "two", 0600).ok());

    tree.power_cut();

    CHECK(*tree.read("/var/lib/state", 10) == "two");
  }
}

TEST_CASE("a power cut loses, tears or keeps what was only written, by the seed") {
  std::set<std::string> outcomes;
  for (uint64_t seed = 1; seed <= 100; ++seed) {
    SimLoop loop;
    MemoryTree tree(loop, seed);
    REQUIRE(tree.replace("/f", "old", 0600).ok());
    REQUIRE(tree.write("/f", "brand new", 0600).ok());
    tree.power_cut();
    outcomes.insert(*tree.read("/f", 100));

    MemoryTree again(loop, seed);
    REQUIRE(again.replace("/f", "old", 0600).ok());
    REQUIRE(again.write("/f", "brand new", 0600).ok());
    again.power_cut();
    CHECK(*again.read("/f", 100) == *tree.read("/f", 100));
  }
  CHECK(outcomes.contains("old"));
  CHECK(outcomes.contains(""));
  CHECK(outcomes.contains("brand new"));
  CHECK(outcomes.contains("brand"));
}

TEST_CASE("a power cut loses directory changes from some point on, in order") {
  std::set<std::string> outcomes;
  for (uint64_t seed = 1; seed <= 60; ++seed) {
    SimLoop loop;
    MemoryTree tree(loop, seed);
    REQUIRE(tree.replace("/base", "", 0600).ok());
    for (const char* name : {"/1", "/2", "/3"}) REQUIRE(tree.make_directories(name, 0755).ok());
    REQUIRE(tree.rename("/1", "/4").ok());
    tree.power_cut();
    std::string names;
    const auto entries = tree.list("/");
    for (const DirectoryEntry& entry : *entries) names += entry.name + " ";
    outcomes.insert(names);
  }
  CHECK(outcomes == std::set<std::string>{"base ", "1 base ", "1 2 base ", "1 2 3 base ", "2 3 4 base "});
}

TEST_CASE("mounts and what lives in memory are gone after a power cut, not after a crash") {
  SimLoop loop;
  MemoryTree tree(loop);
  REQUIRE(tree.make_directories("/run", 0755).ok());
  REQUIRE(tree.mount("tmpfs", "/run", "tmpfs", 0, "").ok());
  REQUIRE(tree.write("/run/f", "x", 0600).ok());
  REQUIRE(tree.replace("/synced", "", 0600).ok());

  loop.drop();
  SimLoop next(2);
  tree.attach(next);
  CHECK(*tree.read("/run/f", 10) == "x");

  tree.power_cut();
  CHECK(tree.list("/run")->empty());
  CHECK(tree.mounts()->size() == 1);
}

TEST_CASE("watches die with their owner, and the next loop hears of new ones") {
  SimLoop loop;
  MemoryTree tree(loop);
  int old_calls = 0;
  {
    auto watch = tree.watch("/", [&](const TreeEvent&) { ++old_calls; });
    REQUIRE(watch.ok());
    CHECK(tree.watches() == 1);
    REQUIRE(tree.write("/a", "", 0600).ok());
  }
  loop.drain();
  CHECK(tree.watches() == 0);
  CHECK(old_calls == 0);

  SimLoop next(2);
  tree.attach(next);
  int new_calls = 0;
  auto watch = tree.watch("/", [&](const TreeEvent&) { ++new_calls; });
  REQUIRE(tree.write("/b", "", 0600).ok());
  next.drain();
  CHECK(new_calls == 2);
}

TEST_CASE("a full disk refuses what grows and allows what shrinks") {
  SimLoop loop;
  MemoryTree tree(loop);
  REQUIRE(tree.make_directories("/var/d", 0755).ok());
  REQUIRE(tree.write("/var/f", "x", 0600).ok());

  tree.set_full("/var", true);

  CHECK(tree.write("/var/f", "y", 0600).code() == absl::StatusCode::kResourceExhausted);
  CHECK(tree.replace("/var/f", "y", 0600).code() == absl::StatusCode::kResourceExhausted);
  CHECK(tree.make_directories("/var/new", 0755).code() == absl::StatusCode::kResourceExhausted);
  CHECK(tree.make_directories("/var/d", 0755).ok());
  CHECK(tree.make_symlink("x", "/var/l").code() == absl::StatusCode::kResourceExhausted);
  CHECK(tree.write("/various", "y", 0600).ok());
  CHECK(tree.remove_file("/var/f").ok());
  tree.set_full("/var", false);
  CHECK(tree.write("/var/f", "y", 0600).ok());
}

TEST_CASE("faults are told per path, for so many calls, until healed") {
  SimLoop loop;
  MemoryTree tree(loop);
  REQUIRE(tree.make_directories("/a/b", 0755).ok());

  tree.fail("/a/b", EIO, 2);
  CHECK_FALSE(tree.info("/a/b").ok());
  CHECK(tree.info("/a").ok());
  CHECK_FALSE(tree.info("/a/b/c").ok());
  CHECK(tree.info("/a/b").ok());

  tree.fail("/a", EACCES);
  CHECK(tree.list("/a/b").status().code() == absl::StatusCode::kPermissionDenied);
  tree.heal("/a");
  CHECK(tree.list("/a/b").ok());

  tree.set_read_only("/a", true);
  CHECK(tree.remove_directory("/a/b").message().find("EROFS") != absl::string_view::npos);
  CHECK(tree.list("/a").ok());
}

TEST_CASE("statfs tells what the test set for the longest prefix") {
  SimLoop loop;
  MemoryTree tree(loop);
  REQUIRE(tree.make_directories("/var/lib", 0755).ok());
  tree.set_fs_stat("/", {.capacity_bytes = 1});
  tree.set_fs_stat("/var", {.capacity_bytes = 2});

  CHECK(tree.fs_stat("/var/lib")->capacity_bytes == 2);
  CHECK(tree.fs_stat("/")->capacity_bytes == 1);
}
