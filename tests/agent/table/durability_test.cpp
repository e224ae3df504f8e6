#include <doctest/doctest.h>

#include <map>
#include <optional>

#include "base/co/scope.h"
#include "tests/agent/table/table_world.h"

namespace podwright::table {
namespace {

Co<void> commit_into(PodTable& table, pods::PodRecord record, Durability durability,
                     std::optional<absl::Status>* into) {
  *into = co_await table.commit(std::move(record), durability);
}

Co<void> note_change(PodTable& table, Instant deadline, std::optional<Wait>* into) {
  *into = co_await table.state_changed(deadline);
}

TEST_CASE("what is committed crash-safe survives the end of the agent, and costs no sync") {
  TableWorld world;
  world.open();
  const uint64_t syncs = world.disk.syncs();
  REQUIRE(world.commit(a_record("a")).ok());
  REQUIRE(world.commit(a_record("a", "10.0.0.2")).ok());
  CHECK(world.disk.syncs() == syncs);
  world.restart();
  CHECK(world.loaded() == "a=10.0.0.2");
}

TEST_CASE("what is committed power-safe survives a power cut, and so does all before it") {
  TableWorld world;
  world.open();
  REQUIRE(world.commit(a_record("a")).ok());
  REQUIRE(world.commit(a_record("b"), Durability::kPowerSafe).ok());
  REQUIRE(world.commit(a_record("c")).ok());
  world.power_cut();
  CHECK(world.loaded() == "a=10.0.0.1 b=10.0.0.1");
}

TEST_CASE("a flush is power-safe also where nothing is queued") {
  TableWorld world;
  world.open();
  REQUIRE(world.commit(a_record("a")).ok());
  REQUIRE(run_and_get(*world.loop, world.table->flush(Durability::kPowerSafe)).ok());
  world.power_cut();
  CHECK(world.loaded() == "a=10.0.0.1");
}

TEST_CASE("wherever the power goes, the table opens and holds a prefix of what was committed") {
  for (std::size_t kept = 0; kept < 60; ++kept) {
    CAPTURE(kept);
    TableWorld world;
    world.open();
    REQUIRE(world.commit(a_record("a", "0"), Durability::kPowerSafe).ok());
    for (int i = 1; i <= 9; ++i) REQUIRE(world.commit(a_record("a", std::to_string(i))).ok());
    world.power_cut(kept);
    CHECK(world.table->set_aside().empty());
    const auto records = world.table->load();
    REQUIRE(records.size() == 1);
    if (kept == 0) CHECK(records[0].pod_ips[0] == "0");
  }
}

TEST_CASE("records that are only put are written soon, joined to the newest") {
  TableWorld world;
  world.open();
  for (int i = 0; i < 100; ++i) world.table->put(a_record("a", std::to_string(i)));
  world.table->put(a_record("b"));
  CHECK(world.table->state().queued > 0);
  world.loop->run_for(10ms);
  CHECK(world.table->state().queued == 0);
  world.restart();
  CHECK(world.loaded() == "a=99 b=10.0.0.1");
}

TEST_CASE("a pod that is forgotten stays forgotten") {
  TableWorld world;
  world.open();
  REQUIRE(world.commit(a_record("a")).ok());
  REQUIRE(world.commit(a_record("b")).ok());
  REQUIRE(run_and_get(*world.loop, world.table->erase(PodUid("a"))).ok());
  world.restart();
  CHECK(world.loaded() == "b=10.0.0.1");
  REQUIRE(world.commit(a_record("a", "again")).ok());
  world.restart();
  CHECK(world.loaded() == "a=again b=10.0.0.1");
}

TEST_CASE("the boot that was last written in is remembered") {
  TableWorld world;
  world.open();
  world.table->set_boot(BootId("b1"));
  REQUIRE(run_and_get(*world.loop, world.table->flush(Durability::kCrashSafe)).ok());
  world.restart();
  CHECK(world.table->last_boot().value == "b1");
}

TEST_CASE("many waiters share one commit") {
  TableWorld world;
  world.open();
  const uint64_t syncs = world.disk.syncs();
  Scope scope(*world.loop);
  std::vector<std::optional<absl::Status>> results(50);
  for (std::size_t i = 0; i < results.size(); ++i) {
    scope.spawn("commit",
                commit_into(*world.table, a_record("u" + std::to_string(i)), Durability::kPowerSafe, &results[i]));
  }
  world.loop->run_for(1s);
  for (const auto& result : results) CHECK((result && result->ok()));
  CHECK(world.disk.syncs() - syncs <= 4);
  world.power_cut();
  CHECK(world.table->load().size() == 50);
}

TEST_CASE("while the disk is full records stay in memory, and are written once there is room") {
  TableWorld world;
  world.open();
  REQUIRE(world.commit(a_record("a", "old")).ok());
  Scope scope(*world.loop);
  std::optional<Wait> change;
  scope.spawn("change", note_change(*world.table, Instant::max(), &change));
  world.disk.set_full(true);

  const absl::Status refused = world.commit(a_record("a", "new"), Durability::kPowerSafe);
  CHECK(absl::IsResourceExhausted(refused));
  world.table->put(a_record("b"));
  world.loop->run_for(60s);
  CHECK(change == Wait::kRung);
  CHECK(!world.table->state().writable);
  CHECK(world.table->state().queued == 2);
  CHECK(world.table->state().problem.find("full") != std::string::npos);
  const Instant since = world.table->state().since;
  CHECK(since <= world.loop->now() - 59s);

  std::optional<Wait> back;
  scope.spawn("change", note_change(*world.table, Instant::max(), &back));
  world.table->put(a_record("a", "newest"));
  world.disk.set_full(false);
  world.loop->run_for(3s);
  CHECK(back == Wait::kRung);
  CHECK(world.table->state().writable);
  CHECK(world.table->state().problem.empty());
  CHECK(world.table->state().queued == 0);
  world.restart();
  CHECK(world.loaded() == "a=newest b=10.0.0.1");
}

TEST_CASE("a full disk loses nothing of what was committed before") {
  TableWorld world;
  world.open();
  REQUIRE(world.commit(a_record("a", "old")).ok());
  world.disk.set_full(true);
  CHECK(!world.commit(a_record("a", "new")).ok());
  world.restart();
  CHECK(world.loaded() == "a=old");
}

TEST_CASE("an agent starts on a full disk with what it had") {
  TableWorld world;
  world.open();
  REQUIRE(world.commit(a_record("a")).ok());
  world.disk.set_full(true);
  world.restart();
  CHECK(world.table->set_aside().empty());
  CHECK(world.loaded() == "a=10.0.0.1");
  CHECK(!world.commit(a_record("b")).ok());
  world.disk.set_full(false);
  world.loop->run_for(3s);
  CHECK(world.table->state().writable);
}

TEST_CASE("a cancelled wait leaves the record queued") {
  TableWorld world;
  world.open();
  world.disk.set_full(true);
  Scope scope(*world.loop);
  std::optional<absl::Status> result;
  scope.spawn("commit", commit_into(*world.table, a_record("a"), Durability::kCrashSafe, &result));
  scope.cancel();
  world.loop->run_for(1s);
  REQUIRE(result);
  CHECK(!result->ok());
  world.disk.set_full(false);
  world.loop->run_for(3s);
  world.restart();
  CHECK(world.loaded() == "a=10.0.0.1");
}

// Random work, killed or cut at random: whatever was acknowledged is there afterwards, or something newer.
struct Promise {
  int acknowledged = -1;  // the newest version that must survive; -1: none
  int newest = -1;        // the newest that was asked for
};

void random_life(uint64_t seed, bool cut) {
  CAPTURE(seed);
  TableWorld world(seed);
  SeededRng rng(seed);
  std::map<std::string, Promise> promises;
  world.open();
  for (int life = 0; life < 4; ++life) {
    const uint64_t operations = rng.below(30);
    for (uint64_t i = 0; i < operations; ++i) {
      const std::string uid = "u" + std::to_string(rng.below(4));
      Promise& promise = promises[uid];
      const int version = ++promise.newest;
      if (rng.below(3) == 0) {
        world.table->put(a_record(uid, std::to_string(version)));
        continue;
      }
      const bool power_safe = rng.below(2) == 0;
      REQUIRE(world
                  .commit(a_record(uid, std::to_string(version)),
                          power_safe ? Durability::kPowerSafe : Durability::kCrashSafe)
                  .ok());
      if (power_safe || !cut) promise.acknowledged = version;
    }
    const uint64_t steps = rng.below(5);
    for (uint64_t i = 0; i < steps; ++i) world.loop->step();
    if (cut) {
      world.power_cut(rng.below(50));
    } else {
      world.restart();
    }
    CHECK(world.table->set_aside().empty());
    std::map<std::string, int> found;
    for (const auto& record : world.table->load()) found[record.uid.value] = std::stoi(record.pod_ips.at(0));
    for (auto& [uid, promise] : promises) {
      const int version = found.contains(uid) ? found[uid] : -1;
      CHECK(version >= promise.acknowledged);
      CHECK(version <= promise.newest);
      promise.acknowledged = version;
    }
  }
}

TEST_CASE("what was acknowledged survives any crash") {
  for (uint64_t seed = 1; seed <= 30; ++seed) random_life(seed, false);
}

TEST_CASE("what was acknowledged power-safe survives any power cut") {
  for (uint64_t seed = 1; seed <= 30; ++seed) random_life(seed, true);
}

}  // namespace
}  // namespace podwright::table
