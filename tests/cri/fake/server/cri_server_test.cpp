// The adapter (cri/grpc) against the fake runtime behind a socket: what goes through gRPC comes back as it was.
#include "cri/fake/server/cri_server.h"

#include <doctest/doctest.h>
#include <stdlib.h>

#include <filesystem>

#include "base/co/real_loop.h"
#include "base/limits.h"
#include "cri/fake/fake_runtime.h"
#include "cri/fake/samples.h"
#include "cri/grpc/grpc_events.h"
#include "cri/grpc/grpc_runtime.h"

using namespace podwright;
using namespace podwright::cri;

namespace {

constexpr char kImage[] = "registry.test/app:1";

struct Folder {
  Folder() {
    char pattern[] = "/tmp/fake-cri-XXXXXX";
    path = ::mkdtemp(pattern);
  }
  ~Folder() { std::filesystem::remove_all(path); }
  std::string path;
};

struct Bench {
  Folder folder;
  RealLoop loop;
  FakeRuntime fake{loop};
  rpc::Poller poller{loop};
  CriServer server;
  rpc::Channel channel{poller, "unix:" + folder.path + "/s"};
  GrpcRuntime runtime{loop, channel};
  GrpcImages images{loop, channel};
  GrpcEvents events{loop, channel};
  std::vector<Event> seen;
  std::vector<bool> open;
  Notice news{loop};
  Scope watching{loop};
  Scope tests{loop};

  explicit Bench(bool with_events = true) : server(loop, fake, fake, fake, with_events) {
    fake.add_image(kImage);
    const absl::Status listening = server.listen(poller, channel.target());
    REQUIRE_MESSAGE(listening.ok(), listening.ToString());
  }

  Instant soon() { return loop.now() + 30s; }

