#include <doctest/doctest.h>

#include <cerrno>

#include "tests/agent/volumes/volumes_world.h"

namespace podwright::volumes {
namespace {

const std::string kEmptyDir = kPodDir + "/volumes/kubernetes.io~empty-dir/v";

std::string mount_options(VolumesWorld& world, const std::string& path) {
  const auto mounts = world.tree.mounts();
  for (const auto& mount : *mounts) {
    if (mount.mountpoint != path) continue;
    std::string text = mount.fs_type;
    for (const auto& option : mount.options) text += " " + option;
    return text;
  }
  return "-";
}

TEST_CASE("S11: an emptyDir on disk can be written by all, the pod's directories are closed") {
  VolumesWorld world;
  const auto pod = world.pod("emptyDir: {}");
  world.set_up(pod);
  CHECK(world.mode(kEmptyDir) == 0777);
  for (const char* below : {"", "/volumes", "/plugins", "/containers"}) CHECK(world.mode(kPodDir + below) == 0750);
  CHECK(world.records == std::vector<pods::VolumeRecord>{{"v", "kubernetes.io/empty-dir", kEmptyDir, false}});
  const cri::Mount mount = world.mount(pod);
  CHECK(mount.host_path == kEmptyDir);
  CHECK(mount.container_path == "/v");
  CHECK(!mount.readonly);
  CHECK(mount.selinux_relabel);
}

TEST_CASE("what containers did to their emptyDir stays when the next one starts, also over a restart of the agent") {
  VolumesWorld world;
  const auto pod = world.pod("emptyDir: {}", "", "securityContext: {fsGroup: 2000}");
  world.set_up(pod);
  CHECK(world.mode(kEmptyDir) == 02777);
  CHECK(world.tree.info(kEmptyDir)->gid == 2000);
  REQUIRE(world.tree.set_mode(kEmptyDir, 0700).ok());
  REQUIRE(world.tree.set_owner(kEmptyDir, 999, 999).ok());
  world.make_file(kEmptyDir + "/data", "kept");

  world.set_up(pod);
  world.start();
  world.set_up(pod);

  CHECK(world.mode(kEmptyDir) == 0700);
  CHECK(world.tree.info(kEmptyDir)->uid == 999);
  CHECK(world.read(kEmptyDir + "/data") == "kept");
  CHECK(world.records.size() == 1);
}

TEST_CASE("an emptyDir that was only half made is made in full") {
  VolumesWorld world;
  const auto pod = world.pod("emptyDir: {}");
  world.make_dir(kEmptyDir);
  world.set_up(pod);
  CHECK(world.mode(kEmptyDir) == 0777);
  REQUIRE(world.tree.remove_tree(kEmptyDir).ok());
  world.set_up(pod);
  CHECK(world.mode(kEmptyDir) == 0777);
}

TEST_CASE("K73: an emptyDir in memory is as large as the smallest bound") {
  for (const auto& [source, spec, expected] : {
           std::tuple{"emptyDir: {medium: Memory, sizeLimit: 16Mi}", "", "size=16777216"},
           std::tuple{"emptyDir: {medium: Memory}", "", "size=8589934592"},
           std::tuple{"emptyDir: {medium: Memory, sizeLimit: 16Gi}", "", "size=8589934592"},
           std::tuple{"emptyDir: {medium: Memory, sizeLimit: '0'}", "", "size=8589934592"},
           std::tuple{"emptyDir: {medium: Memory, sizeLimit: 16Mi}", "resources: {limits: {memory: 8Mi}}",
                      "size=8388608"},
       }) {
    CAPTURE(std::string(source));
    VolumesWorld world;
    world.set_up(world.pod(source, "", spec));
    CHECK(world.is_mount(kEmptyDir));
    const std::string options = mount_options(world, kEmptyDir);
    CHECK(options.starts_with("tmpfs"));
    CHECK_MESSAGE(options.find(expected) != std::string::npos, options);
    CHECK(world.mode(kEmptyDir) == 0777);
    CHECK(world.records.at(0).mounted);
  }
}

TEST_CASE("the bound of a memory emptyDir counts the containers' limits") {
  VolumesWorld world;
  world.set_up(
      a_pod("{containers: [{name: a, image: 'i:1', resources: {limits: {memory: 32Mi}}}],"
            " volumes: [{name: v, emptyDir: {medium: Memory}}]}"));
  CHECK(mount_options(world, kEmptyDir).find("size=33554432") != std::string::npos);
}

TEST_CASE("a memory emptyDir is kept out of swap where the kernel can") {
  VolumesWorld world;
  world.set_up(world.pod("emptyDir: {medium: Memory}"));
  CHECK(mount_options(world, kEmptyDir).find("noswap") != std::string::npos);
}

TEST_CASE("a memory emptyDir is mounted once, and again after a reboot") {
  VolumesWorld world;
  const auto pod = world.pod("emptyDir: {medium: Memory}");
  world.set_up(pod);
  world.make_file(kEmptyDir + "/data", "kept");
  world.set_up(pod);
  CHECK(world.read(kEmptyDir + "/data") == "kept");
  const std::size_t mounts = world.tree.mounts()->size();

  world.tree.power_cut();
  world.start();
  world.set_up(pod);
  CHECK(world.is_mount(kEmptyDir));
  CHECK(world.mode(kEmptyDir) == 0777);
  CHECK(world.read(kEmptyDir + "/data") == "-");
  CHECK(world.tree.mounts()->size() == mounts);
}

TEST_CASE("an emptyDir of huge pages") {
  VolumesWorld world;
  world.set_up(world.pod("emptyDir: {medium: HugePages-2Mi}"));
  const std::string options = mount_options(world, kEmptyDir);
  CHECK(options.starts_with("hugetlbfs"));
  CHECK(options.find("pagesize=2097152") != std::string::npos);
  VolumesWorld other;
  other.set_up(other.pod("emptyDir: {medium: HugePages}"));
  CHECK(mount_options(other, kEmptyDir).find("pagesize") == std::string::npos);
}

TEST_CASE("a medium that nobody knows is refused") {
  VolumesWorld world;
  CHECK(world.refusal(world.pod("emptyDir: {medium: Tape}")) ==
        "MountVolume.SetUp failed for volume \"v\" : emptyDir.medium: \"Tape\" is not known");
}

TEST_CASE("the types of a hostPath") {
  struct Row {
    std::string type, path, problem;
  };
  VolumesWorld world;
  world.make_dir("/h/dir");
  world.make_file("/h/file", "x");
  REQUIRE(world.tree.make_symlink("dir", "/h/to-dir").ok());
  REQUIRE(world.tree.make_symlink("file", "/h/to-file").ok());
  REQUIRE(world.tree.make_symlink("none", "/h/dangling").ok());
  REQUIRE(world.tree.make_node("/h/socket", FileType::kSocket, 0600).ok());
  REQUIRE(world.tree.make_node("/h/char", FileType::kCharDevice, 0600).ok());
  REQUIRE(world.tree.make_node("/h/block", FileType::kBlockDevice, 0600).ok());
  REQUIRE(world.tree.make_node("/h/fifo", FileType::kFifo, 0600).ok());
  for (const Row& row : std::vector<Row>{
           {"", "/h/none", ""},
           {"", "/h/fifo", ""},
           {"Directory", "/h/dir", ""},
           {"Directory", "/h/to-dir", ""},
           {"Directory", "/h/file", "/h/file is not a directory"},
           {"Directory", "/h/none", "/h/none is not a directory"},
           {"Directory", "/h/dangling", "/h/dangling is not a directory"},
           {"DirectoryOrCreate", "/h/dir", ""},
           {"DirectoryOrCreate", "/h/file", "/h/file is not a directory"},
           {"File", "/h/file", ""},
           {"File", "/h/to-file", ""},
           {"File", "/h/dir", "/h/dir is not a file"},
           {"File", "/h/fifo", "/h/fifo is not a file"},
           {"File", "/h/none", "/h/none is not a file"},
           {"FileOrCreate", "/h/file", ""},
           {"FileOrCreate", "/h/dir", "/h/dir is not a file"},
           {"Socket", "/h/socket", ""},
           {"Socket", "/h/file", "/h/file is not a socket"},
           {"CharDevice", "/h/char", ""},
           {"CharDevice", "/h/block", "/h/block is not a character device"},
           {"BlockDevice", "/h/block", ""},
           {"BlockDevice", "/h/char", "/h/char is not a block device"},
       }) {
    CAPTURE(row.type);
    CAPTURE(row.path);
    world.records.clear();
    const std::string problem = world.refusal(
        world.pod("hostPath: {path: " + row.path + (row.type.empty() ? "" : ", type: " + row.type) + "}"));
    CHECK(problem == (row.problem.empty()
                          ? ""
                          : "MountVolume.SetUp failed for volume \"v\" : hostPath type check failed: " + row.problem));
  }
  CHECK(!world.exists("/h/none"));
}

TEST_CASE("a hostPath is made where its type says so, and only then") {
  VolumesWorld world;
  world.set_up(world.pod("hostPath: {path: /h/a/b, type: DirectoryOrCreate}"));
  CHECK(world.mode("/h/a/b") == 0755);
  world.records.clear();
  world.set_up(world.pod("hostPath: {path: /h/f, type: FileOrCreate}"));
  CHECK(world.mode("/h/f") == 0644);
  CHECK(world.read("/h/f") == "");
}

TEST_CASE("a hostPath below a file fails at once, as no object can mend that") {
  VolumesWorld world;
  world.make_file("/h/file", "x");
  for (const char* type : {"Directory", "DirectoryOrCreate", "File", "FileOrCreate"}) {
    CAPTURE(std::string(type));
    world.records.clear();
    const Instant begin = world.loop.now();
    CHECK(!world.refusal(world.pod(std::string("hostPath: {path: /h/file/x, type: ") + type + "}")).empty());
    CHECK(world.loop.now() - begin < std::chrono::seconds(1));
  }
}

TEST_CASE("a hostPath is mounted as it is, relabelled never, and outlives its pod") {
  VolumesWorld world;
  world.make_file("/h/dir/f", "theirs");
  const auto pod = world.pod("hostPath: {path: /h/dir}", "readOnly: true, mountPropagation: HostToContainer");
  world.set_up(pod);
  const cri::Mount mount = world.mount(pod);
  CHECK(mount.host_path == "/h/dir");
  CHECK(mount.readonly);
  CHECK(mount.propagation == cri::Propagation::kHostToContainer);
  CHECK(!mount.selinux_relabel);
  REQUIRE(world.teardown().ok());
  CHECK(world.read("/h/dir/f") == "theirs");
  CHECK(!world.exists(kPodDir));
}

TEST_CASE("kinds that this node lacks are refused by name, and git is never run (K116)") {
  VolumesWorld world;
  for (const char* source : {"gitRepo: {repository: 'https://x.test/r.git', directory: a/b}",
                             "gitRepo: {repository: /etc}", "nfs: {server: s, path: /p}"}) {
    CAPTURE(std::string(source));
    world.records.clear();
    const absl::Status refused = world.setup(world.pod(source));
    CHECK(absl::IsUnimplemented(refused));
    CHECK(std::string(refused.message()).find("volume \"v\"") != std::string::npos);
  }
  CHECK(world.processes.requests().empty());
}

}  // namespace
}  // namespace podwright::volumes
