#include "agent/status/container_status.h"

#include <doctest/doctest.h>

#include "tests/agent/status/status_world.h"

namespace podwright::status {
namespace {

constexpr char kOne[] = "{containers: [{name: a, image: 'i:1'}]}";
constexpr char kInit[] = "{initContainers: [{name: i, image: 'i:1'}], containers: [{name: a, image: 'i:1'}]}";

core::ContainerStatus first(StatusWorld& world) {
  return world.status().containerstatuses(0);
}

TEST_CASE("a container that has not begun waits for its creation, or for the init containers") {
  StatusWorld plain(a_pod(kOne));
  const auto status = first(plain);
  CHECK(text_of(status.state()) == "Waiting ContainerCreating");
  CHECK(status.image() == "i:1");
  CHECK(status.imageid().empty());
  CHECK(status.containerid().empty());
  CHECK(status.restartcount() == 0);
  CHECK(!status.ready());
  CHECK(!status.started());

  StatusWorld with_init(a_pod(kInit));
  CHECK(text_of(first(with_init).state()) == "Waiting PodInitializing");
  CHECK(text_of(with_init.status().initcontainerstatuses(0).state()) == "Waiting PodInitializing");
}

TEST_CASE("a container that runs is ready where no probe says otherwise") {
  StatusWorld world(a_pod(kOne));
  world.seen.sandbox("s0").running("a", "c0", 2);
  world.seen.newest().started_at = WallTime(7s);
  world.seen.newest().image_ref = "sha256:abc";
  world.note("a").started = true;

  const auto status = first(world);

  CHECK(text_of(status.state()) == "Running");
  CHECK(status.state().running().startedat().seconds() == 7);
  CHECK(status.containerid() == "containerd://c0");
  CHECK(status.imageid() == "sha256:abc");
  CHECK(status.restartcount() == 2);
  CHECK(status.ready());
  CHECK(status.started());
}

TEST_CASE("K02: a container with a readiness probe is ready by its last verdict only") {
  StatusWorld world(a_pod("{containers: [{name: a, image: 'i:1', readinessProbe: {exec: {command: [t]}}}]}"));
  world.seen.sandbox("s0").running("a", "c0");
  CHECK(!first(world).ready());
  auto& rec = world.note("a");
  rec.started = true;
  CHECK(first(world).started());
  CHECK(!first(world).ready());
  rec.ready = true;
  CHECK(first(world).ready());
  world.terminal = true;
  CHECK(!first(world).ready());
}

TEST_CASE("a container with a startup probe is neither started nor ready before it passed") {
  StatusWorld world(a_pod("{containers: [{name: a, image: 'i:1', startupProbe: {exec: {command: [t]}}}]}"));
  world.seen.sandbox("s0").running("a", "c0");
  auto& rec = world.note("a");
  CHECK(!first(world).started());
  CHECK(!first(world).ready());
  rec.started = true;
  CHECK(first(world).started());
  CHECK(first(world).ready());
}

TEST_CASE("K03: what the record holds of an older container says nothing of a new one") {
  StatusWorld world(
      a_pod("{containers: [{name: a, image: 'i:1', startupProbe: {exec: {command: [t]}},"
            " readinessProbe: {exec: {command: [t]}}}]}"));
  world.seen.sandbox("s0").running("a", "c0");
  auto& rec = world.note("a");
  rec.started = rec.ready = true;
  world.seen.exited("a", "c0", 1).running("a", "c1", 1);
  CHECK(!first(world).started());
  CHECK(!first(world).ready());
}

TEST_CASE("an end is told as the runtime told it") {
  StatusWorld world(a_pod("{restartPolicy: Never, containers: [{name: a, image: 'i:1'}]}"));
  world.seen.sandbox("s0").exited("a", "c0", 128, 0, "StartError");
  auto& seen = world.seen.newest();
  seen.message = "no such file";
  seen.started_at = WallTime(5s);
  seen.finished_at = WallTime(6s);

  const auto status = first(world);

  CHECK(text_of(status.state()) == "Terminated 128 StartError");
  CHECK(status.state().terminated().message() == "no such file");
  CHECK(status.state().terminated().startedat().seconds() == 5);
  CHECK(status.state().terminated().finishedat().seconds() == 6);
  CHECK(status.state().terminated().containerid() == "containerd://c0");
}

TEST_CASE("in a crash loop the end moves to the last state and the wait says why") {
  StatusWorld world(a_pod(kOne));
  world.seen.sandbox("s0").exited("a", "c0", 1, 3);
  world.note("a");
  world.waiting[ContainerName("a")] = {"CrashLoopBackOff", "back-off 40s"};

  const auto status = first(world);

  CHECK(text_of(status.state()) == "Waiting CrashLoopBackOff");
  CHECK(status.state().waiting().message() == "back-off 40s");
  CHECK(text_of(status.laststate()) == "Terminated 1 Error");
  CHECK(status.restartcount() == 3);
}

TEST_CASE("a reason to wait does not hide a container that runs, and means nothing in a pod that is over") {
  StatusWorld world(a_pod(kOne));
  world.seen.sandbox("s0").running("a", "c0");
  world.waiting[ContainerName("a")] = {"CrashLoopBackOff", ""};
  CHECK(text_of(first(world).state()) == "Running");

  StatusWorld over(a_pod(kOne));
  over.seen.sandbox("s0").exited("a", "c0", 1);
  over.waiting[ContainerName("a")] = {"CrashLoopBackOff", ""};
  over.terminal = true;
  CHECK(text_of(first(over).state()) == "Terminated 1 Error");
}

TEST_CASE("the last state is the end before the newest instance") {
  StatusWorld world(a_pod(kOne));
  world.seen.sandbox("s0").exited("a", "c0", 3).exited("a", "c1", 4, 1).running("a", "c2", 2);
  const auto status = first(world);
  CHECK(text_of(status.state()) == "Running");
  CHECK(text_of(status.laststate()) == "Terminated 4 Error");

  // Also where the runtime has only the newest one left.
  StatusWorld forgotten(a_pod(kOne));
  forgotten.seen.sandbox("s0").exited("a", "c1", 4, 1);
  auto& rec = forgotten.note("a");
  rec.last_exit = std::exchange(rec.exit, std::nullopt);
  forgotten.seen = Seen();
  forgotten.seen.sandbox("s0").running("a", "c2", 2);
  forgotten.note("a");
  CHECK(text_of(first(forgotten).laststate()) == "Terminated 4 Error");
}

TEST_CASE("a container shows as being created until its postStart has ended") {
  StatusWorld world(
      a_pod("{containers: [{name: a, image: 'i:1', lifecycle: {postStart: {exec: {command: [x]}}}}]}"));
  world.seen.sandbox("s0").running("a", "c0");
  world.note("a").state = pods::InstanceState::kStarting;
  CHECK(text_of(first(world).state()) == "Waiting ContainerCreating");
  CHECK(!first(world).ready());
}

TEST_CASE("a created container waits without a reason of its own") {
  StatusWorld world(a_pod(kOne));
  world.seen.sandbox("s0").created("a", "c0");
  CHECK(first(world).state().has_waiting());
}

TEST_CASE("K35: a known end is kept when the runtime has forgotten the container") {
  StatusWorld world(a_pod("{restartPolicy: Never, containers: [{name: a, image: 'i:1'}]}"));
  world.seen.sandbox("s0").exited("a", "c0", 0);
  world.note("a").exit->finished_at = WallTime(9s);
  world.seen = Seen();
  for (const bool terminal : {false, true}) {
    world.terminal = terminal;
    const auto status = first(world);
    CHECK(text_of(status.state()) == "Terminated 0 Completed");
    CHECK(status.state().terminated().containerid() == "containerd://c0");
    CHECK(status.state().terminated().finishedat().seconds() == 9);
    CHECK(status.containerid() == "containerd://c0");
  }
}

TEST_CASE("a container that vanished while it ran is called unknown, in upstream's shape") {
  StatusWorld world(a_pod(kOne));
  auto& rec = world.record.containers[ContainerName("a")];
  rec.id = ContainerId("c0");
  rec.attempt = 2;
  rec.state = pods::InstanceState::kExited;
  rec.exit = pods::ExitRecord{.container = ContainerId("c0"),
                              .exit_code = 137,
                              .known = false,
                              .reason = "ContainerStatusUnknown",
                              .message = "The container could not be located when the pod was terminated",
                              .restart_count = 2};

  auto status = first(world);
  CHECK(text_of(status.state()) == "Waiting ContainerCreating");
  CHECK(text_of(status.laststate()) == "Terminated 137 ContainerStatusUnknown");
  CHECK(status.laststate().terminated().message() ==
        "The container could not be located when the pod was deleted.  The container used to be Running");
  CHECK(status.restartcount() == 2);

  world.terminal = true;
  status = first(world);
  CHECK(text_of(status.state()) == "Terminated 137 ContainerStatusUnknown");
  CHECK(status.state().terminated().message() == "The container could not be located when the pod was terminated");
}

TEST_CASE("an init container that is gone behind one that began is taken as done") {
  StatusWorld world(a_pod(kInit));
  world.seen.sandbox("s0").running("a", "c1");
  const auto status = world.status().initcontainerstatuses(0);
  CHECK(text_of(status.state()) == "Terminated 0 Completed");
  CHECK(status.state().terminated().message() ==
        "Unable to get init container status from container runtime and pod has been initialized, treat it as exited "
        "normally");
  CHECK(status.ready());
}

TEST_CASE("an init container is ready once it ended well") {
  StatusWorld world(a_pod(kInit));
  world.seen.sandbox("s0").running("i", "c0");
  CHECK(!world.status().initcontainerstatuses(0).ready());
  world.seen = Seen();
  world.seen.sandbox("s0").exited("i", "c0", 1);
  CHECK(!world.status().initcontainerstatuses(0).ready());
  world.seen = Seen();
  world.seen.sandbox("s0").exited("i", "c0", 0);
  CHECK(world.status().initcontainerstatuses(0).ready());
}

TEST_CASE("the termination message follows the runtime's, cut to the container's share of 12 KiB") {
  StatusWorld world(a_pod("{restartPolicy: Never, containers: [{name: a, image: 'i:1'}, {name: b, image: 'i:1'}]}"));
  world.seen.sandbox("s0").exited("a", "c0", 1);
  world.messages[ContainerId("c0")] = "from the file";
  CHECK(first(world).state().terminated().message() == "from the file");
  world.seen.newest().message = "from the runtime";
  CHECK(first(world).state().terminated().message() == "from the runtime: from the file");

  world.seen.newest().message.clear();
  world.messages[ContainerId("c0")] = std::string(6143, 'x') + "\u00e4";
  CHECK(first(world).state().terminated().message() == std::string(6143, 'x'));
}

TEST_CASE("regular and ephemeral containers are told by name, init containers in the order of the spec") {
  StatusWorld world(
      a_pod("{initContainers: [{name: z, image: 'i:1'}, {name: x, image: 'i:1'}],"
            " containers: [{name: b, image: 'i:1'}, {name: a, image: 'i:1'}],"
            " ephemeralContainers: [{name: f, image: 'i:1'}, {name: e, image: 'i:1'}]}"));
  const auto status = world.status();
  std::string names;
  for (const auto* list :
       {&status.initcontainerstatuses(), &status.containerstatuses(), &status.ephemeralcontainerstatuses()}) {
    for (const auto& one : *list) names += one.name();
  }
  CHECK(names == "zxabef");
}

TEST_CASE("an ephemeral container is never ready") {
  StatusWorld world(a_pod("{containers: [{name: a, image: 'i:1'}], ephemeralContainers: [{name: e, image: 'i:1'}]}"));
  world.seen.sandbox("s0").running("e", "c0");
  world.note("e").started = true;
  const auto status = world.status().ephemeralcontainerstatuses(0);
  CHECK(text_of(status.state()) == "Running");
  CHECK(status.started());
  CHECK(!status.ready());
}

}  // namespace
}  // namespace podwright::status
