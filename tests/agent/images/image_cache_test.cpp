#include "agent/images/image_cache.h"

#include <doctest/doctest.h>

#include "base/co/scope.h"
#include "base/co/sim_loop.h"
#include "cri/fake/fake_runtime.h"
#include "tests/agent/sample_pods.h"

namespace podwright::images {
namespace {

using namespace std::chrono_literals;
using cri::Method;

pods::PodPtr with_image(const std::string& image, const std::string& policy = "", const std::string& uid = "u1") {
  auto pod = std::make_shared<core::Pod>(*a_pod("{containers: [{name: a, image: '" + image + "'" +
                                                (policy.empty() ? "" : ", imagePullPolicy: " + policy) + "}]}"));
  pod->mutable_metadata()->set_uid(uid);
  pod->mutable_metadata()->set_name("web-" + uid);
  return pod;
}

struct ImagesWorld {
  explicit ImagesWorld(Options options = {}) : cache(loop, runtime, events, steps, options), scope(loop) {}
  ~ImagesWorld() { run_to_end(loop, end()); }

  struct Asked {
    std::optional<absl::StatusOr<ImageOutcome>> result;
    Instant ended;
    bool has_image() const { return result && result->ok() && !(*result)->wait; }
    // The waiting reason; "" where there is an image, "?" where nothing is decided.
    std::string reason() const {
      if (!result) return "?";
      if (!result->ok()) return "error: " + std::string(result->status().message());
      return (*result)->wait ? (*result)->wait->reason : "";
    }
    std::string message() const { return (*result)->wait->message; }
  };
  static Co<void> ask(ImagesWorld* self, pods::PodPtr pod, std::optional<cri::Auth> auth, std::shared_ptr<Asked> into) {
    auto container = pods::containers_of(pod).at(0);
    into->result = co_await self->cache.ensure(pod, container, cri::SandboxConfig{}, auth);
    into->ended = self->loop.now();
  }
  // Begins to ask; the answer comes while time passes.
  std::shared_ptr<Asked> begin(const pods::PodPtr& pod, std::optional<cri::Auth> auth = std::nullopt,
                               Scope* owner = nullptr) {
    auto asked = std::make_shared<Asked>();
    (owner == nullptr ? scope : *owner).spawn("ensure", ask(this, pod, std::move(auth), asked));
    return asked;
  }
  Asked ensure(const pods::PodPtr& pod, Duration within = 1h) {
    const auto asked = begin(pod);
    CHECK(loop.run_until_true([&asked] { return asked->result.has_value(); }, loop.now() + within));
    return *asked;
  }
  // "Warning Failed: text|...": what was told since the last call.
  std::string told() {
    std::string text;
    for (const auto& event : events.list()) {
      if (std::stoull(event->metadata().resourceversion()) <= told_until) continue;
      text += fmt::format("{}{} {}: {}", text.empty() ? "" : "|", event->type(), event->reason(), event->message());
    }
    told_until = events.version();
    return text;
  }
  int pulls() { return runtime.calls(Method::kPullImage); }
  Co<void> end() {
    co_await scope.close();
    co_await cache.close();
  }

