#include "agent/images/collection_plan.h"

#include <doctest/doctest.h>

#include "agent/images/image_collector.h"
#include "base/co/scope.h"
#include "base/co/sim_loop.h"
#include "cri/fake/fake_runtime.h"

using namespace podwright;
using namespace podwright::images;
using namespace std::chrono_literals;

namespace {

const Instant kNow{10'000s};

cri::Image an_image(const std::string& id, const std::string& tag, uint64_t bytes = 100) {
  cri::Image image;
  image.id = id;
  image.repo_tags = {tag};
  image.size_bytes = bytes;
  return image;
}

std::vector<std::string> ids(const std::vector<cri::Image>& images) {
  std::vector<std::string> all;
  for (const cri::Image& image : images) all.push_back(image.id);
  return all;
}

}  // namespace

TEST_CASE("an image is used by its ID, its tag, and a tag as people write it") {
  const cri::Image image = an_image("sha256:1", "docker.io/library/box:1");

  CHECK(is_used(image, {"sha256:1"}));
  CHECK(is_used(image, {"docker.io/library/box:1"}));
  CHECK(is_used(image, {"box:1"}));
  CHECK_FALSE(is_used(image, {"ox:1"}));
  CHECK_FALSE(is_used(image, {"box:2"}));
  CHECK_FALSE(is_used(an_image("x", "evil.test/box:1"), {"box:1"}));
}

TEST_CASE("used, pinned and young images stay, and the longest unused goes first") {
  std::vector<cri::Image> images = {an_image("used", "a:1"), an_image("pinned", "b:1"), an_image("young", "c:1"),
                                    an_image("lately", "d:1"), an_image("never", "e:1")};
  images[1].pinned = true;
  ImageAges ages = {{"used", {Instant::min(), kNow}},
                    {"pinned", {Instant::min(), Instant::min()}},
                    {"young", {kNow - 1min, Instant::min()}},
                    {"lately", {Instant::min(), kNow - 10min}},
                    {"never", {kNow - 1h, Instant::min()}}};

  CHECK(ids(removable(images, {"a:1"}, ages, 2min, kNow)) == std::vector<std::string>{"never", "lately"});
}

TEST_CASE("an image's age counts from its last use, and of one unused since the start from the start") {
  const std::vector<cri::Image> images = {an_image("old", "a:1"), an_image("lately", "b:1")};
  const ImageAges ages = {{"old", {Instant::min(), Instant::min()}}, {"lately", {Instant::min(), kNow - 10min}}};

  CHECK(ids(too_old(images, ages, 1h, kNow - 2h, kNow)) == std::vector<std::string>{"old"});
  CHECK(too_old(images, ages, 1h, kNow - 30min, kNow).empty());
  CHECK(too_old(images, ages, 0s, kNow - 100h, kNow).empty());
}

TEST_CASE("nothing is freed below the high mark, and from it on down to the low one") {
  const CollectionOptions options;

  CHECK(bytes_to_free(1000, 160, options) == 0);
  CHECK(bytes_to_free(1000, 150, options) == 50);
  CHECK(bytes_to_free(1000, 0, options) == 200);
  CHECK(bytes_to_free(0, 0, options) == 0);
}

TEST_CASE("ages follow what is there and what is used") {
  ImageAges ages;
  note_images({an_image("a", "a:1"), an_image("b", "b:1")}, {"a:1"}, true, kNow, ages);
  note_images({an_image("a", "a:1"), an_image("c", "c:1")}, {}, false, kNow + 1min, ages);

  CHECK(ages.size() == 2);
  CHECK(ages.at("a").first_seen == Instant::min());
  CHECK(ages.at("a").last_used == kNow);
  CHECK(ages.at("c").first_seen == kNow + 1min);
}

TEST_CASE("the sandbox image is found in containerd's status, and a status without one has none") {
  cri::RuntimeStatus status;
  CHECK(sandbox_image(status).empty());
  status.info["config"] = R"({"containerd": {"x": 1}, "sandboxImage": "registry.test/pause:3.9"})";
  CHECK(sandbox_image(status) == "registry.test/pause:3.9");
  status.info["config"] = "no json";
  CHECK(sandbox_image(status).empty());
}

namespace {

struct CollectorNode {
  SimLoop loop;
  cri::FakeRuntime runtime{loop};
  events::EventRecorder events{loop, "node-1"};
  Steps steps{loop.clock()};
  FsStat fs{.capacity_bytes = 1000, .available_bytes = 500};
  std::vector<std::string> wanted;
  CollectionOptions options;
  std::unique_ptr<ImageCollector> collector;

  Co<absl::StatusOr<FsStat>> look() { co_return fs; }
  void start() {
    options.minimum_age = 0s;
    collector = std::make_unique<ImageCollector>(
        loop, runtime, runtime, events, steps, options,
        CollectorSources{.image_fs = [this] { return look(); }, .wanted = [this] { return wanted; }});
  }
  Co<bool> never() { co_return false; }
  std::vector<std::string> left() {
    const auto images = run_and_get(loop, runtime.list(loop.now() + 1s));
    REQUIRE(images.ok());
    std::vector<std::string> tags;
    for (const cri::Image& image : *images) tags.insert(tags.end(), image.repo_tags.begin(), image.repo_tags.end());
    return tags;
  }
};

}  // namespace

TEST_CASE("images go only where the disk is full, and those that pods name stay") {
  CollectorNode node;
  node.runtime.add_image("registry.test/a:1");
  node.runtime.add_image("registry.test/b:1");
  node.wanted = {"registry.test/b:1"};
  node.start();

  CHECK(run_and_get(node.loop, node.collector->collect()).ok());
  CHECK(node.left().size() == 2);

  node.fs.available_bytes = 100;
  (void)run_and_get(node.loop, node.collector->collect());
  CHECK(node.left() == std::vector<std::string>{"registry.test/b:1"});
  CHECK(node.collector->removed().at("space") == 1);
}

TEST_CASE("a disk that images cannot free is told as an error and an event") {
  CollectorNode node;
  node.fs.available_bytes = 10;
  node.start();

  const absl::Status status = run_and_get(node.loop, node.collector->collect());

  CHECK(absl::IsResourceExhausted(status));
  REQUIRE_FALSE(node.events.list().empty());
  CHECK(node.events.list().back()->reason() == "FreeDiskSpaceFailed");
}

TEST_CASE("one image that cannot be removed keeps none of the others") {
  CollectorNode node;
  node.runtime.add_image("registry.test/a:1");
  node.runtime.add_image("registry.test/b:1");
  node.runtime.fail_next(cri::Method::kRemoveImage, absl::InternalError("in use"), 1);
  node.start();

  const auto removed = run_and_get(node.loop, node.collector->remove_unused([&node] { return node.never(); }));

  REQUIRE(removed.ok());
  CHECK(*removed == 1);
  CHECK(node.left().size() == 1);
}
