#include "agent/table/render.h"

#include <doctest/doctest.h>

#include <filesystem>

#include "agent/table/schema.h"
#include "api/document.h"
#include "tests/agent/table/table_world.h"

namespace podwright::table {
namespace {

using namespace std::chrono_literals;

pods::PodRecord a_rich_record() {
  auto record = a_record("u1");
  record.admitted = true;
  record.origin = "/m/web.yaml";
  record.boot = BootId("b1");
  record.sandbox = {SandboxId("0123456789abcdef"), 2, true};
  pods::ContainerRecord& c = record.containers[ContainerName("app")];
  c.state = pods::InstanceState::kRunning;
  c.id = ContainerId("fedcba9876543210");
  c.attempt = 3;
  c.started = true;
  c.image_ref = "sha256:1";
  c.hash = "h";
  c.exit.emplace();
  c.exit->exit_code = 137;
  c.exit->reason = "OOMKilled";
  c.backoff.delay = 20s;
  c.probes[pods::ProbeKind::kReadiness] = {false, 2, false, false};
  record.volumes = {{"v", "kubernetes.io/empty-dir", "/r/v", true}};
  record.devices[ContainerName("app")][ResourceName("example.test/dev")] = {"d0", "d1"};
  record.userns_base = 131072;
  return record;
}

void fill(TableWorld& world) {
  world.open();
  world.table->set_boot(BootId("b1"));
  REQUIRE(world.commit(a_rich_record()).ok());
  REQUIRE(world.commit(a_record("u2")).ok());
  world.end_agent();
}

TEST_CASE("a table is read without an agent, and not changed by it") {
  TableWorld world;
  fill(world);
  const std::string before = world.disk.content("/state.db");
  const auto content = read_table(world.disk.files());
  REQUIRE_MESSAGE(content.ok(), std::string(content.status().message()));
  CHECK(content->schema == schema_version());
  CHECK(content->boot.value == "b1");
  CHECK(content->records.size() == 2);
  CHECK(to_text(*content) ==
        "schema 1, boot b1, 2 pods\ndefault/pod-u1  u1  file  Admitted  1 containers\n"
        "default/pod-u2  u2  file  Seen  0 containers\n");
  CHECK(world.disk.content("/state.db") == before);
}

TEST_CASE("one pod, in full") {
  const std::string text = to_text(a_rich_record());
  for (const char* part :
       {"pod default/pod-u1\n", "uid u1, from file /m/web.yaml\n", "sandbox 0123456789ab, attempt 2, being made\n",
        "address 10.0.0.1\n", "container app: running, id fedcba987654, attempt 3, started\n",
        "image sha256:1, hash h\n", "last end: 137 OOMKilled", "back-off 20s\n", "Readiness: 2 bad in a row\n",
        "volume v: kubernetes.io/empty-dir at /r/v, mounted\n", "devices of app: example.test/dev = d0 d1\n",
        "user namespace from 131072\n"}) {
    CAPTURE(part);
    CHECK_MESSAGE(text.find(part) != std::string::npos, text);
  }
}

TEST_CASE("how a pod stands is told by its record") {
  auto record = a_record("u1");
  record.admitted = true;
  record.termination.emplace();
  record.termination->wish.reason = pods::StopReason::kEvicted;
  record.termination->grace = 30s;
  CHECK(to_text(record).find("Terminating, first seen") != std::string::npos);
  CHECK(to_text(record).find("stopping: " + std::string(pods::name_of(pods::StopReason::kEvicted)) + ", grace 30s\n") !=
        std::string::npos);
  record.terminal = pods::TerminalRecord{false, "Evicted", "low on memory"};
  CHECK(to_text(record).find("Failed, first seen") != std::string::npos);
  CHECK(to_text(record).find("final: Evicted low on memory\n") != std::string::npos);
  record.terminal->succeeded = true;
  CHECK(to_text(record).find("Succeeded, first seen") != std::string::npos);
}

TEST_CASE("a table without fault has nothing to tell") {
  TableWorld world;
  fill(world);
  const auto wrong = check_table(world.disk.files());
  REQUIRE(wrong.ok());
  CHECK(wrong->empty());
}

TEST_CASE("what is wrong with a table is told line by line") {
  TableWorld world;
  world.open();
  auto bare = a_record("u1");
  bare.pod = nullptr;
  REQUIRE(world.commit(bare).ok());
  world.end_agent();
  const auto wrong = check_table(world.disk.files());
  REQUIRE(wrong.ok());
  REQUIRE(wrong->size() == 1);
  CHECK(wrong->at(0) == "pod default/pod-u1 (u1) has no spec");

  std::string torn = world.disk.content("/state.db");
  std::fill(torn.begin() + 4096, torn.begin() + 8192, '\0');
  world.disk.set_content("/state.db", torn);
  CHECK(!check_table(world.disk.files())->empty());

  world.disk.set_content("/state.db", std::string(5000, 'x'));
  CHECK(!check_table(world.disk.files())->empty());
}

TEST_CASE("a table that is not there is an error") {
  MemoryVfs disk;
  CHECK(absl::IsNotFound(read_table(disk.files()).status()));
  CHECK(absl::IsNotFound(check_table(disk.files()).status()));
  CHECK(absl::IsNotFound(export_table(disk.files()).status()));
  CHECK(disk.names().empty());
}

TEST_CASE("an export is one JSON document of every row, also of a newer schema") {
  TableWorld world;
  fill(world);
  {
    const TableFiles files = world.disk.files();
    auto db = Database::open(files.path, files.vfs, true);
    REQUIRE(db.ok());
    REQUIRE((*db)->run("PRAGMA locking_mode=EXCLUSIVE").ok());
    REQUIRE((*db)
                ->run(fmt::format("PRAGMA user_version={}; CREATE TABLE future (\"a\"\"b\" TEXT, r REAL, x BLOB);"
                                  "INSERT INTO future VALUES ('say \"hi\"\n', 1.5, x'00ff')",
                                  schema_version() + 1))
                .ok());
  }
  CHECK(read_table(world.disk.files()).status().GetPayload(kNewerSchemaPayload).has_value());
  const auto exported = export_table(world.disk.files());
  REQUIRE_MESSAGE(exported.ok(), std::string(exported.status().message()));
  const auto document = api::parse_json(*exported);
  REQUIRE_MESSAGE(document.ok(), *exported);
  CHECK(document->find("schema")->text == std::to_string(schema_version() + 1));
  CHECK(document->find("pods")->items.size() == 2);
  CHECK(document->find("pods")->items[0].find("uid")->text == "u1");
  CHECK(document->find("exits")->items.at(0).find("exit_code")->text == "137");
  const api::Node& future = document->find("future")->items.at(0);
  CHECK(future.find("a\"b")->text == "say \"hi\"\n");
  CHECK(future.find("r")->text == "1.5");
  CHECK(future.find("x")->text == "00ff");
}

TEST_CASE("a table in the machine's files is read beside its agent and after it") {
  const auto folder = std::filesystem::temp_directory_path() / fmt::format("podwright-table-{}", SystemRng().hex(12));
  std::filesystem::create_directories(folder);
  const TableFiles files = machine_files((folder / "state.db").string());
  {
    SimLoop loop;
    SimOffload offload(loop);
    auto table = SqliteTable::open(loop, offload, files);
    REQUIRE_MESSAGE(table.ok(), std::string(table.status().message()));
    REQUIRE(run_and_get(loop, (*table)->commit(a_record("u1"), Durability::kPowerSafe)).ok());
    CHECK(read_table(files)->records.size() == 1);
  }
  CHECK(read_table(files)->records.size() == 1);
  CHECK(check_table(files)->empty());
  CHECK(!machine_files("/x").rename((folder / "none").string(), (folder / "to").string()).ok());
  std::filesystem::remove_all(folder);
}

}  // namespace
}  // namespace podwright::table
