#include <doctest/doctest.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <sys/mount.h>
#include <sys/stat.h>

#include <thread>

#include "base/limits.h"
#include "tests/base/files/trees.h"

using namespace podwright;

namespace {

std::optional<MountEntry> mount_at(Tree& tree, const std::string& path) {
  const auto mounts = tree.mounts();
  REQUIRE(mounts.ok());
  std::optional<MountEntry> last;
  for (const MountEntry& entry : *mounts) {
    if (entry.mountpoint == path) last = entry;
  }
  return last;
}

}  // namespace

TEST_CASE("a tmpfs hides what is below it until it is unmounted") {
  for_each_tree_that_mounts("tmpfs", [](TreeUnderTest& under) {
    Tree& tree = under.tree();
    REQUIRE(tree.make_directories(under.at("m"), 0755).ok());
    REQUIRE(tree.write(under.at("m/under"), "u", 0600).ok());

    REQUIRE(tree.mount("tmpfs", under.at("m"), "tmpfs", MS_NOSUID, "size=64k,mode=0777").ok());

    CHECK(*tree.is_mountpoint(under.at("m")));
    CHECK_FALSE(*tree.is_mountpoint(under.at("")));
    CHECK(tree.is_mountpoint(under.at("none")).status().code() == absl::StatusCode::kNotFound);
    CHECK(tree.list(under.at("m"))->empty());
    CHECK(tree.info(under.at("m"))->device != tree.info(under.at(""))->device);
    const auto entry = mount_at(tree, under.at("m"));
    REQUIRE(entry);
    CHECK(entry->fs_type == "tmpfs");
    CHECK(entry->options.front() == "rw");
    CHECK(std::find(entry->options.begin(), entry->options.end(), "size=64k") != entry->options.end());
    CHECK(tree.remove_directory(under.at("m")).code() == absl::StatusCode::kFailedPrecondition);

    REQUIRE(tree.write(under.at("m/inside"), "i", 0600).ok());
    CHECK_FALSE(tree.rename(under.at("m/inside"), under.at("outside")).ok());
    REQUIRE(tree.unmount(under.at("m"), false).ok());
    CHECK_FALSE(*tree.is_mountpoint(under.at("m")));
    CHECK(*tree.read(under.at("m/under"), 10) == "u");
    CHECK(tree.unmount(under.at("m"), false).code() == absl::StatusCode::kInvalidArgument);
  });
}

TEST_CASE("a bind mount shows the same files and can be read-only") {
  for_each_tree_that_mounts("bind", [](TreeUnderTest& under) {
    Tree& tree = under.tree();
    REQUIRE(tree.make_directories(under.at("from"), 0755).ok());
    REQUIRE(tree.make_directories(under.at("to"), 0755).ok());
    REQUIRE(tree.write(under.at("from/f"), "1", 0600).ok());

    REQUIRE(tree.mount(under.at("from"), under.at("to"), "", MS_BIND, "").ok());
    CHECK(*tree.read(under.at("to/f"), 10) == "1");
    REQUIRE(tree.write(under.at("to/f"), "2", 0600).ok());
    CHECK(*tree.read(under.at("from/f"), 10) == "2");
    CHECK(*tree.is_mountpoint(under.at("to")));

    REQUIRE(tree.mount("", under.at("to"), "", MS_BIND | MS_REMOUNT | MS_RDONLY, "").ok());
    CHECK(tree.write(under.at("to/f"), "3", 0600).code() == absl::StatusCode::kPermissionDenied);
    CHECK(tree.write(under.at("from/f"), "3", 0600).ok());
    CHECK(mount_at(tree, under.at("to"))->options.front() == "ro");
  });
}

TEST_CASE("a lazy unmount takes what is mounted inside with it") {
  for_each_tree_that_mounts("lazy unmount", [](TreeUnderTest& under) {
    Tree& tree = under.tree();
    REQUIRE(tree.make_directories(under.at("m"), 0755).ok());
    REQUIRE(tree.mount("tmpfs", under.at("m"), "tmpfs", 0, "").ok());
    REQUIRE(tree.make_directories(under.at("m/n"), 0755).ok());
    REQUIRE(tree.mount("tmpfs", under.at("m/n"), "tmpfs", 0, "").ok());

    CHECK(tree.unmount(under.at("m"), false).code() == absl::StatusCode::kFailedPrecondition);
    CHECK(tree.unmount(under.at("m"), true).ok());

    CHECK_FALSE(mount_at(tree, under.at("m")));
    CHECK_FALSE(mount_at(tree, under.at("m/n")));
  });
}

