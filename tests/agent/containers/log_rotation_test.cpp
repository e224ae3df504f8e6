#include "agent/containers/log_rotation.h"

#include <doctest/doctest.h>
#include <zlib.h>

#include <cerrno>

#include "base/co/scope.h"
#include "base/co/sim_loop.h"
#include "base/files/memory_tree.h"
#include "cri/fake/fake_runtime.h"
#include "cri/fake/samples.h"
#include "tests/agent/sample_pods.h"

namespace podwright::containers {
namespace {

using namespace std::chrono_literals;
using cri::Method;

const std::string kDir = "/var/log/pods/ns_p_u/c";
const std::string kLive = kDir + "/0.log";

std::string unpacked(const std::string& bytes) {
  z_stream stream{};
  REQUIRE(inflateInit2(&stream, 15 + 16) == Z_OK);
  std::string out(1 << 16, '\0');
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(bytes.data()));
  stream.avail_in = static_cast<uInt>(bytes.size());
  stream.next_out = reinterpret_cast<Bytef*>(out.data());
  stream.avail_out = static_cast<uInt>(out.size());
  const int result = inflate(&stream, Z_FINISH);
  out.resize(stream.total_out);
  inflateEnd(&stream);
  CHECK(result == Z_STREAM_END);
  return out;
}

// A running container, whose runtime makes a new file when it is told to.
struct RotationWorld {
  explicit RotationWorld(RotationOptions wanted = {.max_bytes = 100, .max_files = 3})
      : rotation(loop, offload, tree, runtime, steps, wanted, [this] { return logs; }), scope(loop) {
    REQUIRE(tree.make_directories(kDir, 0755).ok());
    run_to_end(loop, start(this));
    cri::Fault reopen;
    reopen.kind = cri::Fault::Kind::kDelay;
    reopen.method = Method::kReopenLog;
    reopen.times.reset();
    reopen.matches = [this](const cri::Call&) {
      if (reopens && !tree.info(kLive).ok()) write("");
      return false;
    };
    runtime.faults().add(reopen);
  }
  static Co<void> start(RotationWorld* self) {
    const cri::SandboxConfig sandbox = cri::a_sandbox("u1");
    cri::ContainerConfig config = cri::a_container(sandbox, "c");
    self->runtime.add_image(config.image);
    const Instant soon = self->loop.now() + 10s;
    const auto id = co_await self->runtime.run_sandbox(sandbox, soon);
    REQUIRE(id.ok());
    const auto container = co_await self->runtime.create_container(*id, config, sandbox, soon);
    REQUIRE(container.ok());
    self->id = *container;
    CHECK((co_await self->runtime.start_container(self->id, soon)).ok());
  }
  void write(const std::string& content) { REQUIRE(tree.write(kLive, content, 0640).ok()); }
  void write_big(char c) { write(std::string(100, c)); }
  absl::Status look() { return run_and_get(loop, rotation.look_after({id, kLive})); }
  std::string names() {
    std::string text;
    const auto entries = tree.list(kDir);
    for (const auto& entry : *entries) text += (text.empty() ? "" : " ") + entry.name;
    return text;
  }
  std::string read(const std::string& name) { return tree.read(kDir + "/" + name, 1 << 20).value_or("-"); }
  int reopened() { return runtime.calls(Method::kReopenLog); }

