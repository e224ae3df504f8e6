#include "pleg/relist.h"

#include <doctest/doctest.h>

#include "cri/fake/samples.h"

namespace podwright::pleg {
namespace {

using Kind = PodEvent::Kind;

const PodUid kPod{"web"};

AllStates with_container(Seen seen) {
  AllStates all;
  if (seen != Seen::kGone) all[kPod].containers["c"] = seen;
  return all;
}

TEST_CASE("each change of a container's state gives its events") {
  struct Row {
    Seen before, now;
    std::vector<Kind> kinds;
  };
  const Row rows[] = {
      {Seen::kGone, Seen::kGone, {}},
      {Seen::kGone, Seen::kUnknown, {Kind::kChanged}},
      {Seen::kGone, Seen::kRunning, {Kind::kStarted}},
      {Seen::kGone, Seen::kExited, {Kind::kDied}},
      {Seen::kUnknown, Seen::kUnknown, {}},
      {Seen::kUnknown, Seen::kRunning, {Kind::kStarted}},
      {Seen::kUnknown, Seen::kExited, {Kind::kDied}},
      {Seen::kUnknown, Seen::kGone, {Kind::kDied, Kind::kRemoved}},
      {Seen::kRunning, Seen::kUnknown, {Kind::kChanged}},
      {Seen::kRunning, Seen::kRunning, {}},
      {Seen::kRunning, Seen::kExited, {Kind::kDied}},
      {Seen::kRunning, Seen::kGone, {Kind::kDied, Kind::kRemoved}},
      {Seen::kExited, Seen::kUnknown, {Kind::kChanged}},
      {Seen::kExited, Seen::kRunning, {Kind::kStarted}},
      {Seen::kExited, Seen::kExited, {}},
      {Seen::kExited, Seen::kGone, {Kind::kRemoved}},
  };
  for (const Row& row : rows) {
    CAPTURE(static_cast<int>(row.before));
    CAPTURE(static_cast<int>(row.now));

    const auto events = generate_events(with_container(row.before), with_container(row.now));

    std::vector<PodEvent> wanted;
    for (const Kind kind : row.kinds) wanted.push_back({kPod, kind, "c"});
    CHECK(events == wanted);
  }
}

TEST_CASE("a sandbox that comes, ends or goes is a change of the sandbox") {
  const auto with_sandbox = [](Seen seen) {
    AllStates all;
    if (seen != Seen::kGone) all[kPod].sandboxes["s"] = seen;
    return all;
  };
  const std::vector<PodEvent> changed = {{kPod, Kind::kSandboxChanged, "s"}};

  CHECK(generate_events(with_sandbox(Seen::kGone), with_sandbox(Seen::kRunning)) == changed);
  CHECK(generate_events(with_sandbox(Seen::kRunning), with_sandbox(Seen::kExited)) == changed);
  CHECK(generate_events(with_sandbox(Seen::kExited), with_sandbox(Seen::kGone)) == changed);
  CHECK(generate_events(with_sandbox(Seen::kRunning), with_sandbox(Seen::kRunning)).empty());
}

TEST_CASE("each pod has its own events") {
  AllStates before, now;
  before[PodUid("a")].containers["x"] = Seen::kRunning;
  now[PodUid("a")].containers["x"] = Seen::kRunning;
  before[PodUid("b")].containers["y"] = Seen::kRunning;
  now[PodUid("b")].containers["y"] = Seen::kExited;
  now[PodUid("c")].containers["z"] = Seen::kRunning;

  const auto events = generate_events(before, now);

  CHECK(events == std::vector<PodEvent>{{PodUid("b"), Kind::kDied, "y"}, {PodUid("c"), Kind::kStarted, "z"}});
}

TEST_CASE("states come from the lists, and what is no pod's is left out") {
  cri::SandboxStatus sandbox;
  sandbox.id = SandboxId("s");
  sandbox.uid = kPod;
  sandbox.state = cri::SandboxState::kReady;
  cri::SandboxStatus foreign_sandbox;
  foreign_sandbox.id = SandboxId("f");
  std::vector<cri::ContainerStatus> containers;
  for (const auto state : {cri::ContainerState::kCreated, cri::ContainerState::kRunning, cri::ContainerState::kExited,
                           cri::ContainerState::kUnknown}) {
    cri::ContainerStatus container;
    container.id = ContainerId(std::to_string(containers.size()));
    container.state = state;
    container.labels = cri::a_sandbox("web").labels;
    containers.push_back(container);
  }
  cri::ContainerStatus foreign;
  foreign.id = ContainerId("g");
  containers.push_back(foreign);

  const AllStates all = states_of({sandbox, foreign_sandbox}, containers);

  REQUIRE(all.size() == 1);
  CHECK(all.at(kPod).sandboxes == std::map<std::string, Seen>{{"s", Seen::kRunning}});
  CHECK(all.at(kPod).containers ==
        std::map<std::string, Seen>{
            {"0", Seen::kUnknown}, {"1", Seen::kRunning}, {"2", Seen::kExited}, {"3", Seen::kUnknown}});
}

}  // namespace
}  // namespace podwright::pleg