TEST_CASE("a sub path is bound, made where it is missing, and never leads outside the volume") {
  for_each_tree_that_mounts("bind_beneath", [](TreeUnderTest& under) {
    Tree& tree = under.tree();
    REQUIRE(tree.make_directories(under.at("host"), 0755).ok());
    REQUIRE(tree.make_directories(under.at("v/data"), 0755).ok());
    REQUIRE(tree.write(under.at("v/data/key"), "v", 0644).ok());
    REQUIRE(tree.make_symlink("data", under.at("v/..data")).ok());
    REQUIRE(tree.make_symlink("/", under.at("v/s")).ok());
    REQUIRE(tree.make_symlink("../host", under.at("v/out")).ok());
    REQUIRE(tree.make_symlink("gone", under.at("v/dangling")).ok());
    REQUIRE(tree.make_symlink("/proc/self/root", under.at("v/magic")).ok());
    REQUIRE(tree.make_directories(under.at("targets"), 0755).ok());

    REQUIRE(tree.bind_beneath(under.at("v"), "..data/key", under.at("targets/file"), 0750, true).ok());
    REQUIRE(tree.bind_beneath(under.at("v"), "..data", under.at("targets/dir"), 0750, false).ok());
    REQUIRE(tree.bind_beneath(under.at("v"), "data/new/er", under.at("targets/new"), 02770, false).ok());
    REQUIRE(tree.bind_beneath(under.at("v"), "", under.at("targets/all"), 0750, false).ok());

    CHECK(*tree.read(under.at("targets/file"), 10) == "v");
    CHECK(tree.write(under.at("targets/file"), "x", 0600).code() == absl::StatusCode::kPermissionDenied);
    CHECK(*tree.read(under.at("targets/dir/key"), 10) == "v");
    CHECK(tree.info(under.at("v/data/new"))->mode == 02770);
    CHECK(tree.info(under.at("v/data/new/er"))->inode == tree.info(under.at("targets/new"))->inode);
    CHECK(tree.list(under.at("targets/all"))->size() == 6);
    for (const char* bad :
         {"s", "out", "out/new", "..", "../host", "data/../../host", "/etc", "magic/etc", "s/../.."}) {
      CAPTURE(bad);
      const absl::Status refused = tree.bind_beneath(under.at("v"), bad, under.at("targets/bad"), 0750, false);
      CHECK(refused.code() == absl::StatusCode::kInvalidArgument);
    }
    CHECK_FALSE(tree.bind_beneath(under.at("v"), "dangling", under.at("targets/bad"), 0750, false).ok());
    CHECK(tree.list(under.at("host"))->empty());
    CHECK(tree.info(under.at("targets/bad")).status().code() == absl::StatusCode::kNotFound);
  });
}

TEST_CASE("exchanging a directory for a link while sub paths are bound never binds anything outside") {
  if (::geteuid() != 0) {
    std::printf("skipped, since it needs root to mount: exchange race\n");
    return;
  }
  RealTreeUnderTest under;
  Tree& tree = under.tree();
  REQUIRE(tree.make_directories(under.at("v/d/e"), 0755).ok());
  REQUIRE(tree.make_directories(under.at("outside/e"), 0755).ok());
  REQUIRE(tree.make_symlink(under.at("outside"), under.at("v/l")).ok());
  REQUIRE(tree.make_directories(under.at("targets"), 0755).ok());
  const uint64_t outside = tree.info(under.at("outside/e"))->inode;
  const uint64_t inside = tree.info(under.at("v/d/e"))->inode;
  std::atomic<bool> stop{false};
  std::thread swapper([&] {
    const std::string d = under.at("v/d");
    const std::string l = under.at("v/l");
    while (!stop) ::renameat2(AT_FDCWD, d.c_str(), AT_FDCWD, l.c_str(), RENAME_EXCHANGE);
  });

  int bound = 0;
  int refused = 0;
  for (int i = 0; i < 3000 || (bound == 0 && i < 10'000'000); ++i) {
    const absl::Status done = tree.bind_beneath(under.at("v"), "d/e", under.at("targets/t"), 0750, false);
    if (!done.ok()) {
      ++refused;
      continue;
    }
    const uint64_t seen = tree.info(under.at("targets/t"))->inode;
    CHECK(seen != outside);
    CHECK(seen == inside);
    ++bound;
    REQUIRE(tree.unmount(under.at("targets/t"), true).ok());
  }
  stop = true;
  swapper.join();

  MESSAGE("bound " << bound << ", refused " << refused);
  CHECK(bound > 0);
}

