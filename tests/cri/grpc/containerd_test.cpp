// The adapter against a real containerd: root, a private instance whose socket is PODWRIGHT_TEST_CRI_SOCKET, with the
// image of PODWRIGHT_TEST_CRI_IMAGE in it and the cgroup PODWRIGHT_TEST_CRI_CGROUP to work below. tests/containerd
// starts one; without the variables these cases are skipped.
#include <doctest/doctest.h>
#include <stdlib.h>

#include <cstdlib>
#include <filesystem>

#include "base/co/real_loop.h"
#include "base/co/scope.h"
#include "base/rpc/channel.h"
#include "cri/grpc/grpc_events.h"
#include "cri/grpc/grpc_runtime.h"

using namespace podwright;
using namespace podwright::cri;

namespace {

std::string variable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

bool is_absent() {
  return variable("PODWRIGHT_TEST_CRI_SOCKET").empty();
}

struct World {
  RealLoop loop;
  rpc::Poller poller{loop};
  rpc::Channel channel{poller, "unix://" + variable("PODWRIGHT_TEST_CRI_SOCKET")};
  GrpcRuntime runtime{loop, channel};
  GrpcImages images{loop, channel};
  GrpcEvents events{loop, channel};
  std::string image = variable("PODWRIGHT_TEST_CRI_IMAGE");
  std::string logs;
  std::vector<Event> seen;
  bool is_open = false;
  Notice news{loop};
  Scope scope{loop};

  World() {
    char pattern[] = "/tmp/cri-test-XXXXXX";
    logs = ::mkdtemp(pattern);
  }
  ~World() { std::filesystem::remove_all(logs); }

  Instant in(Duration time) { return loop.now() + time; }

