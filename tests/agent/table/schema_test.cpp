#include "agent/table/schema.h"

#include <doctest/doctest.h>

#include <array>

#include "tests/agent/table/table_world.h"

namespace podwright::table {
namespace {

constexpr Migration kOne{1, "CREATE TABLE t (a INTEGER); INSERT INTO t VALUES (1)"};
constexpr Migration kTwo{2, "ALTER TABLE t ADD COLUMN b INTEGER DEFAULT 5; UPDATE t SET a=a+1"};
constexpr Migration kThree{3, "UPDATE t SET b=b*2"};
constexpr Migration kBad{3, "UPDATE t SET a=100; this is no statement"};

std::unique_ptr<Database> open_database(MemoryVfs& disk) {
  const TableFiles files = disk.files();
  auto db = Database::open(files.path, files.vfs, true);
  REQUIRE(db.ok());
  return *std::move(db);
}

TEST_CASE("a new file gets every step, an older one those it lacks, and a current one none") {
  MemoryVfs disk;
  auto db = open_database(disk);
  REQUIRE(bring_forward(*db, std::array{kOne}).ok());
  CHECK(*db->number_of("PRAGMA user_version") == 1);
  CHECK(*db->number_of("PRAGMA application_id") == kApplicationId);

  REQUIRE(bring_forward(*db, std::array{kOne, kTwo, kThree}).ok());
  CHECK(*db->number_of("PRAGMA user_version") == 3);
  CHECK(*db->number_of("SELECT a FROM t") == 2);
  CHECK(*db->number_of("SELECT b FROM t") == 10);

  REQUIRE(bring_forward(*db, std::array{kOne, kTwo, kThree}).ok());
  CHECK(*db->number_of("SELECT b FROM t") == 10);
}

TEST_CASE("a step that fails changes nothing, and those before it stay done") {
  MemoryVfs disk;
  auto db = open_database(disk);
  const absl::Status done = bring_forward(*db, std::array{kOne, kTwo, kBad});
  CHECK(!done.ok());
  CHECK(std::string(done.message()).find("bring the table to schema 3") != std::string::npos);
  CHECK(*db->number_of("PRAGMA user_version") == 2);
  CHECK(*db->number_of("SELECT a FROM t") == 2);
}

TEST_CASE("a power cut in the middle of the steps leaves a table of some version, which goes on from there") {
  for (std::size_t kept = 0; kept < 40; ++kept) {
    CAPTURE(kept);
    MemoryVfs disk;
    auto db = open_database(disk);
    REQUIRE(db->run("PRAGMA locking_mode=EXCLUSIVE; PRAGMA journal_mode=WAL; PRAGMA synchronous=NORMAL").ok());
    REQUIRE(bring_forward(*db, std::array{kOne, kTwo, kThree}).ok());
    disk.power_cut(kept);
    db = open_database(disk);
    REQUIRE(db->run("PRAGMA locking_mode=EXCLUSIVE").ok());
    REQUIRE(bring_forward(*db, std::array{kOne, kTwo, kThree}).ok());
    CHECK(*db->number_of("SELECT a FROM t") == 2);
    CHECK(*db->number_of("SELECT b FROM t") == 10);
  }
}

TEST_CASE("a newer schema is refused with both versions") {
  MemoryVfs disk;
  auto db = open_database(disk);
  REQUIRE(bring_forward(*db, std::array{kOne, kTwo, kThree}).ok());
  const absl::Status refused = bring_forward(*db, std::array{kOne, kTwo});
  CHECK(absl::IsFailedPrecondition(refused));
  CHECK(refused.GetPayload(kNewerSchemaPayload).has_value());
  CHECK(std::string(refused.message()).find("has schema 3, this build knows 2") != std::string::npos);
  CHECK(std::string(refused.message()).find("--state-reset") != std::string::npos);
}

TEST_CASE("a database of another program is not ours") {
  MemoryVfs disk;
  auto db = open_database(disk);
  REQUIRE(db->run("CREATE TABLE theirs (a)").ok());
  CHECK(absl::IsDataLoss(bring_forward(*db, std::array{kOne})));
  CHECK(*db->number_of("SELECT count(*) FROM sqlite_master WHERE name='t'") == 0);
}

TEST_CASE("the versions of this build go up by one each") {
  int version = 0;
  for (const Migration& step : migrations()) CHECK(step.to == ++version);
  CHECK(schema_version() == version);
}

}  // namespace
}  // namespace podwright::table
