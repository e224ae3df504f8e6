#include <doctest/doctest.h>

#include <cerrno>

#include "tests/agent/volumes/volumes_world.h"

namespace podwright::volumes {
namespace {

using namespace std::chrono_literals;

const std::string kConfigMap = kPodDir + "/volumes/kubernetes.io~configmap/v";
const std::string kSecret = kPodDir + "/volumes/kubernetes.io~secret/v";
const std::string kProjected = kPodDir + "/volumes/kubernetes.io~projected/v";

Co<void> setup_into(PodVolumes& volumes, pods::PodPtr pod, std::vector<pods::VolumeRecord>* records, Instant deadline,
                    std::optional<absl::Status>* into) {
  *into = co_await volumes.setup(std::move(pod), PodFacts{}, records, deadline);
}

TEST_CASE("configMap and secret volumes hold their objects, and containers cannot write them (S2)") {
  VolumesWorld world;
  world.put_config_map("one", "{data: {a: '1'}, binaryData: {b: Mg==}}");
  world.put_secret("two", "{data: {k: Mw==}}");
  auto pod = world.pod("configMap: {name: one}");
  world.set_up(pod);
  CHECK(world.read(kConfigMap + "/a") == "1");
  CHECK(world.read(kConfigMap + "/b") == "2");
  CHECK(world.mode(kConfigMap + "/a") == 0644);
  CHECK(world.mode(kConfigMap) == 0755);
  CHECK(world.mount(pod).readonly);
  CHECK(world.records == std::vector<pods::VolumeRecord>{{"v", "kubernetes.io/configmap", kConfigMap, false}});

  world.records.clear();
  pod = world.pod("secret: {secretName: two, defaultMode: 0400}", "readOnly: false");
  world.set_up(pod);
  CHECK(world.read(kSecret + "/k") == "3");
  CHECK(world.mode(kSecret + "/k") == 0400);
  CHECK(world.mount(pod).readonly);
}

TEST_CASE("with fsGroup the group may read") {
  VolumesWorld world;
  world.put_secret("two", "{data: {k: Mw==}}");
  world.set_up(world.pod("secret: {secretName: two, defaultMode: 0400, items: [{key: k, path: d/k}]}", "",
                         "securityContext: {fsGroup: 2000}"));
  CHECK(world.mode(kSecret + "/d/k") == 0440);
  for (const std::string& path : {kSecret + "/d/k", kSecret + "/d", kSecret}) {
    CAPTURE(path);
    CHECK(world.tree.info_followed(path)->gid == 2000);
  }
  CHECK(world.mode(kSecret) == 02755);
  CHECK(world.mode(kSecret + "/d") == 02755);
}

TEST_CASE("a projected volume joins its sources, the later ones winning") {
  VolumesWorld world;
  world.put_config_map("one", "{data: {a: '1', b: '1'}}");
  world.put_secret("two", "{data: {b: Mg==}}");
  world.set_up(
      world.pod("projected: {defaultMode: 0440, sources: [{configMap: {name: one}}, {secret: {name: two}},"
                " {downwardAPI: {items: [{path: d/name, fieldRef: {fieldPath: metadata.name}}]}},"
                " {secret: {name: none, optional: true}}]}"));
  CHECK(world.read(kProjected + "/a") == "1");
  CHECK(world.read(kProjected + "/b") == "2");
  CHECK(world.read(kProjected + "/d/name") == "web");
  CHECK(world.mode(kProjected + "/a") == 0440);
}

TEST_CASE("a service account token needs an API server, and says so") {
  VolumesWorld world;
  world.put_config_map("one", "{data: {a: '1'}}");
  const absl::Status refused = world.setup(world.pod("projected: {sources: [{serviceAccountToken: {path: token}}]}"));
  CHECK(absl::IsUnimplemented(refused));
  CHECK(std::string(refused.message()).find("without an API server") != std::string::npos);
}

TEST_CASE("an optional object that is missing is an empty volume, until it comes") {
  VolumesWorld world;
  world.put_config_map("other", "{data: {a: '1'}}");
  const auto pod = world.pod("configMap: {name: one, optional: true}");
  world.set_up(pod);
  CHECK(world.names(kConfigMap).find(" a") == std::string::npos);
  world.put_config_map("one", "{data: {a: '1'}}");
  REQUIRE(world.update(pod).ok());
  CHECK(world.read(kConfigMap + "/a") == "1");
}

TEST_CASE("K69: a pod waits for a missing object by its coming, names it meanwhile, and goes on at once") {
  VolumesWorld world;
  world.put_config_map("other", "{data: {a: '1'}}");
  const auto pod = world.pod("secret: {secretName: late}");
  Scope scope(world.loop);
  std::optional<absl::Status> done;
  scope.spawn("setup", setup_into(*world.volumes, pod, &world.records, world.loop.now() + 120s, &done));
  world.loop.run_for(90s);
  CHECK(!done);
  CHECK(world.volumes->waiting_for(PodUid("u1")) ==
        "MountVolume.SetUp failed for volume \"v\" : secret \"late\" not found");
  const uint64_t steps = world.loop.steps();
  world.loop.run_for(20s);
  CHECK(world.loop.steps() == steps);

  world.put_secret("late", "{data: {k: Mw==}}");
  world.loop.run_for(1s);
  REQUIRE(done);
  CHECK(done->ok());
  CHECK(world.read(kSecret + "/k") == "3");
  CHECK(world.volumes->waiting_for(PodUid("u1")).empty());
}

TEST_CASE("a missing key is waited for too, and so are objects that are not read yet") {
  VolumesWorld world;
  const auto pod = world.pod("configMap: {name: one, items: [{key: k, path: k}]}");
  Scope scope(world.loop);
  std::optional<absl::Status> done;
  scope.spawn("setup", setup_into(*world.volumes, pod, &world.records, world.loop.now() + 120s, &done));
  world.loop.run_for(1s);
  CHECK(!done);
  CHECK(world.volumes->waiting_for(PodUid("u1")).find("has not been read yet") != std::string::npos);
  world.put_config_map("one", "{data: {a: '1'}}");
  world.loop.run_for(1s);
  CHECK(!done);
  CHECK(world.volumes->waiting_for(PodUid("u1")).find("non-existent key: k") != std::string::npos);
  world.put_config_map("one", "{data: {k: '1'}}");
  world.loop.run_for(1s);
  REQUIRE(done);
  CHECK(done->ok());
}

TEST_CASE("a wait for an object ends with its time, or with the pod") {
  VolumesWorld world;
  world.put_config_map("other", "{data: {a: '1'}}");
  const auto pod = world.pod("configMap: {name: none}");
  const Instant begin = world.loop.now();
  const absl::Status late = world.setup(pod, 30s);
  CHECK(absl::IsFailedPrecondition(late));
  CHECK(std::string(late.message()) == "MountVolume.SetUp failed for volume \"v\" : configmap \"none\" not found");
  CHECK(world.loop.now() - begin >= 30s);
  CHECK(world.volumes->waiting_for(PodUid("u1")).empty());

  Scope scope(world.loop);
  std::optional<absl::Status> done;
  scope.spawn("setup", setup_into(*world.volumes, pod, &world.records, Instant::max(), &done));
  world.loop.run_for(1s);
  scope.cancel();
  world.loop.run_for(1s);
  REQUIRE(done);
  CHECK(absl::IsCancelled(*done));
  CHECK(world.volumes->waiting_for(PodUid("u1")).empty());
}

TEST_CASE("what a failing disk says is no wait for an object") {
  VolumesWorld world;
  world.put_config_map("one", "{data: {a: '1'}}");
  for (const int error : {ENOSPC, EIO, ENOTDIR, EBUSY, EROFS}) {
    CAPTURE(error);
    world.tree.fail(kConfigMap, error);
    const Instant begin = world.loop.now();
    CHECK(!world.setup(world.pod("configMap: {name: one}"), 60s).ok());
    CHECK(world.loop.now() - begin < 1s);
    world.tree.heal(kConfigMap);
  }
  world.set_up(world.pod("configMap: {name: one}"));
}

TEST_CASE("K68: an update is one swap a version, and none where nothing differs") {
  VolumesWorld world;
  world.put_config_map("one", "{data: {a: '1', b: '1'}}");
  const auto pod = world.pod("configMap: {name: one}");
  world.set_up(pod);
  const auto first = *world.tree.read_symlink(kConfigMap + "/..data");
  REQUIRE(world.update(pod).ok());
  CHECK(*world.tree.read_symlink(kConfigMap + "/..data") == first);

  world.put_config_map("one", "{data: {a: '2', c: '2'}}");
  REQUIRE(world.update(pod).ok());
  CHECK(*world.tree.read_symlink(kConfigMap + "/..data") != first);
  CHECK(world.read(kConfigMap + "/a") == "2");
  CHECK(world.read(kConfigMap + "/b") == "-");
  CHECK(world.read(kConfigMap + "/c") == "2");
  CHECK(!world.exists(kConfigMap + "/" + first));
}

TEST_CASE("an object that goes away leaves its files in force") {
  VolumesWorld world;
  world.put_config_map("one", "{data: {a: '1'}}");
  const auto pod = world.pod("configMap: {name: one}");
  world.set_up(pod);
  world.set.config_maps.clear();
  world.objects.replace(world.set);
  CHECK(std::string(world.update(pod).message()) == "update volume \"v\": configmap \"one\" not found");
  CHECK(world.read(kConfigMap + "/a") == "1");
}

TEST_CASE("one volume that cannot be updated does not hold the others") {
  VolumesWorld world;
  world.put_config_map("one", "{data: {a: '1'}}");
  world.put_config_map("two", "{data: {a: '1'}}");
  const auto pod = a_pod(
      "{containers: [{name: a, image: 'i:1'}],"
      " volumes: [{name: w, configMap: {name: two}}, {name: v, configMap: {name: one}}]}");
  world.set_up(pod);
  world.set.config_maps.erase({"default", "two"});
  world.put_config_map("one", "{data: {a: '2'}}");
  CHECK(!world.update(pod).ok());
  CHECK(world.read(kConfigMap + "/a") == "2");
}

TEST_CASE("labels change in the volume that shows them") {
  VolumesWorld world;
  const std::string source = "downwardAPI: {items: [{path: labels, fieldRef: {fieldPath: metadata.labels}}]}";
  world.set_up(world.pod(source, "", "", "labels: {a: '1'}"));
  const std::string path = kPodDir + "/volumes/kubernetes.io~downward-api/v/labels";
  CHECK(world.read(path) == "a=\"1\"");
  REQUIRE(world.update(world.pod(source, "", "", "labels: {a: '2'}")).ok());
  CHECK(world.read(path) == "a=\"2\"");
}

TEST_CASE("a path in items that would leave the volume is refused") {
  VolumesWorld world;
  world.put_config_map("one", "{data: {a: '1'}}");
  for (const char* path : {"../x", "/x", "a/../../x"}) {
    CAPTURE(std::string(path));
    CHECK(absl::IsInvalidArgument(
        world.setup(world.pod(std::string("configMap: {name: one, items: [{key: a, path: '") + path + "'}]}"))));
  }
  CHECK(!world.exists(kPodDir + "/volumes/kubernetes.io~configmap/x"));
}

}  // namespace
}  // namespace podwright::volumes