  void start_events() {
    scope.spawn("events", events.watch(
                              [this](Event event) {
                                seen.push_back(std::move(event));
                                news.notify();
                              },
                              [this](bool open) {
                                is_open = open;
                                news.notify();
                              }));
  }
  const Event* event(Event::Kind kind, const std::string& id) const {
    for (const auto& one : seen) {
      if (one.kind == kind && one.id == id) return &one;
    }
    return nullptr;
  }
};

template <class Done>
Co<bool> until(World& world, Done done) {
  const Instant deadline = world.in(60s);
  while (!done()) {
    if (co_await world.news.wait_until(deadline) != Wait::kRung) co_return done();
  }
  co_return true;
}

SandboxConfig sandbox_config(const World& world, const std::string& name) {
  SandboxConfig config;
  config.pod = {"default", name};
  config.uid = PodUid(name + "-uid");
  config.log_directory = world.logs;
  config.labels = {{kPodNameLabel, name}, {kPodNamespaceLabel, "default"}, {kPodUidLabel, name + "-uid"}};
  config.annotations = {{"a", "b"}};
  config.cgroup_parent = variable("PODWRIGHT_TEST_CRI_CGROUP");
  config.namespaces.network = NamespaceMode::kNode;
  return config;
}

ContainerConfig container_config(const World& world, const std::string& name, std::string script) {
  ContainerConfig config;
  config.name = ContainerName(name);
  config.image = world.image;
  config.command = {"/bin/sh", "-c", std::move(script)};
  config.labels = {{kContainerNameLabel, name}};
  config.annotations = {{kHashAnnotation, "1"}};
  config.log_path = name + ".log";
  config.envs = {{"GREETING", "hello"}};
  config.namespaces.network = NamespaceMode::kNode;
  config.resources.memory_bytes = 64 << 20;
  return config;
}

Co<void> handshake(World& world) {
  const auto version = co_await world.runtime.connect(world.in(30s));
  REQUIRE_MESSAGE(version.ok(), version.status().ToString());
  CHECK(version->runtime_name == "containerd");
  CHECK(version->api_version == "v1");

  const auto status = co_await world.runtime.status(true, world.in(30s));
  REQUIRE_MESSAGE(status.ok(), status.status().ToString());
  bool ready = false;
  for (const auto& condition : status->conditions)
    ready = ready || (condition.type == "RuntimeReady" && condition.status);
  CHECK(ready);
  CHECK(status->info.contains("config"));

  const auto driver = co_await world.runtime.cgroup_driver(world.in(30s));
  CHECK_MESSAGE((driver.ok() || absl::IsUnimplemented(driver.status())), driver.status().ToString());
}

Co<void> look_at_images(World& world) {
  const auto image = co_await world.images.image_status(world.image, world.in(30s));
  REQUIRE_MESSAGE(image.ok(), image.status().ToString());
  CHECK(image->size_bytes > 0);

  const auto list = co_await world.images.list(world.in(30s));
  REQUIRE(list.ok());
  CHECK(list->size() >= 1);

  const auto none = co_await world.images.image_status("registry.test/none:1", world.in(30s));
  CHECK(absl::IsNotFound(none.status()));

  const auto space = co_await world.images.fs_info(world.in(30s));
  REQUIRE(space.ok());
  CHECK_FALSE(space->image.at(0).mountpoint.empty());
}

Co<void> unknown_things(World& world) {
  CHECK(absl::IsNotFound((co_await world.runtime.container_status(ContainerId("none"), world.in(30s))).status()));
  CHECK(absl::IsNotFound((co_await world.runtime.sandbox_status(SandboxId("none"), world.in(30s))).status()));
  CHECK(absl::IsNotFound(co_await world.runtime.start_container(ContainerId("none"), world.in(30s))));
  CHECK((co_await world.runtime.stop_container(ContainerId("none"), 1s, world.in(30s))).ok());
  CHECK((co_await world.runtime.remove_container(ContainerId("none"), world.in(30s))).ok());
  CHECK((co_await world.runtime.stop_sandbox(SandboxId("none"), world.in(30s))).ok());
  CHECK((co_await world.runtime.remove_sandbox(SandboxId("none"), world.in(30s))).ok());
}

// One container from creation to removal in a sandbox that runs.
Co<void> container_life(World& world, SandboxId sandbox, SandboxConfig sandbox_cfg) {
  const ContainerConfig config = container_config(world, "app", "trap 'exit 7' TERM; while true; do sleep 0.05; done");
  const auto id = co_await world.runtime.create_container(sandbox, config, sandbox_cfg, world.in(60s));
  REQUIRE_MESSAGE(id.ok(), id.status().ToString());
  const auto again = co_await world.runtime.create_container(sandbox, config, sandbox_cfg, world.in(60s));
  CHECK_MESSAGE(absl::IsAlreadyExists(again.status()), again.status().ToString());

  const auto created = co_await world.runtime.container_status(*id, world.in(30s));
  REQUIRE(created.ok());
  CHECK(created->state == ContainerState::kCreated);
  CHECK(created->started_at == WallTime());

  const absl::Status started = co_await world.runtime.start_container(*id, world.in(60s));
  REQUIRE_MESSAGE(started.ok(), started.ToString());
  const auto running = co_await world.runtime.container_status(*id, world.in(30s));
  REQUIRE(running.ok());
  CHECK(running->state == ContainerState::kRunning);
  CHECK(running->name == ContainerName("app"));
  CHECK(running->started_at > created->created_at);
  CHECK(running->log_path == world.logs + "/app.log");

  const auto said = co_await world.runtime.exec_sync(*id, {"/bin/sh", "-c", "echo $GREETING; echo bad >&2; exit 3"},
                                                     10s, world.in(60s));
  REQUIRE_MESSAGE(said.ok(), said.status().ToString());
  CHECK(said->stdout_bytes == "hello\n");
  CHECK(said->stderr_bytes == "bad\n");
  CHECK(said->exit_code == 3);
  const auto slow = co_await world.runtime.exec_sync(*id, {"sleep", "60"}, 1s, world.in(60s));
  CHECK_MESSAGE(absl::IsDeadlineExceeded(slow.status()), slow.status().ToString());

  Filter filter;
  filter.sandbox = sandbox;
  filter.labels = {{kContainerNameLabel, "app"}};
  const auto list = co_await world.runtime.list_containers(filter, world.in(30s));
  REQUIRE(list.ok());
  REQUIRE(list->size() == 1);
  CHECK(list->at(0).id == *id);
  CHECK(list->at(0).sandbox == sandbox);
  CHECK(list->at(0).annotations.at(kHashAnnotation) == "1");

  Resources more = config.resources;
  more.memory_bytes = 128 << 20;
  const absl::Status updated = co_await world.runtime.update_resources(*id, more, world.in(30s));
  CHECK_MESSAGE(updated.ok(), updated.ToString());
  CHECK((co_await world.runtime.reopen_log(*id, world.in(30s))).ok());
  const auto stats = co_await world.runtime.list_stats(filter, world.in(60s));
  CHECK_MESSAGE(stats.ok(), stats.status().ToString());

  const absl::Status stopped = co_await world.runtime.stop_container(*id, 20s, world.in(60s));
  REQUIRE_MESSAGE(stopped.ok(), stopped.ToString());
  const auto ended = co_await world.runtime.container_status(*id, world.in(30s));
  REQUIRE(ended.ok());
  CHECK(ended->state == ContainerState::kExited);
  CHECK(ended->exit_code == 7);
  CHECK(ended->finished_at > ended->started_at);

  CHECK(co_await until(world, [&] { return world.event(Event::Kind::kStopped, id->value) != nullptr; }));
  if (const Event* event = world.event(Event::Kind::kStopped, id->value)) CHECK(event->exit_code.value_or(7) == 7);
  CHECK(world.event(Event::Kind::kStarted, id->value) != nullptr);

  CHECK((co_await world.runtime.remove_container(*id, world.in(30s))).ok());
  CHECK(absl::IsNotFound((co_await world.runtime.container_status(*id, world.in(30s))).status()));
}

Co<void> missing_program(World& world, SandboxId sandbox, SandboxConfig sandbox_cfg) {
  ContainerConfig config = container_config(world, "bad", "");
  config.command = {"no-such-program"};
  const auto id = co_await world.runtime.create_container(sandbox, config, sandbox_cfg, world.in(60s));
  REQUIRE_MESSAGE(id.ok(), id.status().ToString());

  const absl::Status started = co_await world.runtime.start_container(*id, world.in(60s));

  CHECK_FALSE(started.ok());
  CHECK_MESSAGE(!absl::IsNotFound(started), started.ToString());
  CHECK((co_await world.runtime.remove_container(*id, world.in(30s))).ok());
}

Co<void> sandbox_life(World& world) {
  world.start_events();
  CHECK(co_await until(world, [&] { return world.is_open; }));
  CHECK_FALSE(world.seen.empty());
  if (!world.seen.empty()) CHECK(world.seen.front().kind == Event::Kind::kResync);

  const SandboxConfig config = sandbox_config(world, "adapter");
  const auto id = co_await world.runtime.run_sandbox(config, world.in(60s));
  REQUIRE_MESSAGE(id.ok(), id.status().ToString());
  const auto again = co_await world.runtime.run_sandbox(config, world.in(60s));
  CHECK_MESSAGE(absl::IsAlreadyExists(again.status()), again.status().ToString());

  const auto status = co_await world.runtime.sandbox_status(*id, world.in(30s));
  REQUIRE(status.ok());
  CHECK(status->state == SandboxState::kReady);
  CHECK(status->pod == config.pod);
  CHECK(status->uid == config.uid);
  CHECK(status->network == NamespaceMode::kNode);
  CHECK(status->annotations == config.annotations);
  Filter filter;
  filter.labels = {{kPodUidLabel, config.uid.value}};
  const auto list = co_await world.runtime.list_sandboxes(filter, world.in(30s));
  REQUIRE(list.ok());
  REQUIRE(list->size() == 1);
  CHECK(list->at(0).id == *id);

  co_await container_life(world, *id, config);
  co_await missing_program(world, *id, config);

  CHECK((co_await world.runtime.stop_sandbox(*id, world.in(60s))).ok());
  CHECK((co_await world.runtime.stop_sandbox(*id, world.in(60s))).ok());
  const auto after_stop = co_await world.runtime.sandbox_status(*id, world.in(30s));
  REQUIRE(after_stop.ok());
  CHECK(after_stop->state == SandboxState::kNotReady);
  CHECK((co_await world.runtime.remove_sandbox(*id, world.in(60s))).ok());
  CHECK(absl::IsNotFound((co_await world.runtime.sandbox_status(*id, world.in(30s))).status()));
}

Co<void> then_stop(World& world, Co<void> test) {
  co_await std::move(test);
  world.loop.stop();
}

Co<void> close_and_stop(World& world, Scope& scope) {
  co_await scope.close();
  world.loop.stop();
}

void run(Co<void> (*test)(World&)) {
  World world;
  Scope tests(world.loop);
  tests.spawn("test", then_stop(world, test(world)));
  world.loop.run();
  world.loop.io().restart();
  tests.spawn("close", close_and_stop(world, world.scope));
  world.loop.run();
  CHECK(world.poller.pending() == 0);
}

}  // namespace

TEST_CASE("containerd: the handshake" * doctest::skip(is_absent())) {
  run(handshake);
}

TEST_CASE("containerd: images are found or not" * doctest::skip(is_absent())) {
  run(look_at_images);
}

TEST_CASE("containerd: what it does not know is NotFound, or gone already" * doctest::skip(is_absent())) {
  run(unknown_things);
}

TEST_CASE("containerd: a sandbox and its containers from start to removal" * doctest::skip(is_absent())) {
  run(sandbox_life);
}