  SimLoop loop;
  MemoryTree tree{loop};
  SimOffload offload{loop};
  cri::FakeRuntime runtime{loop};
  Steps steps{loop.clock()};
  ContainerId id;
  bool reopens = true;
  std::vector<LiveLog> logs;
  LogRotation rotation;
  Scope scope;
};

TEST_CASE("a log below its bound is left alone") {
  RotationWorld world;
  world.write(std::string(99, 'x'));
  REQUIRE(world.look().ok());
  CHECK(world.names() == "0.log");
  CHECK(world.reopened() == 0);
}

TEST_CASE("a log at its bound is renamed, the runtime opens a new one, and the rotated file stays plain") {
  RotationWorld world;
  world.write_big('a');
  REQUIRE(world.look().ok());
  CHECK(world.names() == "0.log 0.log.20260101-000000");
  CHECK(world.read("0.log.20260101-000000") == std::string(100, 'a'));
  CHECK(world.read("0.log") == "");
  CHECK(world.reopened() == 1);
}

TEST_CASE("older files are compressed, the oldest go, and no more are kept than wanted") {
  RotationWorld world;
  for (const char c : {'a', 'b', 'c', 'd'}) {
    world.write_big(c);
    REQUIRE(world.look().ok());
    world.loop.run_for(10s);
  }
  CHECK(world.names() == "0.log 0.log.20260101-000020.gz 0.log.20260101-000030");
  CHECK(unpacked(world.read("0.log.20260101-000020.gz")) == std::string(100, 'c'));
  CHECK(world.read("0.log.20260101-000030") == std::string(100, 'd'));
}

TEST_CASE("K93: a full disk needs no room to rotate: what cannot be compressed goes") {
  RotationWorld world;
  world.write_big('a');
  REQUIRE(world.look().ok());
  world.loop.run_for(10s);
  world.write_big('b');
  world.reopens = false;
  world.tree.set_full(kDir, true);
  REQUIRE(world.look().ok());
  CHECK(world.names() == "0.log.20260101-000010");
  CHECK(world.read("0.log.20260101-000010") == std::string(100, 'b'));
}

TEST_CASE("a runtime that does not open a new file has its old one back, with every line") {
  RotationWorld world;
  world.write_big('a');
  world.reopens = false;
  world.runtime.fail_next(Method::kReopenLog, absl::UnknownError("no"));
  CHECK(!world.look().ok());
  CHECK(world.names() == "0.log");
  CHECK(world.read("0.log") == std::string(100, 'a'));
  world.reopens = true;
  REQUIRE(world.look().ok());
  CHECK(world.names() == "0.log 0.log.20260101-000000");
}

TEST_CASE("an answer that is lost takes nothing from the new file") {
  RotationWorld world;
  world.write_big('a');
  world.runtime.faults().add({.kind = cri::Fault::Kind::kFailAfter,
                              .method = Method::kReopenLog,
                              .status = absl::DeadlineExceededError("late")});
  CHECK(!world.look().ok());
  CHECK(world.names() == "0.log 0.log.20260101-000000");
  CHECK(world.read("0.log.20260101-000000") == std::string(100, 'a'));
}

TEST_CASE("a log that is gone is made anew by the runtime") {
  RotationWorld world;
  REQUIRE(world.look().ok());
  CHECK(world.names() == "0.log");
  CHECK(world.reopened() == 1);
}

TEST_CASE("what a crash left in the middle is put in order") {
  RotationWorld world;
  world.write_big('c');
  REQUIRE(world.tree.write(kLive + ".20250101-000000", "plain", 0640).ok());
  REQUIRE(world.tree.write(kLive + ".20250101-000000.gz", "packed", 0640).ok());
  REQUIRE(world.tree.write(kLive + ".20250102-000000.tmp", "half", 0640).ok());
  REQUIRE(world.look().ok());
  CHECK(world.names() == "0.log 0.log.20250101-000000.gz 0.log.20260101-000000");
  CHECK(world.read("0.log.20250101-000000.gz") == "packed");
}

TEST_CASE("no rotated file takes another's name, though the clock steps back") {
  RotationWorld world({.max_bytes = 100, .max_files = 5});
  for (const char c : {'a', 'b', 'c'}) {
    world.write_big(c);
    REQUIRE(world.look().ok());
    world.loop.run_for(500ms);
    world.loop.clock().step_wall(-500ms);
  }
  CHECK(world.read("0.log.20260101-000002") == std::string(100, 'c'));
  CHECK(world.names() == "0.log 0.log.20260101-000000.gz 0.log.20260101-000001.gz 0.log.20260101-000002");
}

TEST_CASE("files of other attempts and of other kinds are nobody's rotated files") {
  const auto entry = [](const std::string& name, FileType type = FileType::kFile) {
    return DirectoryEntry{name, type};
  };
  CHECK(rotated_files({entry("0.log"), entry("0.log.b"), entry("0.log.a.gz"), entry("0.log.c.tmp"), entry("1.log.a"),
                       entry("0.logx"), entry("0.log.d", FileType::kDirectory), entry("0.log.e", FileType::kSymlink)},
                      "0.log") == std::vector<std::string>{"0.log.a.gz", "0.log.b"});
}

TEST_CASE("every log is looked at in each period, and one that fails holds no other") {
  RotationWorld world;
  REQUIRE(world.tree.make_directories(kDir + "2", 0755).ok());
  REQUIRE(world.tree.write(kDir + "2/0.log", std::string(100, 'x'), 0640).ok());
  world.write_big('a');
  world.tree.fail(kDir + "2", EIO);
  world.logs = {{world.id, kDir + "2/0.log"}, {world.id, kLive}};
  world.scope.spawn("rotation", world.rotation.run());
  world.loop.run_for(11s);
  CHECK(world.names() == "0.log 0.log.20260101-000010");
  world.tree.heal(kDir + "2");
  world.loop.run_for(10s);
  CHECK(world.tree.info(kDir + "2/0.log.20260101-000020").ok());
  run_to_end(world.loop, world.scope.close());
}

TEST_CASE("a negative bound means no rotation") {
  RotationWorld world({.max_bytes = -1});
  world.logs = {{world.id, kLive}};
  world.write_big('a');
  world.scope.spawn("rotation", world.rotation.run());
  world.loop.run_for(60s);
  CHECK(world.scope.size() == 0);
  CHECK(world.names() == "0.log");
}

}  // namespace
}  // namespace podwright::containers
