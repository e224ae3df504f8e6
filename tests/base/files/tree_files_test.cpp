#include <doctest/doctest.h>
#include <sys/stat.h>

#include "base/files/tree.h"
#include "tests/base/files/trees.h"

using namespace podwright;

TEST_CASE("paths are joined with one slash and taken apart at the last") {
  CHECK(join_path("/a", "b") == "/a/b");
  CHECK(join_path("/a/", "/b") == "/a/b");
  CHECK(join_path("/", "b") == "/b");
  CHECK(join_path("/a", "") == "/a");
  CHECK(join_path("", "b") == "/b");
  CHECK(join_path("/", "") == "/");
  CHECK(parent_path("/a/b") == "/a");
  CHECK(parent_path("/a") == "/");
  CHECK(file_name("/a/b") == "b");
  CHECK(file_name("b") == "b");
}

TEST_CASE("what is written is read, whole or the end, up to the limit") {
  for_each_tree([](TreeUnderTest& under) {
    Tree& tree = under.tree();
    REQUIRE(tree.write(under.at("f"), "0123456789", 0640).ok());

    CHECK(*tree.read(under.at("f"), 10) == "0123456789");
    CHECK(tree.read(under.at("f"), 9).status().code() == absl::StatusCode::kResourceExhausted);
    CHECK(*tree.read_tail(under.at("f"), 4) == "6789");
    CHECK(*tree.read_tail(under.at("f"), 100) == "0123456789");
    CHECK(tree.read(under.at("none"), 10).status().code() == absl::StatusCode::kNotFound);
    CHECK(tree.read(under.at("none"), 10).status().message().find("ENOENT") != absl::string_view::npos);
    CHECK(tree.read(under.at(""), 10).status().code() == absl::StatusCode::kFailedPrecondition);
  });
}

TEST_CASE("modes are exact, whatever the umask") {
  const mode_t before = ::umask(077);
  for_each_tree([](TreeUnderTest& under) {
    Tree& tree = under.tree();

    REQUIRE(tree.write(under.at("w"), "x", 0666).ok());
    REQUIRE(tree.replace(under.at("r"), "x", 0644).ok());
    REQUIRE(tree.make_directories(under.at("a/b"), 0777).ok());

    CHECK(tree.info(under.at("w"))->mode == 0666);
    CHECK(tree.info(under.at("r"))->mode == 0644);
    CHECK(tree.info(under.at("a"))->mode == 0755);
    CHECK(tree.info(under.at("a/b"))->mode == 0777);
    REQUIRE(tree.make_directories(under.at("a/b"), 02750).ok());
    CHECK(tree.info(under.at("a/b"))->mode == 02750);
    REQUIRE(tree.set_mode(under.at("w"), 0600).ok());
    CHECK(tree.info(under.at("w"))->mode == 0600);
    REQUIRE(tree.write(under.at("w"), "y", 0666).ok());
    CHECK(tree.info(under.at("w"))->mode == 0600);
  });
  ::umask(before);
}

TEST_CASE("replace puts a new file under the name and leaves no other") {
  for_each_tree([](TreeUnderTest& under) {
    Tree& tree = under.tree();
    REQUIRE(tree.write(under.at("f"), "old", 0600).ok());
    const uint64_t old_inode = tree.info(under.at("f"))->inode;

    REQUIRE(tree.replace(under.at("f"), "new", 0640).ok());

    CHECK(*tree.read(under.at("f"), 10) == "new");
    CHECK(tree.info(under.at("f"))->mode == 0640);
    CHECK(tree.info(under.at("f"))->inode != old_inode);
    CHECK(tree.list(under.at(""))->size() == 1);
    REQUIRE(tree.make_directories(under.at("d"), 0755).ok());
    CHECK_FALSE(tree.replace(under.at("d"), "x", 0600).ok());
    CHECK(tree.list(under.at(""))->size() == 2);
    CHECK(tree.replace(under.at("none/f"), "x", 0600).code() == absl::StatusCode::kNotFound);
  });
}

TEST_CASE("replace and write never go through a link in the last place") {
  for_each_tree([](TreeUnderTest& under) {
    Tree& tree = under.tree();
    REQUIRE(tree.write(under.at("canary"), "safe", 0600).ok());
    REQUIRE(tree.make_symlink("canary", under.at("l")).ok());

    CHECK(tree.write(under.at("l"), "bad", 0600).code() == absl::StatusCode::kInvalidArgument);
    CHECK(tree.set_mode(under.at("l"), 0777).code() == absl::StatusCode::kInvalidArgument);
    REQUIRE(tree.replace(under.at("l"), "own", 0600).ok());

    CHECK(*tree.read(under.at("canary"), 10) == "safe");
    CHECK(tree.info(under.at("canary"))->mode == 0600);
    CHECK(*tree.read(under.at("l"), 10) == "own");
  });
}

TEST_CASE("a FIFO, a socket or a directory is never read as a file, and nothing blocks") {
  for_each_tree([](TreeUnderTest& under) {
    Tree& tree = under.tree();
    if (auto* memory = dynamic_cast<MemoryTree*>(&tree)) {
      REQUIRE(memory->make_node(under.at("fifo"), FileType::kFifo, 0666).ok());
    } else {
      REQUIRE(::mkfifo(under.at("fifo").c_str(), 0666) == 0);
    }

    CHECK(tree.info(under.at("fifo"))->type == FileType::kFifo);
    CHECK(tree.read(under.at("fifo"), 10).status().code() == absl::StatusCode::kFailedPrecondition);
    CHECK(tree.read_tail(under.at("fifo"), 10).status().code() == absl::StatusCode::kFailedPrecondition);
    CHECK(tree.read_beneath(under.at(""), "fifo", 10).status().code() == absl::StatusCode::kFailedPrecondition);
    CHECK(tree.write(under.at("fifo"), "x", 0600).code() == absl::StatusCode::kFailedPrecondition);
  });
}

