#include <doctest/doctest.h>

#include "agent/table/schema.h"
#include "tests/agent/table/table_world.h"

namespace podwright::table {
namespace {

const std::string kPath = "/state.db";
const std::string kAside = "/state.db.broken-20260101T000000Z";

// A world whose disk has a table with two pods, and no agent.
void fill(TableWorld& world) {
  world.open();
  world.table->set_boot(BootId("b1"));
  for (int i = 0; i < 100; ++i) REQUIRE(world.commit(a_record("u" + std::to_string(i)), Durability::kPowerSafe).ok());
  // A clean end brings all of it into the one file.
  world.end_agent();
}

void check_set_aside(TableWorld& world, const std::string& bytes) {
  world.open();
  CHECK(world.table->set_aside() == kAside);
  CHECK(world.table->load().empty());
  CHECK(world.table->last_boot().empty());
  CHECK(world.disk.content(kAside) == bytes);
  REQUIRE(world.commit(a_record("new"), Durability::kPowerSafe).ok());
  world.power_cut();
  CHECK(world.loaded() == "new=10.0.0.1");
  CHECK(world.table->set_aside().empty());
}

TEST_CASE("a new table is empty") {
  TableWorld world;
  world.open();
  CHECK(world.table->load().empty());
  CHECK(world.table->last_boot().empty());
  CHECK(world.table->set_aside().empty());
  CHECK(world.table->state().writable);
}

TEST_CASE("a table is read as it was left, once") {
  TableWorld world;
  fill(world);
  world.open();
  CHECK(world.table->last_boot().value == "b1");
  CHECK(world.table->load().size() == 100);
  CHECK(world.table->load().empty());
}

TEST_CASE("a foreign file is set aside and an empty table takes its place") {
  TableWorld world;
  const std::string foreign = "#!/bin/sh\n" + std::string(8192, 'x');
  world.disk.set_content(kPath, foreign);
  check_set_aside(world, foreign);
}

TEST_CASE("a database of another program is set aside") {
  TableWorld world;
  {
    const TableFiles files = world.disk.files();
    auto db = Database::open(files.path, files.vfs, true);
    REQUIRE(db.ok());
    REQUIRE((*db)->run("CREATE TABLE theirs (a); INSERT INTO theirs VALUES (1)").ok());
  }
  check_set_aside(world, world.disk.content(kPath));
}

TEST_CASE("a truncated file is set aside, wherever it was cut") {
  TableWorld whole;
  fill(whole);
  const std::string bytes = whole.disk.content(kPath);
  REQUIRE(bytes.size() > 10 * 4096);
  for (const std::size_t size : {std::size_t{50}, std::size_t{99}, std::size_t{100}, std::size_t{2048},
                                 std::size_t{4096}, bytes.size() / 2, bytes.size() - 4096}) {
    CAPTURE(size);
    TableWorld world;
    world.disk.set_content(kPath, bytes.substr(0, size));
    check_set_aside(world, bytes.substr(0, size));
  }
}

TEST_CASE("a torn page is never taken for a record: the table is set aside, or the page was of no use") {
  TableWorld whole;
  fill(whole);
  const std::string bytes = whole.disk.content(kPath);
  int set_aside = 0;
  const std::size_t pages = bytes.size() / 4096;
  for (std::size_t page = 0; page < pages; ++page) {
    CAPTURE(page);
    TableWorld world;
    std::string torn = bytes;
    // The head of the page is what the disk had not written yet.
    std::fill_n(torn.begin() + static_cast<std::ptrdiff_t>(page * 4096), 512, '\0');
    world.disk.set_content(kPath, torn);
    world.open();
    if (world.table->set_aside().empty()) {
      CHECK(world.table->load().size() == 100);
    } else {
      ++set_aside;
      CHECK(world.table->load().empty());
    }
  }
  CHECK(set_aside > static_cast<int>(pages / 2));
}

TEST_CASE("random damage never ends the agent") {
  TableWorld whole;
  fill(whole);
  const std::string bytes = whole.disk.content(kPath);
  SeededRng rng(7);
  for (int round = 0; round < 100; ++round) {
    CAPTURE(round);
    TableWorld world;
    std::string damaged = bytes;
    const uint64_t spots = 1 + rng.below(20);
    for (uint64_t i = 0; i < spots; ++i) damaged[rng.below(damaged.size())] = static_cast<char>(rng.next());
    world.disk.set_content(kPath, damaged);
    const absl::Status opened = world.try_open();
    // A damaged version number may look like a newer schema, which is a person's to decide.
    if (!opened.ok()) CHECK(opened.GetPayload(kNewerSchemaPayload).has_value());
    if (world.table) {
      (void)world.table->load();
      (void)world.commit(a_record("u1"));
    }
  }
}

TEST_CASE("an empty file is a new table") {
  TableWorld world;
  world.disk.set_content(kPath, "");
  world.open();
  CHECK(world.table->set_aside().empty());
  CHECK(world.commit(a_record("a")).ok());
}

TEST_CASE("a newer schema is refused and not a byte of it is touched") {
  TableWorld world;
  fill(world);
  {
    const TableFiles files = world.disk.files();
    auto db = Database::open(files.path, files.vfs, true);
    REQUIRE(db.ok());
    REQUIRE((*db)->run("PRAGMA locking_mode=EXCLUSIVE").ok());
    REQUIRE((*db)->run(fmt::format("PRAGMA user_version={}", schema_version() + 1)).ok());
    REQUIRE((*db)->run("CREATE TABLE future (a)").ok());
    // Ends as by a crash, so that the newer agent's log is there too.
    world.disk.crash();
  }
  const auto names = world.disk.names();
  std::vector<std::string> before;
  for (const auto& name : names) before.push_back(world.disk.content(name));

  const absl::Status refused = world.try_open();
  CHECK(absl::IsFailedPrecondition(refused));
  CHECK(refused.GetPayload(kNewerSchemaPayload).has_value());

  CHECK(world.disk.names() == names);
  for (std::size_t i = 0; i < names.size(); ++i) CHECK(world.disk.content(names[i]) == before[i]);
}

TEST_CASE("setting aside takes the side files along; what is not there is fine") {
  MemoryVfs disk;
  disk.set_content(kPath, "one");
  disk.set_content(kPath + "-wal", "two");
  const auto aside = put_aside(disk.files(), "reset", WallTime(std::chrono::seconds(1'767'225'600)));
  REQUIRE(aside.ok());
  CHECK(*aside == "/state.db.reset-20260101T000000Z");
  CHECK(disk.content(*aside) == "one");
  CHECK(disk.content(*aside + "-wal") == "two");
  CHECK(disk.names().size() == 2);
  CHECK(put_aside(disk.files(), "reset", WallTime()).ok());
}

}  // namespace
}  // namespace podwright::table
