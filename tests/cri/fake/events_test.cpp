// What the fake runtime tells of its own accord.
#include <doctest/doctest.h>

#include "base/co/scope.h"
#include "tests/cri/fake/world_of_one.h"

namespace podwright::cri {
namespace {

using Kind = Event::Kind;

// A listener to the stream.
struct Heard {
  explicit Heard(WorldOfOne& one) : scope(one.loop) {
    scope.spawn("watch", one.runtime.watch([this](Event event) { events.push_back(std::move(event)); },
                                           [this](bool is_open) { open.push_back(is_open); }));
    one.loop.run_for(1ms);
  }
  int count(Kind kind, const std::string& id = "") const {
    return static_cast<int>(std::count_if(events.begin(), events.end(), [&](const Event& event) {
      return event.kind == kind && (id.empty() || event.id == id);
    }));
  }
  std::vector<Event> events;
  std::vector<bool> open;
  Scope scope;
};

TEST_CASE("a stream begins with a resync and tells a container's life in order") {
  WorldOfOne one;
  Heard heard(one);
  const ContainerId id = one.run("web", "app");

  one.runtime.exit_container(id, 137, true);
  one.loop.run_for(1s);
  CHECK(run_and_get(one.loop, one.runtime.remove_container(id, one.soon())).ok());
  one.loop.run_for(1s);

  CHECK(heard.open == std::vector<bool>{true});
  REQUIRE(!heard.events.empty());
  CHECK(heard.events.front().kind == Kind::kResync);
  std::vector<Kind> kinds;
  for (const auto& event : heard.events) {
    if (event.id == id.value) kinds.push_back(event.kind);
  }
  CHECK(kinds == std::vector<Kind>{Kind::kCreated, Kind::kStarted, Kind::kOom, Kind::kStopped, Kind::kDeleted});
  for (const auto& event : heard.events) {
    if (event.id == id.value && event.kind == Kind::kStopped) CHECK(event.exit_code == 137);
  }
}

TEST_CASE("what happens while the runtime is down is not told, and the stream comes back with a resync") {
  WorldOfOne one;
  const ContainerId id = one.run("web", "app");
  Heard heard(one);

  one.runtime.down(10s);
  one.loop.run_for(1s);
  one.runtime.exit_container(id, 1);
  one.loop.run_for(20s);

  CHECK(heard.open == std::vector<bool>{true, false, true});
  CHECK(heard.count(Kind::kStopped) == 0);
  CHECK(heard.count(Kind::kResync) == 2);
}

TEST_CASE("events are lost, doubled and overtaken by chance") {
  int lost = 0, doubled = 0, overtaken = 0;
  for (uint64_t seed = 1; seed <= 60; ++seed) {
    WorldOfOne one(seed);
    one.runtime.event_chances() = {0.3, 0.3, 0.3, 1s};
    Heard heard(one);
    const ContainerId id = one.run("web", "app");
    one.runtime.exit_container(id, 1);
    one.loop.run_for(5s);

    const int stopped = heard.count(Kind::kStopped, id.value);
    lost += stopped == 0 ? 1 : 0;
    doubled += stopped == 2 ? 1 : 0;
    bool ended = false;
    for (const auto& event : heard.events) {
      if (event.id != id.value) continue;
      ended = ended || event.kind == Kind::kStopped;
      overtaken += ended && event.kind != Kind::kStopped ? 1 : 0;
    }
  }
  CHECK(lost > 3);
  CHECK(doubled > 3);
  CHECK(overtaken > 3);
}

TEST_CASE("a cancelled watch ends") {
  WorldOfOne one;
  Heard heard(one);

  run_to_end(one.loop, heard.scope.close());

  CHECK(heard.scope.size() == 0);
  one.run("web", "app");
  CHECK(heard.count(Kind::kStarted) == 0);
}

}  // namespace
}  // namespace podwright::cri