  SimLoop loop;
  cri::FakeRuntime runtime{loop};
  events::EventRecorder events{loop, "n1"};
  Steps steps{loop.clock()};
  ImageCache cache;
  uint64_t told_until = 0;
  Scope scope;
};

TEST_CASE("IfNotPresent takes what is there, and pulls what is not") {
  ImagesWorld world;
  world.runtime.add_image("box:1", {.uid = 7});
  const auto there = world.ensure(with_image("box:1", "IfNotPresent"));
  REQUIRE(there.has_image());
  CHECK((*there.result)->ref == (*there.result)->image.id);
  CHECK((*there.result)->image.uid == 7);
  CHECK(world.pulls() == 0);
  CHECK(world.told() == "Normal Pulled: Container image \"box:1\" already present on machine");

  world.runtime.set_image_script("box:2", {.pull_takes = 1500ms, .size_bytes = 123, .username = "nobody"});
  const auto pulled = world.ensure(with_image("box:2", "IfNotPresent"));
  REQUIRE(pulled.has_image());
  CHECK(!(*pulled.result)->ref.empty());
  CHECK((*pulled.result)->image.username == "nobody");
  CHECK(world.pulls() == 1);
  const std::string told = world.told();
  CHECK_MESSAGE(told.starts_with("Normal Pulling: Pulling image \"box:2\"|"
                                 "Normal Pulled: Successfully pulled image \"box:2\" in 1.5s (1.5"),
                told);
  CHECK(told.ends_with(" including waiting). Image size: 123 bytes."));
}

TEST_CASE("Always pulls though the image is there") {
  ImagesWorld world;
  world.runtime.add_image("box:1");
  CHECK(world.ensure(with_image("box:1", "Always")).has_image());
  CHECK(world.pulls() == 1);
}

TEST_CASE("Never takes only what is there, and looks again") {
  ImagesWorld world;
  const Instant begin = world.loop.now();
  const auto refused = world.ensure(with_image("box:1", "Never"));
  CHECK(refused.reason() == "ErrImageNeverPull");
  CHECK(refused.message() == "Container image \"box:1\" is not present with pull policy of Never");
  CHECK((*refused.result)->wait->retry_at > begin);
  CHECK(world.told() ==
        "Warning ErrImageNeverPull: Container image \"box:1\" is not present with pull policy of Never");
  world.runtime.add_image("box:1");
  CHECK(world.ensure(with_image("box:1", "Never")).has_image());
  CHECK(world.pulls() == 0);
}

TEST_CASE("without a policy the tag decides") {
  for (const auto& [image, pulls] : std::vector<std::pair<std::string, int>>{{"box", 1},
                                                                             {"box:latest", 1},
                                                                             {"registry.test:5000/box", 1},
                                                                             {"box:1", 0},
                                                                             {"registry.test:5000/box:1", 0}}) {
    CAPTURE(image);
    ImagesWorld world;
    world.runtime.add_image(*with_default_tag(image));
    auto pod = std::make_shared<core::Pod>(*with_image(image));
    pod->mutable_spec()->mutable_containers(0)->clear_imagepullpolicy();
    CHECK(world.ensure(pod).has_image());
    CHECK(world.pulls() == pulls);
  }
}

TEST_CASE("a malformed reference is told and never tried") {
  ImagesWorld world;
  const auto refused = world.ensure(with_image("Box::1"));
  CHECK(refused.reason() == "InvalidImageName");
  CHECK(!(*refused.result)->wait->retry_at);
  CHECK(world.told() ==
        "Warning InspectFailed: Failed to apply default image tag \"Box::1\": couldn't parse image name \"Box::1\": "
        "invalid reference format");
  CHECK(world.runtime.calls().empty());
}

TEST_CASE("a runtime that cannot tell what it has is asked again later") {
  ImagesWorld world;
  world.runtime.fail_next(Method::kImageStatus, absl::UnknownError("broken store"));
  const auto refused = world.ensure(with_image("box:1", "IfNotPresent"));
  CHECK(refused.reason() == "ImageInspectError");
  CHECK(refused.message() == "Failed to inspect image \"box:1\": broken store");
  REQUIRE((*refused.result)->wait->retry_at);
  CHECK(*(*refused.result)->wait->retry_at > world.loop.now());
  CHECK(world.told() == "Warning InspectFailed: Failed to inspect image \"box:1\": broken store");
}

TEST_CASE("an image whose user nobody can tell after the pull starts nothing") {
  ImagesWorld world;
  // The look before the pull goes well, the one after it does not.
  int looks = 0;
  cri::Fault fault;
  fault.method = Method::kImageStatus;
  fault.matches = [&looks](const cri::Call&) { return ++looks == 2; };
  fault.status = absl::UnknownError("broken store");
  world.runtime.faults().add(fault);
  CHECK(world.ensure(with_image("box:1", "IfNotPresent")).reason() == "ImageInspectError");
  CHECK(world.ensure(with_image("box:1", "IfNotPresent")).has_image());
}

TEST_CASE("a failed pull is tried again after 10 s, 20 s, 40 s ... 5 min, and told as back-off in between") {
  ImagesWorld world;
  world.runtime.set_image_script("box:1", {.pull_takes = 0s, .pull_error = absl::UnknownError("no such host")});
  const auto pod = with_image("box:1", "IfNotPresent");
  for (const auto delay : {10s, 20s, 40s, 80s, 160s, 300s, 300s}) {
    CAPTURE(delay.count());
    const auto failed = world.ensure(pod);
    CHECK(failed.reason() == "ErrImagePull");
    CHECK(failed.message() == "no such host");
    CHECK(world.told() ==
          "Normal Pulling: Pulling image \"box:1\"|Warning Failed: Failed to pull image \"box:1\": no such host|"
          "Warning Failed: Error: ErrImagePull");
    REQUIRE((*failed.result)->wait->retry_at);
    CHECK(*(*failed.result)->wait->retry_at == failed.ended + delay);

    world.loop.run_until(failed.ended + delay - 1s);
    const int pulls = world.pulls();
    const auto waiting = world.ensure(pod);
    CHECK(waiting.reason() == "ImagePullBackOff");
    CHECK(waiting.message() == "Back-off pulling image \"box:1\": ErrImagePull: no such host");
    CHECK(*(*waiting.result)->wait->retry_at == failed.ended + delay);
    CHECK(world.told() == "Normal BackOff: Back-off pulling image \"box:1\"");
    CHECK(world.pulls() == pulls);
    world.loop.run_until(failed.ended + delay);
  }
}

TEST_CASE("back-off is forgotten after a success, with its pod, and when it is old") {
  const auto first_delay = [](auto between) {
    ImagesWorld world;
    world.runtime.set_image_script("box:1", {.pull_error = absl::UnknownError("no")});
    const auto pod = with_image("box:1", "Always");
    (void)world.ensure(pod);
    world.loop.run_for(10s);
    (void)world.ensure(pod);
    between(world, pod);
    world.runtime.set_image_script("box:1", {.pull_error = absl::UnknownError("no")});
    const auto failed = world.ensure(pod);
    CHECK(failed.reason() == "ErrImagePull");
    return *(*failed.result)->wait->retry_at - failed.ended;
  };
  CHECK(first_delay([](ImagesWorld& world, const pods::PodPtr&) { world.loop.run_for(20s); }) == 40s);
  CHECK(first_delay([](ImagesWorld& world, const pods::PodPtr& pod) {
          world.loop.run_for(20s);
          world.runtime.set_image_script("box:1", {});
          CHECK(world.ensure(pod).has_image());
        }) == 10s);
  CHECK(first_delay([](ImagesWorld& world, const pods::PodPtr&) { world.cache.forget(PodUid("u1")); }) == 10s);
  CHECK(first_delay([](ImagesWorld& world, const pods::PodPtr&) { world.loop.run_for(601s); }) == 10s);
}

TEST_CASE("back-off is a pod's own, and an image's own") {
  ImagesWorld world;
  world.runtime.set_image_script("box:1", {.pull_error = absl::UnknownError("no")});
  CHECK(world.ensure(with_image("box:1", "Always", "u1")).reason() == "ErrImagePull");
  CHECK(world.ensure(with_image("box:1", "Always", "u2")).reason() == "ErrImagePull");
  CHECK(world.ensure(with_image("box:2", "Always", "u1")).has_image());
  CHECK(world.ensure(with_image("box:1", "Always", "u1")).reason() == "ImagePullBackOff");
}

TEST_CASE("an image that came by other ways ends the back-off for IfNotPresent") {
  ImagesWorld world;
  world.runtime.set_image_script("box:1", {.pull_error = absl::UnknownError("no")});
  const auto pod = with_image("box:1", "IfNotPresent");
  CHECK(world.ensure(pod).reason() == "ErrImagePull");
  world.runtime.add_image("box:1");
  CHECK(world.ensure(pod).has_image());
}

TEST_CASE("a reason that the runtime names is the waiting reason") {
  ImagesWorld world;
  world.runtime.set_image_script("box:1", {.pull_error = absl::UnknownError("RegistryUnavailable: refused")});
  const auto failed = world.ensure(with_image("box:1", "Always"));
  CHECK(failed.reason() == "RegistryUnavailable");
  CHECK(failed.message() == "image pull failed for box:1 because the registry is unavailable: refused");
  CHECK(world.told().ends_with("Warning Failed: Error: RegistryUnavailable"));
}

TEST_CASE("K89: a slow pull and a failing one hold nobody else") {
  ImagesWorld world;
  world.runtime.set_image_script("slow:1", {.pull_takes = 10min});
  world.runtime.set_image_script("bad:1", {.pull_takes = 10min, .pull_error = absl::UnknownError("no")});
  world.runtime.add_image("there:1");
  const auto slow = world.begin(with_image("slow:1", "IfNotPresent", "slow"));
  const auto bad = world.begin(with_image("bad:1", "IfNotPresent", "bad"));
  std::vector<std::shared_ptr<ImagesWorld::Asked>> others;
  for (int i = 0; i < 4; ++i) {
    const std::string image = "quick:" + std::to_string(i);
    world.runtime.set_image_script(image, {.pull_takes = 2s});
    others.push_back(world.begin(with_image(image, "IfNotPresent", "q" + std::to_string(i))));
  }
  others.push_back(world.begin(with_image("there:1", "Always", "there")));
  others.push_back(world.begin(with_image("there:1", "IfNotPresent", "there2")));
  world.loop.run_for(5s);
  for (const auto& other : others) CHECK(other->has_image());
  CHECK(slow->reason() == "?");
  CHECK(bad->reason() == "?");
  world.loop.run_for(10min);
  CHECK(slow->has_image());
  CHECK(bad->reason() == "ErrImagePull");
}

TEST_CASE("pulls at once are bounded") {
  for (const auto& [limit, expected] :
       std::vector<std::pair<std::optional<std::size_t>, int>>{{4, 4}, {1, 1}, {2, 2}, {std::nullopt, 10}}) {
    CAPTURE(expected);
    Options options;
    options.parallel_pulls = limit;
    options.pulls_per_second = 0;
    ImagesWorld world(options);
    std::vector<std::shared_ptr<ImagesWorld::Asked>> all;
    for (int i = 0; i < 10; ++i) {
      const std::string image = "box:" + std::to_string(i);
      world.runtime.set_image_script(image, {.pull_takes = 2s});
      all.push_back(world.begin(with_image(image, "IfNotPresent", "u" + std::to_string(i))));
    }
    world.loop.run_for(30s);
    for (const auto& one : all) CHECK(one->has_image());
    CHECK(world.runtime.most_at_once(Method::kPullImage) == expected);
  }
}

TEST_CASE("the same image for 50 pods is pulled once") {
  ImagesWorld world;
  world.runtime.set_image_script("box:1", {.pull_takes = 2s});
  std::vector<std::shared_ptr<ImagesWorld::Asked>> all;
  for (int i = 0; i < 50; ++i) all.push_back(world.begin(with_image("box:1", "IfNotPresent", "u" + std::to_string(i))));
  world.loop.run_for(3s);
  for (const auto& one : all) CHECK(one->has_image());
  CHECK(world.pulls() == 1);
}

TEST_CASE("a pull that fails fails for all who waited, each with its own back-off") {
  ImagesWorld world;
  world.runtime.set_image_script("box:1", {.pull_takes = 2s, .pull_error = absl::UnknownError("no")});
  const auto one = world.begin(with_image("box:1", "IfNotPresent", "u1"));
  const auto two = world.begin(with_image("box:1", "IfNotPresent", "u2"));
  world.loop.run_for(3s);
  CHECK(one->reason() == "ErrImagePull");
  CHECK(two->reason() == "ErrImagePull");
  world.cache.forget(PodUid("u1"));
  CHECK(world.ensure(with_image("box:1", "IfNotPresent", "u1")).reason() == "ErrImagePull");
  CHECK(world.ensure(with_image("box:1", "IfNotPresent", "u2")).reason() == "ImagePullBackOff");
}

TEST_CASE("S21: a pull is shared only by those with the same credentials") {
  ImagesWorld world;
  world.runtime.set_image_script("box:1", {.pull_takes = 2s});
  cri::Auth mine;
  mine.username = "me";
  mine.password = "secret";
  const auto one = world.begin(with_image("box:1", "IfNotPresent", "u1"), mine);
  const auto two = world.begin(with_image("box:1", "IfNotPresent", "u2"), mine);
  const auto three = world.begin(with_image("box:1", "IfNotPresent", "u3"));
  world.loop.run_for(5s);
  CHECK(one->has_image());
  CHECK(two->has_image());
  CHECK(three->has_image());
  CHECK(world.pulls() == 2);
}

TEST_CASE("who is told to go on leaves at once; the pull goes on for the others and ends with the last") {
  ImagesWorld world;
  world.runtime.set_image_script("box:1", {.pull_takes = 10min});
  Scope first(world.loop);
  Scope second(world.loop);
  const auto one = world.begin(with_image("box:1", "IfNotPresent", "u1"), std::nullopt, &first);
  const auto two = world.begin(with_image("box:1", "IfNotPresent", "u2"), std::nullopt, &second);
  world.loop.run_for(60s);
  CHECK(world.cache.pull_in_flight("box:1") == "pull of box:1: in flight since 59s");
  CHECK(world.cache.pull_in_flight("box:2").empty());

  first.cancel();
  world.loop.run_for(1s);
  REQUIRE(one->result);
  CHECK(absl::IsCancelled(one->result->status()));
  CHECK(!world.cache.pull_in_flight("box:1").empty());

  second.cancel();
  world.loop.run_for(1s);
  REQUIRE(two->result);
  CHECK(absl::IsCancelled(two->result->status()));
  CHECK(world.cache.pull_in_flight("box:1").empty());

  // One who comes later has a pull of his own, and no back-off for what was only left.
  const auto three = world.begin(with_image("box:1", "IfNotPresent", "u1"));
  world.loop.run_for(11min);
  CHECK(three->has_image());
}

TEST_CASE("a cancelled pull gives its place to the next") {
  Options options;
  options.parallel_pulls = 1;
  ImagesWorld world(options);
  world.runtime.set_image_script("slow:1", {.pull_takes = 10min});
  Scope first(world.loop);
  const auto slow = world.begin(with_image("slow:1", "IfNotPresent", "u1"), std::nullopt, &first);
  world.loop.run_for(1s);
  const auto next = world.begin(with_image("quick:1", "IfNotPresent", "u2"));
  world.loop.run_for(1s);
  CHECK(!next->result);
  CHECK(world.cache.pull_in_flight("quick:1") == "pull of quick:1: queued since 0s");
  first.cancel();
  world.loop.run_for(1s);
  CHECK(next->has_image());
}

TEST_CASE("K90: beyond the rate limit pulls wait in a queue, and none fails") {
  Options options;
  options.parallel_pulls = std::nullopt;
  ImagesWorld world(options);
  const Instant begin = world.loop.now();
  std::vector<std::shared_ptr<ImagesWorld::Asked>> all;
  for (int i = 0; i < 50; ++i) {
    const std::string image = "box:" + std::to_string(i);
    world.runtime.set_image_script(image, {.pull_takes = 100ms});
    all.push_back(world.begin(with_image(image, "IfNotPresent", "u" + std::to_string(i))));
  }
  world.loop.run_for(500ms);
  CHECK(world.pulls() <= 13);
  world.loop.run_for(10s);
  Instant last = begin;
  for (const auto& one : all) {
    CHECK(one->has_image());
    last = std::max(last, one->ended);
  }
  CHECK(last - begin >= 7s);
  CHECK(last - begin <= 9s);
  CHECK(world.told().find("Warning") == std::string::npos);
}

TEST_CASE("while the runtime is away a pull fails like any other, and is told") {
  ImagesWorld world;
  world.runtime.set_image_script("box:1", {.pull_takes = 10s});
  const auto asked = world.begin(with_image("box:1", "IfNotPresent"));
  world.loop.run_for(1s);
  world.runtime.down(5s);
  world.loop.run_for(1s);
  CHECK(asked->reason() == "ErrImagePull");
  CHECK(world.ensure(with_image("box:2", "IfNotPresent")).reason() == "ImageInspectError");
}

TEST_CASE("closing cancels every pull and leaves nothing behind") {
  ImagesWorld world;
  world.runtime.set_image_script("box:1", {.pull_takes = 10min});
  const auto asked = world.begin(with_image("box:1", "IfNotPresent"));
  world.loop.run_for(1s);
  run_to_end(world.loop, world.end());
  CHECK(absl::IsCancelled(asked->result->status()));
  CHECK(world.cache.pull_in_flight("box:1").empty());
}

}  // namespace
}  // namespace podwright::images
