#include <doctest/doctest.h>

#include "tests/agent/volumes/volumes_world.h"

namespace podwright::volumes {
namespace {

const std::string kVolume = kPodDir + "/volumes/kubernetes.io~empty-dir/v";
const std::string kTarget = kPodDir + "/volume-subpaths/v/a/0";

TEST_CASE("a subPath is bound to a place of its own, which the runtime gets") {
  VolumesWorld world;
  const auto pod = world.pod("emptyDir: {}", "subPath: d/e");
  world.set_up(pod);
  world.make_file(kVolume + "/d/e/f", "x");
  CHECK(world.mount(pod).host_path == kTarget);
  CHECK(world.is_mount(kTarget));
  CHECK(world.read(kTarget + "/f") == "x");
}

TEST_CASE("a subPath that is not there becomes a directory with the volume's mode") {
  VolumesWorld world;
  const auto pod = world.pod("emptyDir: {}", "subPath: new/one");
  world.set_up(pod);
  (void)world.mount(pod);
  CHECK(world.mode(kVolume + "/new") == 0777);
  CHECK(world.mode(kVolume + "/new/one") == 0777);
}

TEST_CASE("a subPath may be a file, as a key of a configMap, and is read-only there") {
  VolumesWorld world;
  world.put_config_map("one", "{data: {k: '1'}}");
  const auto pod = world.pod("configMap: {name: one}", "subPath: k");
  world.set_up(pod);
  const cri::Mount mount = world.mount(pod);
  CHECK(mount.host_path == kTarget);
  CHECK(mount.readonly);
  CHECK(world.read(kTarget) == "1");
  CHECK(!world.tree.write(kTarget, "x", 0644).ok());
  // It does not see updates.
  world.put_config_map("one", "{data: {k: '2'}}");
  REQUIRE(world.update(pod).ok());
  CHECK(world.read(kTarget) == "1");
  // The next container does.
  (void)world.mount(pod);
  CHECK(world.read(kTarget) == "2");
}

TEST_CASE("the next container gets what the path leads to now, mounted once") {
  VolumesWorld world;
  const auto pod = world.pod("emptyDir: {}", "subPath: s");
  world.set_up(pod);
  world.make_file(kVolume + "/one/f", "1");
  world.make_file(kVolume + "/two", "2");
  REQUIRE(world.tree.make_symlink("one", kVolume + "/s").ok());
  (void)world.mount(pod);
  CHECK(world.read(kTarget + "/f") == "1");
  const std::size_t mounts = world.tree.mounts()->size();

  REQUIRE(world.tree.remove_file(kVolume + "/s").ok());
  REQUIRE(world.tree.make_symlink("two", kVolume + "/s").ok());
  (void)world.mount(pod);
  CHECK(world.read(kTarget) == "2");
  CHECK(world.tree.mounts()->size() == mounts);
}

TEST_CASE("K114: no subPath leads out of its volume") {
  for (const char* link : {"/", "/host", "..", "../../../../../../../../host", "d/../../../up"}) {
    CAPTURE(std::string(link));
    VolumesWorld world;
    const auto pod = world.pod("emptyDir: {}", "subPath: s");
    world.set_up(pod);
    world.make_file("/host/f", "secret");
    world.make_dir(kVolume + "/d");
    REQUIRE(world.tree.make_symlink(link, kVolume + "/s").ok());
    const auto refused = world.mounts(pod);
    REQUIRE(!refused.ok());
    CHECK(std::string(refused.status().message())
              .starts_with("failed to prepare subPath for volumeMount \"v\" of container \"a\": "));
    CHECK(!world.is_mount(kTarget));
  }
  for (const char* sub_path : {"..", "../x", "d/..", "d/../../x", "/etc", "/"}) {
    CAPTURE(std::string(sub_path));
    VolumesWorld world;
    const auto pod = world.pod("emptyDir: {}", std::string("subPath: ") + sub_path);
    world.set_up(pod);
    CHECK(absl::IsInvalidArgument(world.mounts(pod).status()));
  }
}

TEST_CASE("links that stay inside the volume work") {
  VolumesWorld world;
  const auto pod = world.pod("emptyDir: {}", "subPath: s/e");
  world.set_up(pod);
  world.make_file(kVolume + "/d/e/f", "x");
  REQUIRE(world.tree.make_symlink("d", kVolume + "/s").ok());
  (void)world.mount(pod);
  CHECK(world.read(kTarget + "/f") == "x");
}

TEST_CASE("subPathExpr takes the container's environment") {
  VolumesWorld world;
  const auto pod = world.pod("emptyDir: {}", "subPathExpr: \"$(A)/x\"");
  world.set_up(pod);
  (void)world.mount(pod, {{"A", "one"}});
  CHECK(world.exists(kVolume + "/one/x"));
  CHECK(absl::IsInvalidArgument(world.mounts(pod).status()));
  CHECK(absl::IsInvalidArgument(world.mounts(pod, "a", {{"A", ".."}}).status()));
  CHECK(absl::IsInvalidArgument(world.mounts(pod, "a", {{"A", "/etc"}}).status()));
}

TEST_CASE("each mount of each container has its own place") {
  VolumesWorld world;
  const auto pod = a_pod(
      "{containers: [{name: a, image: 'i:1', volumeMounts: [{name: v, mountPath: /p, subPath: p},"
      " {name: v, mountPath: /q, subPath: q}]}, {name: b, image: 'i:1', volumeMounts: [{name: v, mountPath: /p,"
      " subPath: p}, {name: v, mountPath: relative}]}], volumes: [{name: v, emptyDir: {}}]}");
  world.set_up(pod);
  const auto a = world.mounts(pod, "a");
  const auto b = world.mounts(pod, "b");
  REQUIRE((a.ok() && b.ok()));
  CHECK(a->mounts[0].host_path == kPodDir + "/volume-subpaths/v/a/0");
  CHECK(a->mounts[1].host_path == kPodDir + "/volume-subpaths/v/a/1");
  CHECK(b->mounts[0].host_path == kPodDir + "/volume-subpaths/v/b/0");
  CHECK(b->mounts[1].host_path == kVolume);
  CHECK(b->mounts[1].container_path == "/relative");
}

TEST_CASE("how a mount is asked for is how the runtime is told") {
  VolumesWorld world;
  const auto propagation = [&world](const std::string& more) {
    return world.mount(world.pod("emptyDir: {}", more)).propagation;
  };
  CHECK(propagation("") == cri::Propagation::kPrivate);
  CHECK(propagation("mountPropagation: None") == cri::Propagation::kPrivate);
  CHECK(propagation("mountPropagation: HostToContainer") == cri::Propagation::kHostToContainer);
  CHECK(propagation("mountPropagation: Bidirectional") == cri::Propagation::kBidirectional);
  CHECK(world.mount(world.pod("emptyDir: {}", "readOnly: true, recursiveReadOnly: Enabled")).recursive_readonly);
  CHECK(!world.mount(world.pod("emptyDir: {}", "readOnly: true")).recursive_readonly);
}

TEST_CASE("an image volume is the runtime's own business") {
  VolumesWorld world;
  const auto pod = world.pod("image: {reference: 'i:2'}", "subPath: d");
  world.set_up(pod);
  CHECK(world.records.empty());
  const cri::Mount mount = world.mount(pod);
  CHECK(mount.image == "i:2");
  CHECK(mount.image_sub_path == "d");
  CHECK(mount.readonly);
  CHECK(mount.host_path.empty());
}

TEST_CASE("a mount of a volume that the pod lacks is refused") {
  VolumesWorld world;
  const auto pod = a_pod("{containers: [{name: a, image: 'i:1', volumeMounts: [{name: none, mountPath: /v}]}]}");
  CHECK(absl::IsInvalidArgument(world.mounts(pod).status()));
}

}  // namespace
}  // namespace podwright::volumes
