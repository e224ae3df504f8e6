// Sessions with the streaming server of a real containerd; see tests/cri/grpc/containerd_test.cpp for the variables
// without which these cases are skipped.
#include <doctest/doctest.h>
#include <stdlib.h>

#include <cstdlib>
#include <filesystem>

#include "base/co/real_loop.h"
#include "base/co/scope.h"
#include "base/net/real_net.h"
#include "base/rpc/channel.h"
#include "cri/grpc/grpc_runtime.h"
#include "cri/streaming/session.h"

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

class Person final : public SessionClient {
 public:
  explicit Person(Loop& loop) : gone_(loop) {}
  Co<absl::StatusOr<SessionInput>> next() override {
    if (at_ < inputs.size()) co_return inputs[at_++];
    (void)co_await gone_.wait_until(Instant::max());
    co_return absl::CancelledError("stopped");
  }
  Co<absl::Status> write_stdout(std::string bytes) override {
    out += bytes;
    co_return absl::OkStatus();
  }
  Co<absl::Status> write_stderr(std::string bytes) override {
    err += bytes;
    co_return absl::OkStatus();
  }
  std::vector<SessionInput> inputs;
  std::string out, err;

 private:
  Bell gone_;
  std::size_t at_ = 0;
};

struct World {
  RealLoop loop;
  RealNet net{loop};
  rpc::Poller poller{loop};
  rpc::Channel channel{poller, "unix://" + variable("PODWRIGHT_TEST_CRI_SOCKET")};
  GrpcRuntime runtime{loop, channel};
  std::string logs;
  SandboxId sandbox;
  ContainerId container;

  World() {
    char pattern[] = "/tmp/cri-test-XXXXXX";
    logs = ::mkdtemp(pattern);
  }
  ~World() { std::filesystem::remove_all(logs); }
  Instant in(Duration time) { return loop.now() + time; }
};

Co<void> start_container(World& world) {
  SandboxConfig sandbox;
  sandbox.pod = {"default", "sessions"};
  sandbox.uid = PodUid("sessions-uid");
  sandbox.log_directory = world.logs;
  sandbox.cgroup_parent = variable("PODWRIGHT_TEST_CRI_CGROUP");
  sandbox.namespaces.network = NamespaceMode::kNode;
  const auto id = co_await world.runtime.run_sandbox(sandbox, world.in(60s));
  REQUIRE_MESSAGE(id.ok(), id.status().ToString());
  world.sandbox = *id;
  ContainerConfig config;
  config.name = ContainerName("app");
  config.image = variable("PODWRIGHT_TEST_CRI_IMAGE");
  config.command = {"/bin/sh", "-c", "read line; echo got $line; exit 4"};
  config.stdin = true;
  config.log_path = "app.log";
  config.namespaces.network = NamespaceMode::kNode;
  const auto made = co_await world.runtime.create_container(*id, config, sandbox, world.in(60s));
  REQUIRE_MESSAGE(made.ok(), made.status().ToString());
  world.container = *made;
  const absl::Status started = co_await world.runtime.start_container(*made, world.in(60s));
  REQUIRE_MESSAGE(started.ok(), started.ToString());
}

Co<absl::StatusOr<int32_t>> exec(World& world, Person& person, std::vector<std::string> command, SessionSides sides) {
  ExecRequest request{world.container, std::move(command), sides.tty, sides.stdin, sides.stdout, sides.stderr};
  const auto url = co_await world.runtime.exec_url(request, world.in(30s));
  if (!url.ok()) co_return url.status();
  co_return co_await run_exec(world.loop, world.net, *url, sides, person, world.in(30s));
}

