#include "agent/events/event_recorder.h"

#include <doctest/doctest.h>

#include "base/co/sim_loop.h"
#include "tests/agent/sample_pods.h"

namespace podwright::events {
namespace {

using namespace std::chrono_literals;

pods::PodPtr a_named_pod(const std::string& name) {
  auto pod = std::make_shared<core::Pod>(*a_pod("{containers: [{name: a, image: 'i:1'}]}"));
  pod->mutable_metadata()->set_name(name);
  pod->mutable_metadata()->set_uid("uid-" + name);
  return pod;
}

struct Recorded {
  Recorded() {
    events.send_to([this](EventChange change) { sent.push_back(std::move(change)); });
  }
  void record(const std::string& reason, const std::string& message, const pods::PodPtr& about = nullptr,
              const std::string& field_path = "") {
    events.record(about ? *about : *pod, field_path, kWarning, reason, message);
  }
  // "Reason x2: message|...", oldest first.
  std::string told() {
    std::string text;
    for (const auto& event : events.list()) {
      text += fmt::format("{}{} x{}: {}", text.empty() ? "" : "|", event->reason(), event->count(), event->message());
    }
    return text;
  }

  SimLoop loop;
  EventRecorder events{loop, "n1"};
  pods::PodPtr pod = a_named_pod("web");
  std::vector<EventChange> sent;
};

TEST_CASE("an event says what it is about, who tells it, and when") {
  Recorded world;
  world.events.record(*world.pod, "spec.containers{a}", kNormal, "Pulled", "text");
  REQUIRE(world.events.list().size() == 1);
  const core::Event& event = *world.events.list()[0];
  CHECK(event.involvedobject().kind() == "Pod");
  CHECK(event.involvedobject().apiversion() == "v1");
  CHECK(event.involvedobject().namespace_() == "default");
  CHECK(event.involvedobject().name() == "web");
  CHECK(event.involvedobject().uid() == "uid-web");
  CHECK(event.involvedobject().fieldpath() == "spec.containers{a}");
  CHECK(event.type() == "Normal");
  CHECK(event.reason() == "Pulled");
  CHECK(event.message() == "text");
  CHECK(event.count() == 1);
  CHECK(event.source().component() == "kubelet");
  CHECK(event.source().host() == "n1");
  CHECK(event.reportingcomponent() == "kubelet");
  CHECK(event.reportinginstance() == "n1");
  CHECK(event.metadata().namespace_() == "default");
  CHECK(event.metadata().name().starts_with("web."));
  CHECK(event.firsttimestamp().seconds() == 1'767'225'600);
  CHECK(event.lasttimestamp().seconds() == 1'767'225'600);
}

TEST_CASE("an event about the node") {
  Recorded world;
  world.events.record_node(kWarning, "Rebooted", "text");
  const core::Event& event = *world.events.list().at(0);
  CHECK(event.involvedobject().kind() == "Node");
  CHECK(event.involvedobject().name() == "n1");
  CHECK(event.involvedobject().uid().empty());
  CHECK(event.metadata().namespace_() == "default");
  world.events.set_node_uid("node-uid");
  world.events.record_node(kWarning, "Other", "text");
  CHECK(world.events.list().at(1)->involvedobject().uid() == "node-uid");
}

TEST_CASE("an event that repeats is counted, keeps its name and first time, and moves to the end") {
  Recorded world;
  world.record("BackOff", "again");
  world.record("Other", "text");
  const std::string name = world.events.list()[0]->metadata().name();
  world.loop.run_for(90s);
  world.record("BackOff", "again");
  CHECK(world.told() == "Other x1: text|BackOff x2: again");
  const core::Event& event = *world.events.list()[1];
  CHECK(event.metadata().name() == name);
  CHECK(event.lasttimestamp().seconds() - event.firsttimestamp().seconds() == 90);
  REQUIRE(world.sent.size() == 3);
  CHECK(!world.sent[0].repeated);
  CHECK(world.sent[2].repeated);
  CHECK(world.sent[2].event->count() == 2);
  // What was handed out before is not changed.
  CHECK(world.sent[0].event->count() == 1);
}

TEST_CASE("events differ by object, container, type, reason and message") {
  Recorded world;
  world.record("R", "m");
  world.record("R", "m", a_named_pod("other"));
  world.record("R", "m", nullptr, "spec.containers{a}");
  world.record("R", "m2");
  world.record("R2", "m");
  world.events.record(*world.pod, kNormal, "R", "m");
  CHECK(world.events.list().size() == 6);
  std::set<std::string> names;
  for (const auto& event : world.events.list()) names.insert(event->metadata().name());
  CHECK(names.size() == 6);
}

TEST_CASE("every change has a version, which the event carries") {
  Recorded world;
  CHECK(world.events.version() == 0);
  world.record("A", "m");
  world.record("B", "m");
  world.record("A", "m");
  CHECK(world.events.version() == 3);
  CHECK(world.events.list()[0]->metadata().resourceversion() == "2");
  CHECK(world.events.list()[1]->metadata().resourceversion() == "3");
}

TEST_CASE("ten different messages of one reason within ten minutes are told as one") {
  Recorded world;
  for (int i = 0; i < 9; ++i) world.record("Failed", "error " + std::to_string(i));
  CHECK(world.events.list().size() == 9);
  world.record("Failed", "error 9");
  world.record("Failed", "error 10", nullptr, "spec.containers{a}");
  CHECK(world.events.list().size() == 10);
  CHECK(world.events.list().back()->message() == "(combined from similar events): error 10");
  CHECK(world.events.list().back()->count() == 2);
  // Another reason, and another object, are not similar.
  world.record("Other", "error 11");
  world.record("Failed", "error 11", a_named_pod("other"));
  CHECK(world.events.list().size() == 12);

  world.loop.run_for(11min);
  world.record("Failed", "error 12");
  CHECK(world.events.list().back()->message() == "error 12");
}

TEST_CASE("one object may tell 25 events at once and one every five minutes, and takes nothing from others") {
  Recorded world;
  for (int i = 0; i < 100; ++i) world.record("R" + std::to_string(i), "m");
  CHECK(world.events.list().size() == 25);
  CHECK(world.events.dropped() == 75);
  world.record("R", "m", a_named_pod("other"));
  CHECK(world.events.list().size() == 26);
  world.loop.run_for(4min);
  world.record("late", "m");
  CHECK(world.events.list().size() == 26);
  world.loop.run_for(1min);
  world.record("late", "m");
  CHECK(world.events.list().size() == 27);
  world.record("late2", "m");
  CHECK(world.events.list().size() == 27);
  world.loop.run_for(24h);
  for (int i = 0; i < 100; ++i) world.record("S" + std::to_string(i), "m");
  CHECK(world.events.list().size() == 27 + 25);
}

TEST_CASE("S7: the ring keeps the newest thousand, and those that went are counted anew") {
  Recorded world;
  for (int i = 0; i < 3000; ++i) world.record("R", "m", a_named_pod("pod-" + std::to_string(i)));
  REQUIRE(world.events.list().size() == 1000);
  CHECK(world.events.list().front()->involvedobject().name() == "pod-2000");
  CHECK(world.events.list().back()->involvedobject().name() == "pod-2999");
  // One of those kept moves to the end and outlives the others.
  world.record("R", "m", a_named_pod("pod-2000"));
  world.record("R", "m", a_named_pod("pod-0"));
  CHECK(world.events.list().size() == 1000);
  CHECK(world.events.list().back()->count() == 1);
  CHECK(world.events.list().front()->involvedobject().name() == "pod-2002");
}

TEST_CASE("S7: a message has at most 1,024 bytes and is cut between characters") {
  Recorded world;
  world.record("R", std::string(5000, 'x'));
  CHECK(world.events.list()[0]->message().size() == 1024);
  world.record("S", std::string(1023, 'x') + "äöü");
  CHECK(world.events.list()[1]->message() == std::string(1023, 'x'));
  for (int i = 0; i < 12; ++i) world.record("T", std::to_string(i) + std::string(2000, 'x'));
  CHECK(world.events.list().back()->message().size() == 1024);
  CHECK(world.events.list().back()->message().starts_with("(combined from similar events): "));
}

TEST_CASE("a container's ID is told as its name, so that repeats are seen") {
  Recorded world;
  world.events.name_container(ContainerId("abc123"), ContainerName("app"));
  world.events.name_container(ContainerId("def456"), ContainerName("app"));
  world.record("Failed", "stop abc123: abc123 is gone");
  world.record("Failed", "stop def456: def456 is gone");
  CHECK(world.told() == "Failed x2: stop app: app is gone");
  world.events.forget_container(ContainerId("abc123"));
  world.record("Failed", "stop abc123: abc123 is gone");
  CHECK(world.events.list().back()->message() == "stop abc123: abc123 is gone");
}

TEST_CASE("who waits is woken by the next event") {
  Recorded world;
  CHECK(run_and_get(world.loop, world.events.changed(world.loop.now() + 5s)) == Wait::kLate);
  world.loop.call_at(world.loop.now() + 1s, [&world] { world.record("R", "m"); });
  CHECK(run_and_get(world.loop, world.events.changed(world.loop.now() + 5s)) == Wait::kRung);
}

TEST_CASE("a wall clock that steps back changes neither counting nor limits") {
  Recorded world;
  for (int i = 0; i < 30; ++i) world.record("R" + std::to_string(i), "m");
  world.loop.clock().step_wall(-2h);
  world.record("late", "m");
  CHECK(world.events.list().size() == 25);
  world.loop.run_for(5min);
  world.record("R0", "m");
  CHECK(world.events.list().back()->count() == 2);
}

}  // namespace
}  // namespace podwright::events
