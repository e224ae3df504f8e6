#include <doctest/doctest.h>
#include <fcntl.h>
#include <sys/mount.h>
#include <sys/stat.h>

#include "tests/base/files/trees.h"

using namespace podwright;

TEST_CASE("directories are made with their parents and listed by name") {
  for_each_tree([](TreeUnderTest& under) {
    Tree& tree = under.tree();
    REQUIRE(tree.make_directories(under.at("d/b"), 0700).ok());
    REQUIRE(tree.make_directories(under.at("d/b"), 0700).ok());
    REQUIRE(tree.write(under.at("d/c"), "", 0600).ok());
    REQUIRE(tree.make_symlink("x", under.at("d/a")).ok());

    const auto entries = tree.list(under.at("d"));

    REQUIRE(entries.ok());
    REQUIRE(entries->size() == 3);
    CHECK((*entries)[0].name == "a");
    CHECK((*entries)[0].type == FileType::kSymlink);
    CHECK((*entries)[1].type == FileType::kDirectory);
    CHECK((*entries)[2].type == FileType::kFile);
    CHECK(tree.list(under.at("d/c")).status().code() == absl::StatusCode::kFailedPrecondition);
    CHECK(tree.list(under.at("none")).status().code() == absl::StatusCode::kNotFound);
    CHECK(tree.make_directories(under.at("d/c/e"), 0700).code() == absl::StatusCode::kFailedPrecondition);
  });
}

TEST_CASE("directories are made through a link to a directory, not through one to nothing") {
  for_each_tree([](TreeUnderTest& under) {
    Tree& tree = under.tree();
    REQUIRE(tree.make_directories(under.at("real"), 0755).ok());
    REQUIRE(tree.make_symlink("real", under.at("link")).ok());
    REQUIRE(tree.make_symlink("nowhere", under.at("dangling")).ok());

    CHECK(tree.make_directories(under.at("link/sub"), 0700).ok());
    CHECK(tree.info(under.at("real/sub"))->type == FileType::kDirectory);
    CHECK_FALSE(tree.make_directories(under.at("dangling/sub"), 0700).ok());
  });
}

TEST_CASE("files and directories are removed each by its own call") {
  for_each_tree([](TreeUnderTest& under) {
    Tree& tree = under.tree();
    REQUIRE(tree.make_directories(under.at("d"), 0755).ok());
    REQUIRE(tree.write(under.at("d/f"), "", 0600).ok());

    CHECK(tree.remove_directory(under.at("d")).code() == absl::StatusCode::kFailedPrecondition);
    CHECK_FALSE(tree.remove_file(under.at("d")).ok());
    CHECK(tree.remove_directory(under.at("d/f")).code() == absl::StatusCode::kFailedPrecondition);
    CHECK(tree.remove_file(under.at("d/none")).code() == absl::StatusCode::kNotFound);
    CHECK(tree.remove_file(under.at("d/f")).ok());
    CHECK(tree.remove_directory(under.at("d")).ok());
    CHECK(tree.remove_directory(under.at("d")).code() == absl::StatusCode::kNotFound);
  });
}

TEST_CASE("a tree is removed without following its links") {
  for_each_tree([](TreeUnderTest& under) {
    Tree& tree = under.tree();
    REQUIRE(tree.make_directories(under.at("host"), 0755).ok());
    REQUIRE(tree.write(under.at("host/canary"), "safe", 0600).ok());
    REQUIRE(tree.make_directories(under.at("t/a/b/c"), 0755).ok());
    REQUIRE(tree.write(under.at("t/a/b/f"), "", 0600).ok());
    REQUIRE(tree.make_symlink(under.at("host"), under.at("t/a/out")).ok());
    REQUIRE(tree.make_symlink("../host/canary", under.at("t/file")).ok());
    REQUIRE(tree.make_symlink("host", under.at("top")).ok());

    CHECK(tree.remove_tree(under.at("t")).ok());
    CHECK(tree.remove_tree(under.at("t")).ok());
    CHECK(tree.remove_tree(under.at("top")).ok());
    CHECK(tree.remove_tree(under.at("none/deeper")).ok());

    CHECK(*tree.read(under.at("host/canary"), 10) == "safe");
    CHECK(tree.list(under.at(""))->size() == 1);
  });
}

