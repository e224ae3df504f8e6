#include <doctest/doctest.h>

#include "tests/agent/volumes/stopping_tree.h"
#include "tests/agent/volumes/volumes_world.h"

namespace podwright::volumes {
namespace {

const std::string kVolumes = kPodDir + "/volumes";
const std::string kEmptyDir = kVolumes + "/kubernetes.io~empty-dir/v";

const char* const kAllKinds =
    "{containers: [{name: a, image: 'i:1', volumeMounts: [{name: e, mountPath: /e, subPath: d},"
    " {name: c, mountPath: /c, subPath: k}, {name: t, mountPath: /t}]}],"
    " volumes: [{name: e, emptyDir: {}}, {name: t, emptyDir: {medium: Memory}}, {name: c, configMap: {name: one}},"
    " {name: s, secret: {secretName: two}}, {name: d, downwardAPI: {items: [{path: name, fieldRef: {fieldPath:"
    " metadata.name}}]}}, {name: p, projected: {sources: [{configMap: {name: one}}]}},"
    " {name: h, hostPath: {path: /h, type: DirectoryOrCreate}}]}";

struct FullWorld : VolumesWorld {
  FullWorld() {
    put_config_map("one", "{data: {k: '1'}}");
    put_secret("two", "{data: {k: MQ==}}");
    mounts_before = tree.mounts()->size();
    pod = a_pod(kAllKinds);
    set_up(pod);
    REQUIRE(mounts(pod).ok());
    make_file(kVolumes + "/kubernetes.io~empty-dir/e/d/deep/data", "x");
    make_file(kVolumes + "/kubernetes.io~empty-dir/t/data", "x");
    make_file("/h/data", "theirs");
    make_file(kPodDir + "/etc-hosts", "x");
    make_file(kPodDir + "/containers/a/1234", "message");
  }
  void check_gone() {
    CHECK(!exists(kPodDir));
    CHECK(exists("/var/lib/kubelet/pods"));
    CHECK(tree.mounts()->size() == mounts_before);
    CHECK(read("/h/data") == "theirs");
  }
  pods::PodPtr pod;
  std::size_t mounts_before = 0;
};

TEST_CASE("a teardown leaves nothing of a pod, and does it twice without harm") {
  FullWorld world;
  REQUIRE(world.teardown().ok());
  world.check_gone();
  CHECK(world.teardown().ok());
}

TEST_CASE("a pod that is known only by its directory goes as well") {
  FullWorld world;
  world.records.clear();
  world.start();
  REQUIRE(world.teardown().ok());
  world.check_gone();
}

TEST_CASE("a teardown that was cut anywhere is taken up where it stood, with or without its records") {
  for (const bool with_records : {true, false}) {
    bool finished = false;
    int changes = 0;
    for (; !finished; ++changes) {
      CAPTURE(changes);
      FullWorld world;
      StoppingTree mortal(world.tree, changes);
      PodVolumes first(world.loop, world.offload, mortal, world.processes, world.objects, world.steps, world.options);
      finished =
          run_and_get(world.loop, first.teardown(PodUid("u1"), world.records, world.loop.now() + std::chrono::hours(1)))
              .ok();
      if (!with_records) world.records.clear();
      REQUIRE(world.teardown().ok());
      world.check_gone();
    }
    CHECK(changes > 15);
  }
}

TEST_CASE("a setup that was cut anywhere is taken up where it stood") {
  bool finished = false;
  int changes = 0;
  for (; !finished; ++changes) {
    CAPTURE(changes);
    VolumesWorld world;
    world.put_config_map("one", "{data: {k: '1'}}");
    world.put_secret("two", "{data: {k: MQ==}}");
    const auto pod = a_pod(kAllKinds);
    StoppingTree mortal(world.tree, changes);
    PodVolumes first(world.loop, world.offload, mortal, world.processes, world.objects, world.steps, world.options);
    std::vector<pods::VolumeRecord> records;
    finished = run_and_get(world.loop, first.setup(pod, {}, &records, world.loop.now() + std::chrono::hours(1))).ok();
    world.set_up(pod);
    CHECK(world.mode(kVolumes + "/kubernetes.io~empty-dir/e") == 0777);
    CHECK(world.mode(kVolumes + "/kubernetes.io~empty-dir/t") == 0777);
    CHECK(world.is_mount(kVolumes + "/kubernetes.io~empty-dir/t"));
    CHECK(world.read(kVolumes + "/kubernetes.io~configmap/c/k") == "1");
    CHECK(world.read(kVolumes + "/kubernetes.io~secret/s/k") == "1");
    CHECK(world.read(kVolumes + "/kubernetes.io~downward-api/d/name") == "web");
    CHECK(world.mounts(pod).ok());
  }
  CHECK(changes > 20);
}

TEST_CASE("S2: a teardown follows no link") {
  VolumesWorld world;
  world.make_file("/host/deep/canary", "alive");
  world.put_config_map("one", "{data: {k: '1'}}");
  world.set_up(
      a_pod("{containers: [{name: a, image: 'i:1'}],"
            " volumes: [{name: v, emptyDir: {}}, {name: c, configMap: {name: one}}]}"));
  REQUIRE(world.tree.make_symlink("/host", kEmptyDir + "/link").ok());
  REQUIRE(world.tree.make_symlink("/host/deep/canary", kEmptyDir + "/file").ok());
  const std::string map = kVolumes + "/kubernetes.io~configmap/c";
  REQUIRE(world.tree.remove_file(map + "/..data").ok());
  REQUIRE(world.tree.make_symlink("/host", map + "/..data").ok());
  REQUIRE(world.tree.make_symlink("/host", kPodDir + "/containers/a").ok());
  REQUIRE(world.teardown().ok());
  CHECK(!world.exists(kPodDir));
  CHECK(world.read("/host/deep/canary") == "alive");
}

TEST_CASE("S2: what is mounted inside a volume is not emptied") {
  VolumesWorld world;
  world.make_file("/host/canary", "alive");
  world.set_up(world.pod("emptyDir: {}"));
  world.make_dir(kEmptyDir + "/m");
  REQUIRE(world.tree.bind_beneath("/host", "", kEmptyDir + "/m", 0755, false).ok());
  CHECK(!world.teardown().ok());
  CHECK(world.read("/host/canary") == "alive");
  REQUIRE(world.tree.unmount(kEmptyDir + "/m", false).ok());
  CHECK(world.teardown().ok());
  CHECK(world.read("/host/canary") == "alive");
}

TEST_CASE("a record that names a place outside the pod takes nothing down") {
  VolumesWorld world;
  world.make_file("/host/canary", "alive");
  for (const char* path : {"/host", "/", "/var/lib/kubelet/pods/u1/volumes/kubernetes.io~empty-dir/../../../../../host",
                           "/var/lib/kubelet/pods/u2/volumes/kubernetes.io~empty-dir/v"}) {
    CAPTURE(std::string(path));
    world.records = {{"v", "kubernetes.io/empty-dir", path, true}};
    CHECK(absl::IsInternal(world.teardown()));
    CHECK(world.read("/host/canary") == "alive");
  }
}

TEST_CASE("K63: what is left of other drivers' volumes is removed when empty, and kept when it holds anything") {
  struct Row {
    std::string name;
    bool gone;
  };
  const std::string remote = kVolumes + "/kubernetes.io~csi/pvc-1";
  VolumesWorld world;
  SUBCASE("an empty directory") {
    world.make_dir(remote);
    CHECK(world.teardown().ok());
    CHECK(!world.exists(kPodDir));
  }
  SUBCASE("a directory with a file and no mount") {
    world.make_file(remote + "/mount/data", "precious");
    const absl::Status kept = world.teardown();
    CHECK(!kept.ok());
    CHECK(std::string(kept.message()).find(remote) != std::string::npos);
    CHECK(world.read(remote + "/mount/data") == "precious");
  }
  SUBCASE("a live mount") {
    world.make_dir(remote);
    world.make_file("/host/data", "precious");
    REQUIRE(world.tree.bind_beneath("/host", "", remote, 0755, false).ok());
    const absl::Status kept = world.teardown();
    CHECK(absl::IsFailedPrecondition(kept));
    CHECK(std::string(kept.message()).find("is still mounted") != std::string::npos);
    CHECK(world.read("/host/data") == "precious");
  }
  SUBCASE("a regular file where a directory should be") {
    world.make_file(remote, "x");
    CHECK(!world.teardown().ok());
    CHECK(world.read(remote) == "x");
  }
  SUBCASE("a regular file in place of a kind") {
    world.make_file(kVolumes + "/kubernetes.io~csi", "x");
    CHECK(!world.teardown().ok());
  }
  SUBCASE("only a state file of a driver") {
    world.make_file(kPodDir + "/plugins/kubernetes.io~csi/pvc-1/vol_data.json", "{}");
    CHECK(world.teardown().ok());
    CHECK(!world.exists(kPodDir));
  }
  SUBCASE("mounts of subPaths") {
    world.make_file("/host/data", "precious");
    world.make_dir(kPodDir + "/volume-subpaths/pvc-1/a");
    REQUIRE(world.tree.bind_beneath("/host", "", kPodDir + "/volume-subpaths/pvc-1/a/0", 0755, false).ok());
    CHECK(world.teardown().ok());
    CHECK(!world.exists(kPodDir));
    CHECK(world.read("/host/data") == "precious");
  }
}

TEST_CASE("pods on disk are the directories below pods") {
  VolumesWorld world;
  CHECK(run_and_get(world.loop, world.volumes->pods_on_disk())->empty());
  world.make_dir("/var/lib/kubelet/pods/u1");
  world.make_dir("/var/lib/kubelet/pods/u2");
  world.make_file("/var/lib/kubelet/pods/note", "x");
  const auto found = run_and_get(world.loop, world.volumes->pods_on_disk());
  REQUIRE(found.ok());
  CHECK(*found == std::vector<PodUid>{PodUid("u1"), PodUid("u2")});
}

}  // namespace
}  // namespace podwright::volumes