TEST_CASE("links are followed as the kernel does") {
  for_each_tree([](TreeUnderTest& under) {
    Tree& tree = under.tree();
    REQUIRE(tree.make_directories(under.at("data"), 0755).ok());
    REQUIRE(tree.write(under.at("data/key"), "v", 0644).ok());
    REQUIRE(tree.make_symlink("data", under.at("..data")).ok());
    REQUIRE(tree.make_symlink("..data/key", under.at("key")).ok());
    REQUIRE(tree.make_symlink(under.at("data"), under.at("absolute")).ok());
    REQUIRE(tree.make_symlink("b", under.at("a")).ok());
    REQUIRE(tree.make_symlink("a", under.at("b")).ok());
    REQUIRE(tree.make_symlink("nothing", under.at("dangling")).ok());

    CHECK(*tree.read(under.at("key"), 10) == "v");
    CHECK(*tree.read(under.at("absolute/key"), 10) == "v");
    CHECK(*tree.read(under.at("data/../key"), 10) == "v");
    CHECK(*tree.read_symlink(under.at("key")) == "..data/key");
    CHECK(tree.read_symlink(under.at("data")).status().code() == absl::StatusCode::kInvalidArgument);
    CHECK(tree.info(under.at("key"))->type == FileType::kSymlink);
    CHECK(tree.info_followed(under.at("key"))->type == FileType::kFile);
    CHECK(tree.info_followed(under.at("dangling")).status().code() == absl::StatusCode::kNotFound);
    CHECK(tree.info(under.at("dangling"))->type == FileType::kSymlink);
    CHECK(tree.read(under.at("a"), 10).status().message().find("ELOOP") != absl::string_view::npos);
    CHECK(tree.read(under.at("key/x"), 10).status().message().find("ENOTDIR") != absl::string_view::npos);
    CHECK(tree.make_symlink("x", under.at("a")).code() == absl::StatusCode::kAlreadyExists);
    CHECK(tree.list(under.at("absolute"))->size() == 1);
    REQUIRE(tree.remove_file(under.at("..data")).ok());
    CHECK(*tree.read(under.at("data/key"), 10) == "v");
  });
}

TEST_CASE("40 links are followed and 41 are not") {
  for_each_tree([](TreeUnderTest& under) {
    Tree& tree = under.tree();
    REQUIRE(tree.write(under.at("0"), "end", 0644).ok());
    for (int i = 1; i <= 41; ++i) {
      REQUIRE(tree.make_symlink(std::to_string(i - 1), under.at(std::to_string(i))).ok());
    }

    CHECK(tree.read(under.at("40"), 10).ok());
    CHECK_FALSE(tree.read(under.at("41"), 10).ok());
  });
}

TEST_CASE("reading beneath a directory follows links that stay inside and no others") {
  for_each_tree([](TreeUnderTest& under) {
    Tree& tree = under.tree();
    REQUIRE(tree.write(under.at("secret"), "s", 0600).ok());
    REQUIRE(tree.make_directories(under.at("v/data"), 0755).ok());
    REQUIRE(tree.write(under.at("v/data/key"), "v", 0644).ok());
    REQUIRE(tree.make_symlink("data", under.at("v/..data")).ok());
    REQUIRE(tree.make_symlink("..data/key", under.at("v/key")).ok());
    REQUIRE(tree.make_symlink("../data/key", under.at("v/data/up")).ok());
    REQUIRE(tree.make_symlink("../secret", under.at("v/out")).ok());
    REQUIRE(tree.make_symlink("/etc/passwd", under.at("v/absolute")).ok());
    REQUIRE(tree.make_symlink("/proc/self/root", under.at("v/magic")).ok());

    CHECK(*tree.read_beneath(under.at("v"), "key", 10) == "v");
    CHECK(*tree.read_beneath(under.at("v"), "data/up", 10) == "v");
    CHECK(tree.read_beneath(under.at("v"), "key", 0).status().code() == absl::StatusCode::kResourceExhausted);
    CHECK(tree.read_beneath(under.at("v"), "none", 10).status().code() == absl::StatusCode::kNotFound);
    for (const char* bad : {"out", "absolute", "magic/etc/passwd", "../secret", "data/../../secret", "/etc/passwd"}) {
      CAPTURE(bad);
      CHECK(tree.read_beneath(under.at("v"), bad, 10).status().code() == absl::StatusCode::kInvalidArgument);
    }
  });
}

TEST_CASE("statfs tells of the file system") {
  for_each_tree([](TreeUnderTest& under) {
    const auto seen = under.tree().fs_stat(under.at(""));
    REQUIRE(seen.ok());
    CHECK(seen->capacity_bytes > 0);
    CHECK(seen->available_bytes <= seen->capacity_bytes);
    CHECK(under.tree().fs_stat(under.at("none")).status().code() == absl::StatusCode::kNotFound);
  });
}
