#include "agent/kube/informer.h"

#include "base/work_queue/work_queue.h"
#include "tests/agent/kube/kube_world.h"

namespace podwright::kube {
namespace {

Co<void> note_synced(Informer<core::ConfigMap>& informer, Instant deadline, std::optional<Wait>* into) {
  *into = co_await informer.wait_synced(deadline);
}

// A controller as it should be written: handlers mark keys, the worker reads the store.
Co<void> reconcile(Informer<core::ConfigMap>& informer, WorkQueue<ObjectKey>& queue,
                   std::map<std::string, std::string>* seen) {
  while (const auto key = co_await queue.get()) {
    const auto map = informer.find(*key);
    (*seen)[key->name] = map == nullptr ? "gone" : map->data().at("k");
    queue.forget(*key);
    queue.done(*key);
  }
}

TEST_CASE("a handler that comes late is told of all that is there first") {
  KubeWorld world;
  Informer<core::ConfigMap> informer(world.loop, world.steps, world.server);
  Scope scope(world.loop);
  world.server.put(a_map("a"));
  scope.spawn("informer", informer.run());
  REQUIRE(world.soon([&] { return informer.has_synced(); }));

  std::vector<std::string> told;
  const uint64_t number =
      informer.add_handlers({.added = [&](const auto& now) { told.push_back(now->metadata().name()); }});
  CHECK(told == std::vector<std::string>{"a"});
  world.server.put(a_map("b"));
  REQUIRE(world.soon([&] { return told.size() == 2; }));

  informer.remove_handlers(number);
  world.server.put(a_map("c"));
  REQUIRE(world.soon([&] { return informer.size() == 3; }));
  CHECK(told.size() == 2);
}

TEST_CASE("waiting for the first list ends with it, and not before") {
  KubeWorld world;
  Informer<core::ConfigMap> informer(world.loop, world.steps, world.server);
  Scope scope(world.loop);
  std::optional<Wait> late, rung, at_once;
  world.server.set_down(true);
  scope.spawn("informer", informer.run());
  scope.spawn("impatient", note_synced(informer, world.in(5s), &late));
  scope.spawn("patient", note_synced(informer, Instant::max(), &rung));

  world.loop.run_for(10s);
  CHECK(late == Wait::kLate);
  CHECK(!rung);
  world.server.set_down(false);
  REQUIRE(world.soon([&] { return rung.has_value(); }));

  CHECK(rung == Wait::kRung);
  scope.spawn("last", note_synced(informer, Instant::max(), &at_once));
  world.loop.run_for(1ms);
  CHECK(at_once == Wait::kRung);
}

TEST_CASE("handlers mark keys and a worker looks at each once things have settled") {
  KubeWorld world;
  Informer<core::ConfigMap> informer(world.loop, world.steps, world.server);
  WorkQueue<ObjectKey> queue(world.loop);
  std::map<std::string, std::string> seen;
  Scope scope(world.loop);
  informer.add_handlers({
      .added = [&](const auto& now) { queue.add(key_of(*now)); },
      .updated = [&](const auto&, const auto& now) { queue.add(key_of(*now)); },
      .deleted = [&](const auto& last) { queue.add(key_of(*last)); },
  });
  scope.spawn("informer", informer.run());
  scope.spawn("worker", reconcile(informer, queue, &seen));

  world.server.put(a_map("a"));
  world.server.put(a_map("b"));
  world.loop.run_for(1s);
  world.server.put(a_map("a", "2"));
  world.server.erase<core::ConfigMap>({"ns", "b"});
  world.loop.run_for(1s);

  CHECK(seen == std::map<std::string, std::string>{{"a", "2"}, {"b", "gone"}});
}

TEST_CASE("objects are found by what they say, by an index of the informer's users") {
  KubeWorld world;
  Informer<core::Pod> informer(world.loop, world.steps, world.server);
  informer.index_by("node", [](const core::Pod& pod) { return std::vector<std::string>{pod.spec().nodename()}; });
  Scope scope(world.loop);
  scope.spawn("informer", informer.run());
  world.server.put(a_bare_pod("a", "n1"));
  world.server.put(a_bare_pod("b", "n2"));

  REQUIRE(world.soon([&] { return informer.size() == 2; }));
  REQUIRE(informer.by_index("node", "n2").size() == 1);
  CHECK(informer.by_index("node", "n2")[0]->metadata().name() == "b");
}

}  // namespace
}  // namespace podwright::kube