TEST_CASE("a tree is removed while its directories are exchanged for links, and what is outside stays") {
  RealTreeUnderTest under;
  Tree& tree = under.tree();
  REQUIRE(tree.make_directories(under.at("outside"), 0755).ok());
  std::atomic<bool> stop{false};
  std::thread swapper([&] {
    const std::string d = under.at("v/d");
    const std::string l = under.at("v/l");
    while (!stop) ::renameat2(AT_FDCWD, d.c_str(), AT_FDCWD, l.c_str(), RENAME_EXCHANGE);
  });

  for (int i = 0; i < 300; ++i) {
    REQUIRE(tree.make_directories(under.at("v"), 0755).ok());
    REQUIRE(tree.make_symlink(under.at("outside"), under.at("v/l")).ok());
    (void)::mkdir(under.at("v/d").c_str(), 0755);
    for (int k = 0; k < 5; ++k) (void)!tree.write(under.at(fmt::format("v/d/{}", k)), "", 0600).ok();
    for (int k = 0; k < 5; ++k) (void)!tree.write(under.at(fmt::format("outside/{}", k)), "", 0600).ok();
    while (!tree.remove_tree(under.at("v")).ok()) {
    }
    CHECK(tree.list(under.at("outside"))->size() == 5);
  }
  stop = true;
  swapper.join();
}

TEST_CASE("mountinfo is parsed with its escapes, options and propagation") {
  const auto entries = parse_mountinfo(
      "36 35 98:0 /mnt1 /mnt\\0402 rw,noatime master:1 - ext3 /dev/root rw,errors=continue\n"
      "37 35 98:0 / /x ro,noatime shared:7 master:1 - tmpfs tmp\\134fs rw,size=4k\n"
      "38 35 98:0 / /y rw - nfs srv:/d\n"
      "short line\n"
      "39 35 98:0 / /z rw shared:1\n");

  REQUIRE(entries.size() == 3);
  CHECK(entries[0].mountpoint == "/mnt 2");
  CHECK(entries[0].source == "/dev/root");
  CHECK(entries[0].options == std::vector<std::string>{"rw", "noatime", "errors=continue"});
  CHECK_FALSE(entries[0].shared);
  CHECK(entries[1].source == "tmp\\fs");
  CHECK(entries[1].options == std::vector<std::string>{"ro", "noatime", "size=4k"});
  CHECK(entries[1].shared);
  CHECK(entries[2].fs_type == "nfs");
  CHECK(entries[2].options == std::vector<std::string>{"rw"});
}

TEST_CASE("mountinfo of kMountInfoBytes is parsed, and one broken in any place does no harm") {
  const std::string line = "36 35 98:0 / /mnt\\040x rw,noatime shared:1 - overlay none rw,lowerdir=/a:/b\n";
  std::string text;
  while (text.size() + line.size() <= limits::kMountInfoBytes) text += line;
  CHECK(parse_mountinfo(text).size() == text.size() / line.size());

  for (std::size_t cut = 0; cut <= line.size(); ++cut) {
    const auto entries = parse_mountinfo(line.substr(0, cut));
    CHECK(entries.size() <= 1);
    (void)parse_mountinfo(line.substr(cut));
  }
  CHECK(parse_mountinfo("\\ \\0 \\04 - \\\n- - - - - - - - -\n\n\n").size() <= 1);
}
