#include "agent/kube/reflector.h"

#include "tests/agent/kube/kube_world.h"

namespace podwright::kube {
namespace {

// An informer of ConfigMaps at work, and what its handlers were told.
struct Watching : KubeWorld {
  explicit Watching(uint64_t seed = 1, ReflectorOptions options = {}, Selection selection = {})
      : KubeWorld(seed), informer(loop, steps, server, std::move(selection), options), scope(loop) {
    informer.add_handlers({
        .added = [this](const auto& now) { told.push_back("+" + now->metadata().name()); },
        .updated = [this](
                       const auto&,
                       const auto& now) { told.push_back("~" + now->metadata().name() + "=" + now->data().at("k")); },
        .deleted = [this](const auto& last) { told.push_back("-" + last->metadata().name()); },
    });
  }
  void start() { scope.spawn("informer", informer.run()); }
  bool synced() {
    return soon([this] { return informer.has_synced(); });
  }
  std::string value_of(const std::string& name) const {
    const auto found = informer.find({"ns", name});
    return found == nullptr ? "none" : found->data().at("k");
  }
  using Told = std::vector<std::string>;

  Informer<core::ConfigMap> informer;
  Told told;
  Scope scope;
};

TEST_CASE("a streaming list gives all objects at once, and the same watch goes on") {
  Watching world;
  world.server.put(a_map("a"));
  world.server.put(a_map("b"));
  world.start();
  CHECK(world.told.empty());

  REQUIRE(world.synced());
  CHECK(world.told == Watching::Told{"+a", "+b"});
  world.server.put(a_map("a", "2"));
  world.server.put(a_map("c"));
  world.server.erase<core::ConfigMap>({"ns", "b"});
  REQUIRE(world.soon([&] { return world.told.size() == 5; }));

  CHECK(world.told == Watching::Told{"+a", "+b", "~a=2", "+c", "-b"});
  CHECK(world.server.calls_of("list", "configmaps") == 0);
  CHECK(world.server.calls_of("watch", "configmaps") == 1);
}

TEST_CASE("a server without streaming lists is asked for pages") {
  Watching world(1, {.page = 2});
  world.server.set_streaming_lists(false);
  for (const char* name : {"a", "b", "c", "d", "e"}) world.server.put(a_map(name));
  world.start();

  REQUIRE(world.synced());
  CHECK(world.informer.size() == 5);
  CHECK(world.server.calls_of("list", "configmaps") == 3);
  world.server.put(a_map("f"));
  CHECK(world.soon([&] { return world.informer.size() == 6; }));
}

TEST_CASE("a watch that is cut goes on from the last version, without a new list") {
  Watching world;
  world.server.put(a_map("a"));
  world.start();
  REQUIRE(world.synced());

  world.server.set_down(true);
  world.loop.run_for(20s);
  CHECK(!world.informer.trouble().ok());
  world.server.put(a_map("a", "2"));
  world.server.put(a_map("a", "3"));
  world.server.set_down(false);

  REQUIRE(world.soon([&] { return world.value_of("a") == "3"; }));
  CHECK(world.told == Watching::Told{"+a", "~a=2", "~a=3"});
  CHECK(world.informer.reflector().lists() == 1);
  CHECK(world.informer.trouble().ok());
}

TEST_CASE("a version that is too old leads to one new list, whose differences are told") {
  for (const bool streaming : {true, false}) {
    Watching world;
    world.server.set_streaming_lists(streaming);
    world.server.put(a_map("a"));
    world.server.put(a_map("b"));
    world.start();
    REQUIRE(world.synced());

    world.server.set_down(true);
    world.loop.run_for(1s);
    world.server.put(a_map("a", "2"));
    world.server.erase<core::ConfigMap>({"ns", "b"});
    world.server.put(a_map("c"));
    world.server.compact();
    world.server.set_down(false);

    REQUIRE(world.soon([&] { return world.informer.find({"ns", "c"}) != nullptr; }));
    CHECK(world.told == Watching::Told{"+a", "+b", "-b", "~a=2", "+c"});
    CHECK(world.informer.reflector().lists() == 2);
  }
}

TEST_CASE("bookmarks move the version on, so that a quiet watch survives a compaction") {
  Watching world;
  world.server.put(a_map("a"));
  world.start();
  REQUIRE(world.synced());
  for (int i = 0; i < 10; ++i) world.server.put(a_bare_pod("p", "n"));
  world.server.send_bookmarks();
  world.loop.run_for(1s);
  world.server.compact();

  world.server.end_watches();
  world.loop.run_for(1min);
  world.server.put(a_map("a", "2"));

  REQUIRE(world.soon([&] { return world.value_of("a") == "2"; }));
  CHECK(world.informer.reflector().lists() == 1);
}

TEST_CASE("failures are retried with waits that grow and differ from node to node") {
  const auto tries_within = [](uint64_t seed, Duration time) {
    Watching world(seed);
    world.server.set_down(true);
    world.start();
    world.loop.run_for(time);
    return world.server.calls().size();
  };
  // 0.8 s doubling to 30 s, each up to twice as long: between 1 + 5 and 1 + 6 tries within a minute.
  CHECK(tries_within(1, 1min) <= 7);
  CHECK(tries_within(1, 1min) >= 5);
  CHECK(tries_within(1, 10min) <= 26);

  Watching one(1), two(2);
  for (auto* world : {&one, &two}) {
    world->server.set_down(true);
    world->start();
    world->loop.run_until_true([&] { return world->server.calls().size() == 4; }, Instant::max());
  }
  CHECK(one.loop.now() != two.loop.now());
}

TEST_CASE("a watch that ends at once each time is not asked for in a tight loop") {
  Watching world;
  world.start();
  REQUIRE(world.synced());
  world.server.forget_calls();
  for (int i = 0; i < 600; ++i) {
    world.server.end_watches();
    world.loop.run_for(100ms);
  }
  CHECK(world.server.calls_of("watch", "configmaps") < 20);
}

TEST_CASE("a server that hangs in the middle of a streaming list is given up and asked anew") {
  Watching world(1, {.answer = 10s});
  world.server.put(a_map("a"));
  int hung = 0;
  world.server.set_script([&](const FakeCall& call) {
    FakeFault fault;
    if (call.verb == "watch" && hung++ == 0) fault.delay = 1h;
    return fault;
  });
  world.start();

  REQUIRE(world.soon([&] { return world.informer.has_synced(); }, 1min));
  CHECK(world.informer.size() == 1);
}

TEST_CASE("only what is selected is seen, and what leaves the selection is gone") {
  Watching world(1, {}, {.ns = "ns", .label_selector = "app=web", .field_selector = ""});
  core::ConfigMap map = a_map("a");
  (*map.mutable_metadata()->mutable_labels())["app"] = "web";
  world.server.put(map);
  world.server.put(a_map("other"));
  world.start();
  REQUIRE(world.synced());
  CHECK(world.told == Watching::Told{"+a"});

  world.server.put(a_map("a"));

  REQUIRE(world.soon([&] { return world.told.size() == 2; }));
  CHECK(world.told == Watching::Told{"+a", "-a"});
}

TEST_CASE("a reflector ends when it is told to, wherever it is") {
  for (const Duration when : {0ms, 1ms, 100ms, 10000ms}) {
    Watching world;
    world.server.put(a_map("a"));
    world.server.set_script([](const FakeCall&) { return FakeFault{.delay = 50ms}; });
    world.start();
    world.loop.run_for(when);
    run_to_end(world.loop, world.scope.close());
    CHECK(world.loop.waiting() == 0);
  }
}

TEST_CASE("whatever is cut, lost and compacted, the copy is right in the end") {
  for (uint64_t seed = 1; seed <= 30; ++seed) {
    Watching world(seed, {.page = 3, .answer = 5s});
    SeededRng rng(seed);
    world.server.set_streaming_lists(rng.below(2) == 0);
    world.server.set_script([&rng](const FakeCall&) {
      FakeFault fault;
      fault.delay = std::chrono::milliseconds(rng.below(300));
      if (rng.below(10) == 0) fault.error = absl::UnavailableError("reset");
      return fault;
    });
    world.start();
    for (int i = 0; i < 200; ++i) {
      const std::string name = fmt::format("m{}", rng.below(8));
      switch (rng.below(10)) {
        case 0: world.server.compact(); break;
        case 1: world.server.break_watches(absl::UnavailableError("cut")); break;
        case 2: world.server.end_watches(); break;
        case 3: world.server.send_bookmarks(); break;
        case 4:
        case 5: world.server.erase<core::ConfigMap>({"ns", name}); break;
        default: world.server.put(a_map(name, fmt::format("{}", i)));
      }
      world.loop.run_for(std::chrono::milliseconds(rng.below(400)));
    }
    world.server.set_script(nullptr);
    world.loop.run_for(3min);

    std::set<std::string> names;
    for (const auto& map : world.informer.all()) {
      names.insert(map->metadata().name());
      const auto there = world.server.find<core::ConfigMap>(key_of(*map));
      REQUIRE_MESSAGE(there != nullptr, "seed ", seed, " has ", map->metadata().name());
      CHECK_MESSAGE(there->data().at("k") == map->data().at("k"), "seed ", seed);
    }
    CHECK_MESSAGE(names.size() == world.server.count<core::ConfigMap>(), "seed ", seed);
    // What the handlers were told adds up to the same.
    std::set<std::string> by_handlers;
    for (const std::string& one : world.told) {
      if (one[0] == '+') CHECK(by_handlers.insert(one.substr(1)).second);
      if (one[0] == '-') CHECK(by_handlers.erase(one.substr(1)) == 1);
    }
    CHECK_MESSAGE(by_handlers == names, "seed ", seed);
  }
}

}  // namespace
}  // namespace podwright::kube