  void watch() {
    watching.spawn("events", events.watch(
                                 [this](Event event) {
                                   seen.push_back(std::move(event));
                                   news.notify();
                                 },
                                 [this](bool is_open) {
                                   open.push_back(is_open);
                                   news.notify();
                                 }));
  }
  int count(Event::Kind kind) const {
    return static_cast<int>(std::count_if(seen.begin(), seen.end(), [&](const Event& e) { return e.kind == kind; }));
  }
};

template <class Done>
Co<bool> until(Bench& world, Done done) {
  const Instant deadline = world.soon();
  while (!done()) {
    if (co_await world.news.wait_until(deadline) != Wait::kRung) co_return done();
  }
  co_return true;
}

Co<void> then_stop(Bench& world, Co<void> test) {
  co_await std::move(test);
  co_await world.watching.close();
  co_await world.server.close();
  world.loop.stop();
}

void run(Bench& world, Co<void> test) {
  world.tests.spawn("test", then_stop(world, std::move(test)));
  world.loop.run();
  CHECK(world.poller.pending() == 0);
}

// `loud` says more than is kept of it.
ContainerScript loud_script() {
  ContainerScript script;
  script.execs["loud"] = {.stdout_bytes = std::string(1 << 20, 'o'), .stderr_bytes = std::string(1 << 20, 'e')};
  return script;
}

Co<void> life(Bench& world) {
  CHECK((co_await world.runtime.connect(world.soon())).ok());
  const SandboxConfig sandbox = a_sandbox("u1");
  world.fake.set_script(PodUid("u1"), ContainerName("app"), loud_script());
  const auto id = co_await world.runtime.run_sandbox(sandbox, world.soon());
  REQUIRE_MESSAGE(id.ok(), id.status().ToString());
  CHECK(absl::IsAlreadyExists((co_await world.runtime.run_sandbox(sandbox, world.soon())).status()));
  ContainerConfig config = a_container(sandbox, "app");
  config.image = kImage;
  const auto container = co_await world.runtime.create_container(*id, config, sandbox, world.soon());
  REQUIRE_MESSAGE(container.ok(), container.status().ToString());
  CHECK((co_await world.runtime.start_container(*container, world.soon())).ok());

  // What the adapter tells is what the runtime itself tells.
  const auto through = co_await world.runtime.container_status(*container, world.soon());
  const auto direct = world.fake.peek(*container);
  REQUIRE(through.ok());
  REQUIRE(direct.ok());
  CHECK(through->state == ContainerState::kRunning);
  CHECK(through->name == direct->name);
  CHECK(through->created_at == direct->created_at);
  CHECK(through->started_at == direct->started_at);
  CHECK(through->labels == direct->labels);
  CHECK(through->annotations == direct->annotations);
  CHECK(through->image_ref == direct->image_ref);
  const auto sandbox_through = co_await world.runtime.sandbox_status(*id, world.soon());
  REQUIRE(sandbox_through.ok());
  CHECK(*sandbox_through == world.fake.peek(*id).value());
  const auto list = co_await world.runtime.list_containers({}, world.soon());
  REQUIRE(list.ok());
  CHECK(list->size() == 1);

  CHECK((co_await world.runtime.exec_sync(*container, {"true"}, 1s, world.soon())).ok());
  // Of each stream the runtime may send more than is kept (case K98).
  const auto loud = co_await world.runtime.exec_sync(*container, {"loud"}, 1s, world.soon());
  REQUIRE(loud.ok());
  CHECK(loud->stdout_bytes == std::string(limits::kExecOutputBytes, 'o'));
  CHECK(loud->stderr_bytes == std::string(limits::kExecOutputBytes, 'e'));
  CHECK((co_await world.runtime.stop_container(*container, 1s, world.soon())).ok());
  CHECK((co_await world.runtime.container_status(*container, world.soon()))->state == ContainerState::kExited);
  CHECK((co_await world.runtime.stop_sandbox(*id, world.soon())).ok());
  CHECK((co_await world.runtime.remove_sandbox(*id, world.soon())).ok());
  CHECK(absl::IsNotFound((co_await world.runtime.sandbox_status(*id, world.soon())).status()));
}

Co<void> look_at_images(Bench& world) {
  CHECK((co_await world.images.image_status(kImage, world.soon())).ok());
  CHECK(absl::IsNotFound((co_await world.images.image_status("registry.test/none:1", world.soon())).status()));
  Auth auth;
  auth.username = "me";
  CHECK((co_await world.images.pull("registry.test/new:1", auth, a_sandbox("u1"), world.soon())).ok());
  CHECK(world.fake.last_auth("registry.test/new:1").value_or(Auth()).username == "me");
  CHECK((co_await world.images.list(world.soon()))->size() == 2);
  CHECK((co_await world.images.remove(kImage, world.soon())).ok());
  CHECK((co_await world.images.fs_info(world.soon())).ok());
}

Co<absl::StatusOr<ContainerId>> start_one(Bench& world) {
  const SandboxConfig sandbox = a_sandbox("u1");
  const auto id = co_await world.runtime.run_sandbox(sandbox, world.soon());
  if (!id.ok()) co_return id.status();
  ContainerConfig config = a_container(sandbox, "app");
  config.image = kImage;
  const auto container = co_await world.runtime.create_container(*id, config, sandbox, world.soon());
  if (!container.ok()) co_return container.status();
  const absl::Status started = co_await world.runtime.start_container(*container, world.soon());
  if (!started.ok()) co_return started;
  co_return *container;
}

Co<void> events_come(Bench& world) {
  world.watch();
  CHECK(co_await until(world, [&] { return world.count(Event::Kind::kResync) == 1; }));
  CHECK(world.open == std::vector<bool>{true});
  const auto container = co_await start_one(world);
  REQUIRE_MESSAGE(container.ok(), container.status().ToString());

  world.fake.exit_container(*container, 9);

  CHECK(co_await until(world, [&] { return world.count(Event::Kind::kStopped) == 1; }));
  CHECK(world.seen.back().id == container->value);
  CHECK(world.seen.back().exit_code == 9);

  world.fake.break_events();

  CHECK(co_await until(world, [&] { return world.count(Event::Kind::kResync) == 2; }));
  CHECK(world.open == std::vector<bool>{true, false, true});
}

Co<void> server_goes(Bench& world) {
  world.watch();
  CHECK(co_await until(world, [&] { return world.count(Event::Kind::kResync) == 1; }));

  co_await world.server.close();
  CHECK(co_await until(world, [&] { return world.open == std::vector<bool>{true, false}; }));
  CHECK(absl::IsUnavailable((co_await world.runtime.version(world.soon())).status()));
  CriServer again(world.loop, world.fake, world.fake, world.fake);
  const absl::Status listening = again.listen(world.poller, world.channel.target());
  CHECK_MESSAGE(listening.ok(), listening.ToString());

  CHECK(co_await until(world, [&] { return world.count(Event::Kind::kResync) == 2; }));
  CHECK((co_await world.runtime.connect(world.soon())).ok());
  co_await world.watching.close();
  co_await again.close();
}

Co<void> no_events(Bench& world) {
  world.watch();
  CHECK(co_await until(world, [&] { return !world.open.empty(); }));
  CHECK(world.open == std::vector<bool>{false});
  CHECK(world.seen.empty());
}

Co<void> late_call(Bench& world) {
  const uint64_t fault = world.fake.hang(Method::kVersion);
  const auto late = co_await world.runtime.version(world.loop.now() + 50ms);
  CHECK(absl::IsDeadlineExceeded(late.status()));
  world.fake.faults().remove(fault);
  world.fake.release_hung();
  CHECK((co_await world.runtime.version(world.soon())).ok());
}

}  // namespace

