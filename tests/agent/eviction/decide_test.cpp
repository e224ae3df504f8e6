#include "agent/eviction/decide.h"

#include "tests/agent/eviction/eviction_world.h"

using namespace podwright;
using namespace podwright::eviction;
using namespace std::chrono_literals;

namespace {

const Instant kStart{1'000s};

Levels memory_level(int64_t available, Instant at) {
  return {{Signal::kMemory, {available, 1000 * kMi, at}}};
}

struct Rounds {
  std::vector<Threshold> thresholds;
  Memory memory;
  Instant now = kStart;

  Verdict after(Duration time, int64_t available) {
    now += time;
    return decide(thresholds, memory_level(available, now), memory, 5min, now);
  }
};

}  // namespace

TEST_CASE("a hard threshold is acted on at once, and only below it") {
  Rounds rounds{.thresholds = {{Signal::kMemory, bytes(100 * kMi), {}, {}}}};

  CHECK(rounds.after(10s, 100 * kMi).act_on.empty());
  const Verdict verdict = rounds.after(10s, 100 * kMi - 1);
  CHECK(verdict.act_on.size() == 1);
  CHECK(verdict.pressure == pods::NodePressure{.memory = true});
}

TEST_CASE("a percentage is of the capacity") {
  Rounds rounds{.thresholds = {{Signal::kMemory, percent(10), {}, {}}}};

  CHECK(rounds.after(10s, 100 * kMi).act_on.empty());
  CHECK(rounds.after(10s, 99 * kMi).act_on.size() == 1);
}

TEST_CASE("a soft threshold sets the condition at once and is acted on after its grace, which begins anew") {
  Rounds rounds{.thresholds = {{Signal::kMemory, bytes(100 * kMi), 90s, {}}}};

  Verdict verdict = rounds.after(10s, 50 * kMi);
  CHECK(verdict.pressure.memory);
  CHECK(verdict.act_on.empty());
  CHECK(rounds.after(89s, 50 * kMi).act_on.empty());
  CHECK(rounds.after(1s, 50 * kMi).act_on.size() == 1);

  CHECK(rounds.after(10s, 200 * kMi).act_on.empty());
  CHECK(rounds.after(10s, 50 * kMi).act_on.empty());
}

TEST_CASE("what was acted on is over only once the minimum is reclaimed too") {
  Rounds rounds{.thresholds = {{Signal::kMemory, bytes(100 * kMi), {}, bytes(50 * kMi)}}};

  CHECK(rounds.after(10s, 120 * kMi).act_on.empty());
  CHECK(rounds.after(10s, 90 * kMi).act_on.size() == 1);
  CHECK(rounds.after(10s, 120 * kMi).act_on.size() == 1);
  CHECK(rounds.after(10s, 150 * kMi).act_on.empty());
  CHECK(rounds.after(10s, 120 * kMi).act_on.empty());
}

TEST_CASE("a condition stays for the transition period and does not flap") {
  Rounds rounds{.thresholds = {{Signal::kMemory, bytes(100 * kMi), {}, {}}}};

  CHECK(rounds.after(10s, 50 * kMi).pressure.memory);
  CHECK(rounds.after(10s, 500 * kMi).pressure.memory);
  CHECK(rounds.after(280s, 500 * kMi).pressure.memory);
  CHECK_FALSE(rounds.after(10s, 500 * kMi).pressure.memory);
}

TEST_CASE("the same reading is not acted on twice") {
  std::vector<Threshold> thresholds = {{Signal::kMemory, bytes(100 * kMi), {}, {}}};
  Memory memory;
  const Levels levels = memory_level(50 * kMi, kStart);

  CHECK(decide(thresholds, levels, memory, 5min, kStart).act_on.size() == 1);
  CHECK(decide(thresholds, levels, memory, 5min, kStart + 10s).act_on.empty());
  CHECK(decide(thresholds, memory_level(50 * kMi, kStart + 20s), memory, 5min, kStart + 20s).act_on.size() == 1);
}

TEST_CASE("memory comes before disk and processes, and hard before soft") {
  std::vector<Threshold> thresholds = {{Signal::kPids, bytes(10), {}, {}},
                                       {Signal::kNodeFs, percent(10), {}, {}},
                                       {Signal::kMemory, bytes(200 * kMi), 0s, {}},
                                       {Signal::kMemory, bytes(100 * kMi), {}, {}}};
  Memory memory;
  const Levels levels = {{Signal::kMemory, {1, 1000 * kMi, kStart}},
                         {Signal::kNodeFs, {1, 100 * kGi, kStart}},
                         {Signal::kPids, {1, 1000, kStart}}};

  const Verdict verdict = decide(thresholds, levels, memory, 5min, kStart);

  REQUIRE(verdict.act_on.size() == 4);
  CHECK(verdict.act_on[0].signal == Signal::kMemory);
  CHECK(verdict.act_on[0].is_hard());
  CHECK_FALSE(verdict.act_on[1].is_hard());
  CHECK(verdict.act_on[2].signal == Signal::kNodeFs);
  CHECK(verdict.act_on[3].signal == Signal::kPids);
  CHECK(verdict.pressure == pods::NodePressure{.memory = true, .disk = true, .pid = true});
}

TEST_CASE("a signal that is not told is not acted on, and its grace goes on") {
  std::vector<Threshold> thresholds = {{Signal::kMemory, bytes(100 * kMi), 60s, {}}};
  Memory memory;

  (void)decide(thresholds, memory_level(50 * kMi, kStart), memory, 5min, kStart);
  CHECK(decide(thresholds, {}, memory, 5min, kStart + 30s).act_on.empty());
  CHECK(decide(thresholds, memory_level(50 * kMi, kStart + 60s), memory, 5min, kStart + 60s).act_on.size() == 1);
}

TEST_CASE("signals keep upstream's names") {
  for (const char* name :
       {"memory.available", "allocatableMemory.available", "nodefs.available", "nodefs.inodesFree", "imagefs.available",
        "imagefs.inodesFree", "containerfs.available", "containerfs.inodesFree", "pid.available"}) {
    const auto signal = signal_from(name);
    REQUIRE(signal);
    CHECK(name_of(*signal) == name);
  }
  CHECK_FALSE(signal_from("memory"));
}

TEST_CASE("levels are read from a snapshot") {
  usage::Snapshot snapshot;
  snapshot.at = kStart;
  snapshot.node.memory_capacity_bytes = 1000;
  snapshot.node.root.memory.emplace();
  snapshot.node.root.memory->working_set_bytes = 300;
  snapshot.node.max_pids = 100;
  snapshot.node.pids = 40;
  usage::FileSystem disk{.device = {}, .mountpoint = {}, .device_number = 1, .stat = {}};
  disk.stat = {.capacity_bytes = 500, .available_bytes = 100, .inodes = 0, .inodes_free = 0};
  snapshot.node.root_fs = disk;
  usage::SystemContainer pods{.name = "pods", .cgroup = {}};
  pods.cgroup.memory.emplace();
  pods.cgroup.memory->limit_bytes = 800;
  pods.cgroup.memory->working_set_bytes = 900;
  snapshot.node.system.push_back(pods);

  const Levels levels = levels_of(snapshot);

  CHECK(levels.at(Signal::kMemory).available == 700);
  CHECK(levels.at(Signal::kAllocatableMemory).available == 0);
  CHECK(levels.at(Signal::kPids).available == 60);
  CHECK(levels.at(Signal::kNodeFs).available == 100);
  CHECK_FALSE(levels.contains(Signal::kNodeFsInodes));
  CHECK_FALSE(levels.contains(Signal::kImageFs));
}

TEST_CASE("amounts are shown in the greatest binary unit without a rest") {
  CHECK(amount_text(Signal::kMemory, 100 * kMi) == "100Mi");
  CHECK(amount_text(Signal::kMemory, 1536 * kMi) == "1536Mi");
  CHECK(amount_text(Signal::kMemory, 1000) == "1000");
  CHECK(amount_text(Signal::kMemory, 0) == "0");
  CHECK(amount_text(Signal::kNodeFsInodes, 4096) == "4096");
}