TEST_CASE("removing a tree stops at a mount, bind mounts of the same device too, and goes on beside it") {
  for_each_tree_that_mounts("remove_tree at mounts", [](TreeUnderTest& under) {
    Tree& tree = under.tree();
    REQUIRE(tree.make_directories(under.at("data"), 0755).ok());
    REQUIRE(tree.write(under.at("data/precious"), "p", 0600).ok());
    REQUIRE(tree.make_directories(under.at("t/mnt"), 0755).ok());
    REQUIRE(tree.write(under.at("t/other"), "", 0600).ok());
    REQUIRE(tree.mount(under.at("data"), under.at("t/mnt"), "", MS_BIND, "").ok());

    CHECK(tree.remove_tree(under.at("t")).code() == absl::StatusCode::kFailedPrecondition);
    CHECK(tree.remove_tree(under.at("t/mnt")).code() == absl::StatusCode::kFailedPrecondition);

    CHECK(*tree.read(under.at("data/precious"), 10) == "p");
    CHECK(tree.info(under.at("t/other")).status().code() == absl::StatusCode::kNotFound);
    REQUIRE(tree.unmount(under.at("t/mnt"), false).ok());
    CHECK(tree.remove_tree(under.at("t")).ok());
  });
}

TEST_CASE("a tree deeper than any path is removed with few descriptors") {
  RealTreeUnderTest under;
  int at = ::open(under.at("").c_str(), O_PATH | O_DIRECTORY);
  for (int i = 0; i < 3000; ++i) {
    REQUIRE(::mkdirat(at, "ddd", 0755) == 0);
    const int next = ::openat(at, "ddd", O_PATH | O_DIRECTORY);
    REQUIRE(next >= 0);
    ::close(at);
    at = next;
  }
  ::close(at);

  CHECK(under.tree().remove_tree(under.at("ddd")).ok());
  CHECK(under.tree().list(under.at(""))->empty());
}

TEST_CASE("a rename replaces what rename(2) replaces and nothing else") {
  for_each_tree([](TreeUnderTest& under) {
    Tree& tree = under.tree();
    REQUIRE(tree.write(under.at("f"), "f", 0600).ok());
    REQUIRE(tree.write(under.at("g"), "g", 0600).ok());
    REQUIRE(tree.make_directories(under.at("d/sub"), 0755).ok());
    REQUIRE(tree.make_directories(under.at("e"), 0755).ok());
    REQUIRE(tree.make_symlink("one", under.at("l")).ok());
    REQUIRE(tree.make_symlink("two", under.at("l.tmp")).ok());

    CHECK(tree.rename(under.at("f"), under.at("g")).ok());
    CHECK(*tree.read(under.at("g"), 10) == "f");
    CHECK(tree.rename(under.at("none"), under.at("x")).code() == absl::StatusCode::kNotFound);
    CHECK(tree.rename(under.at("g"), under.at("d")).code() == absl::StatusCode::kFailedPrecondition);
    CHECK(tree.rename(under.at("d"), under.at("g")).code() == absl::StatusCode::kFailedPrecondition);
    CHECK_FALSE(tree.rename(under.at("e"), under.at("d")).ok());
    CHECK_FALSE(tree.rename(under.at("d"), under.at("d/sub/d")).ok());
    CHECK(tree.rename(under.at("d"), under.at("e")).ok());
    CHECK(tree.info(under.at("e/sub")).ok());
    CHECK(tree.rename(under.at("l.tmp"), under.at("l")).ok());
    CHECK(*tree.read_symlink(under.at("l")) == "two");
  });
}

TEST_CASE("owners are set without following a link") {
  for_each_tree_that_mounts("set_owner", [](TreeUnderTest& under) {
    Tree& tree = under.tree();
    REQUIRE(tree.write(under.at("f"), "", 0600).ok());
    REQUIRE(tree.make_symlink("f", under.at("l")).ok());

    REQUIRE(tree.set_owner(under.at("f"), 1000, 2000).ok());
    REQUIRE(tree.set_owner(under.at("f"), static_cast<uid_t>(-1), 2001).ok());
    REQUIRE(tree.set_owner(under.at("l"), 7, 7).ok());

    CHECK(tree.info(under.at("f"))->uid == 1000);
    CHECK(tree.info(under.at("f"))->gid == 2001);
    CHECK(tree.info(under.at("l"))->uid == 7);
  });
}