TEST_CASE("configurations come through the wire as they were") {
  SandboxConfig sandbox = a_sandbox("u1", 3);
  sandbox.hostname = "web";
  sandbox.dns = DnsConfig{{"10.0.0.10"}, {"svc"}, {"ndots:5"}};
  sandbox.ports = {{Protocol::kSctp, 1, 2, "::1"}};
  sandbox.sysctls = {{"net.a", "1"}};
  sandbox.resources = Resources{.cpu_shares = 2, .memory_bytes = 5};
  sandbox.overhead = Resources{};
  sandbox.namespaces = {NamespaceMode::kNode, NamespaceMode::kContainer, NamespaceMode::kPod, {}, {{1, 2, 3}},
                        {{4, 5, 6}}};
  sandbox.selinux = SeLinux{"u", "r", "t", "l"};
  sandbox.run_as_user = 0;
  sandbox.supplemental_groups = {5, 6};
  sandbox.supplemental_groups_policy = GroupsPolicy::kStrict;
  sandbox.seccomp = {SecurityProfile::Type::kUnconfined, ""};
  sandbox.runtime_handler = "kata";
  CHECK(config_from_wire(to_wire(sandbox), "kata") == sandbox);

  ContainerConfig container = a_container(sandbox, "app", 2);
  container.image = kImage;
  container.user_specified_image = "app";
  container.command = {"a"};
  container.args = {"b", ""};
  container.envs = {{"A", "1"}, {"A", "2"}};
  container.mounts = {{"/c", "/h", true, true, true, Propagation::kHostToContainer, {{1, 2, 3}}, {{1, 2, 3}}, "", ""},
                      {"/i", "", true, false, false, Propagation::kPrivate, {}, {}, "img", "sub"}};
  container.devices = {{"/dev/a", "/dev/b", "rw"}};
  container.cdi_devices = {"v/c=d"};
  container.stdin = container.tty = true;
  container.stop_signal = "SIGQUIT";
  container.resources.hugepages = {{"2MB", 2}};
  container.add_capabilities = {"A"};
  container.drop_capabilities = {"ALL"};
  container.namespaces.pid = NamespaceMode::kTarget;
  container.namespaces.target = ContainerId("t");
  container.run_as_group = 7;
  container.run_as_username = "me";
  container.no_new_privileges = true;
  container.masked_paths = {"/proc/x"};
  container.seccomp = SecurityProfile{};
  container.apparmor = SecurityProfile{SecurityProfile::Type::kLocalhost, "p"};
  CHECK(config_from_wire(to_wire(container)) == container);
}

TEST_CASE("a container's life through the adapter is the runtime's own") {
  Bench world;
  run(world, life(world));
}

TEST_CASE("images through the adapter") {
  Bench world;
  run(world, look_at_images(world));
}

TEST_CASE("events come with exit codes, and a broken stream is opened again with a resync") {
  Bench world;
  run(world, events_come(world));
}

TEST_CASE("a runtime that restarts is found again, and its events too") {
  Bench world;
  run(world, server_goes(world));
}

TEST_CASE("a runtime without an event stream is told as such, once") {
  Bench world(false);
  run(world, no_events(world));
}

TEST_CASE("a late call leaves the next one alone") {
  Bench world;
  run(world, late_call(world));
}