Co<void> execs(World& world) {
  Person cat(world.loop);
  cat.inputs = {{SessionInput::Kind::kStdin, "hello\n", 0, 0}, {SessionInput::Kind::kStdinEnd, "", 0, 0}};
  const auto copied = co_await exec(world, cat, {"cat"}, {.stdin = true, .stdout = true, .stderr = true});
  CHECK_MESSAGE(copied.value_or(-1) == 0, copied.status().ToString());
  CHECK(cat.out == "hello\n");

  Person fails(world.loop);
  const auto failed =
      co_await exec(world, fails, {"sh", "-c", "echo o; echo e >&2; exit 5"}, {.stdout = true, .stderr = true});
  CHECK_MESSAGE(failed.value_or(-1) == 5, failed.status().ToString());
  CHECK(fails.out == "o\n");
  CHECK(fails.err == "e\n");

  Person bulk(world.loop);
  const auto much = co_await exec(world, bulk, {"head", "-c", "3000000", "/dev/zero"}, {.stdout = true});
  CHECK_MESSAGE(much.value_or(-1) == 0, much.status().ToString());
  CHECK(bulk.out.size() == 3'000'000);

  Person terminal(world.loop);
  terminal.inputs = {{SessionInput::Kind::kResize, "", 123, 45}, {SessionInput::Kind::kStdin, "exit 6\n", 0, 0}};
  const auto typed = co_await exec(world, terminal, {"sh"}, {.stdin = true, .stdout = true, .tty = true});
  CHECK_MESSAGE(typed.value_or(-1) == 6, typed.status().ToString());
  CHECK(terminal.out.find("exit 6\r\n") != std::string::npos);

  Person none(world.loop);
  const auto missing = co_await exec(world, none, {"no-such-program"}, {.stdout = true});
  CHECK_FALSE(missing.ok());
}

Co<void> attach(World& world) {
  Person person(world.loop);
  person.inputs = {{SessionInput::Kind::kStdin, "it\n", 0, 0}};
  const SessionSides sides{.stdin = true, .stdout = true, .stderr = true};
  const AttachRequest request{world.container, false, true, true, true};
  const auto url = co_await world.runtime.attach_url(request, world.in(30s));
  REQUIRE_MESSAGE(url.ok(), url.status().ToString());

  const absl::Status ended = co_await run_attach(world.loop, world.net, *url, sides, person, world.in(30s));

  CHECK_MESSAGE(ended.ok(), ended.ToString());
  CHECK(person.out == "got it\n");
}

Co<void> echo_once(Listener& listener) {
  auto stream = co_await listener.accept();
  if (!stream.ok()) co_return;
  while (true) {
    auto bytes = co_await (*stream)->read_some(4096, Instant::max());
    if (!bytes.ok() || bytes->empty()) co_return;
    if (!(co_await (*stream)->write_all(std::move(*bytes), Instant::max())).ok()) co_return;
  }
}

Co<void> say_and_end(Stream& stream, std::string* heard) {
  (void)co_await stream.write_all("ping", Instant::max());
  while (*heard != "ping") {
    auto more = co_await stream.read_some(4096, Instant::max());
    if (!more.ok() || more->empty()) co_return;
    *heard += *more;
  }
  (void)stream.shutdown_write();
}

Co<void> port_forwards(World& world) {
  auto listener = world.net.listen(Endpoint::tcp("127.0.0.1", 0), 0600);
  auto local = world.net.listen(Endpoint::tcp("127.0.0.1", 0), 0600);
  REQUIRE(listener.ok());
  REQUIRE(local.ok());
  const uint16_t port = (*listener)->local().port;
  Scope flows(world.loop);
  flows.spawn("echo", echo_once(**listener));
  auto ours = co_await world.net.dial((*local)->local(), world.in(30s));
  auto theirs = co_await (*local)->accept();
  REQUIRE(ours.ok());
  REQUIRE(theirs.ok());
  std::string heard;
  flows.spawn("client", say_and_end(**ours, &heard));
  const auto url = co_await world.runtime.port_forward_url(world.sandbox, {port}, world.in(30s));
  REQUIRE_MESSAGE(url.ok(), url.status().ToString());

  const absl::Status carried =
      co_await run_port_forward(world.loop, world.net, *url, port, std::move(*theirs), world.in(30s));

  CHECK_MESSAGE(carried.ok(), carried.ToString());
  CHECK(heard == "ping");
  co_await flows.close();
}

Co<void> all(World& world) {
  co_await start_container(world);
  co_await execs(world);
  co_await port_forwards(world);
  co_await attach(world);
  CHECK((co_await world.runtime.stop_sandbox(world.sandbox, world.in(60s))).ok());
  CHECK((co_await world.runtime.remove_sandbox(world.sandbox, world.in(60s))).ok());
  world.loop.stop();
}

}  // namespace

TEST_CASE("containerd: exec, attach and port-forward sessions" * doctest::skip(is_absent())) {
  World world;
  Scope scope(world.loop);
  scope.spawn("test", all(world));
  world.loop.run();
}
