#include "agent/table/rows.h"

#include <doctest/doctest.h>

#include "agent/table/memory_vfs.h"
#include "agent/table/schema.h"
#include "tests/agent/table/table_world.h"

namespace podwright::table {
namespace {

using namespace std::chrono_literals;

std::unique_ptr<Database> a_database(MemoryVfs& disk) {
  const TableFiles files = disk.files();
  auto db = Database::open(files.path, files.vfs, true);
  REQUIRE(db.ok());
  REQUIRE(bring_forward(**db, migrations()).ok());
  return *std::move(db);
}

pods::ExitRecord an_exit(const std::string& id) {
  pods::ExitRecord e;
  e.container = ContainerId(id);
  e.exit_code = -3;
  e.known = false;
  e.reason = "OOMKilled";
  e.message = std::string("line\n\"quoted\" \xff\x00 end", 20);
  e.started_at = WallTime(1s);
  e.finished_at = WallTime(2s);
  e.learnt_at = Instant(3s);
  e.restart_count = 4;
  return e;
}

pods::ContainerRecord a_container() {
  pods::ContainerRecord c;
  c.state = pods::InstanceState::kStarting;
  c.id = ContainerId("c1");
  c.sandbox = SandboxId("s1");
  c.attempt = 7;
  c.image_ref = "sha256:1";
  c.hash = "abc";
  c.started = true;
  c.ready = true;
  c.started_at = WallTime(11s);
  c.running_since = Instant(12s);
  c.post_start_done = true;
  c.exit = an_exit("c1");
  c.last_exit = an_exit("c0");
  c.last_exit->exit_code = 0;
  c.last_exit->known = true;
  c.backoff = {40s, Instant(13s), "image@1"};
  c.probes[pods::ProbeKind::kLiveness] = {false, 2, true, true};
  c.probes[pods::ProbeKind::kReadiness] = {true, 1, false, false};
  c.probes[pods::ProbeKind::kStartup] = {true, 0, std::nullopt, false};
  c.start_once = true;
  c.succeeded_for_good = true;
  c.termination_message_path = "/r/message";
  return c;
}

pods::PodRecord a_full_record() {
  pods::PodRecord r;
  r.uid = PodUid("u1");
  r.key = {"ns", "web"};
  r.source = pods::SourceKind::kApi;
  r.origin = "/etc/manifests/web.yaml";
  r.first_seen = WallTime(21s);
  r.active_since = Instant(22s);
  r.admitted = true;
  r.boot = BootId("b1");
  r.sandbox = {SandboxId("s1"), 5, true};
  r.pod_ips = {"10.1.0.2", "fd00::2"};
  r.containers[ContainerName("a")] = a_container();
  r.containers[ContainerName("b")] = {};
  r.initialized_in = SandboxId("s1");
  r.initialized_once = true;
  r.termination = pods::TerminationRecord{
      {pods::StopReason::kEvicted, 9s, "Evicted", "low on memory"}, Instant(23s), 8s, WallTime(24s)};
  r.terminal = pods::TerminalRecord{true, "Done", "all well"};
  r.volumes = {{"z", "kubernetes.io/empty-dir", "/r/z", true}, {"a", "kubernetes.io/secret", "/r/a", false}};
  r.userns_base = 131072;
  r.devices[ContainerName("a")][ResourceName("example.test/dev")] = {"d2", "d0"};
  r.last_status = std::string("\x0a\x00\xff", 3);
  return r;
}

// Equal but for the pointers: the table makes a pod of its own.
void check_same(const pods::PodRecord& read, pods::PodRecord written) {
  REQUIRE(bool(read.pod) == bool(written.pod));
  if (read.pod) CHECK(read.pod->SerializeAsString() == written.pod->SerializeAsString());
  written.pod = read.pod;
  CHECK(read == written);
}

TEST_CASE("every field of a record is read as it was written") {
  MemoryVfs disk;
  auto db = a_database(disk);
  const auto written = a_full_record();
  REQUIRE(write_record(*db, written, true).ok());

  const auto read = read_records(*db);
  REQUIRE(read.ok());
  REQUIRE(read->size() == 1);
  check_same(read->at(0), written);
}

TEST_CASE("an empty record stays empty") {
  MemoryVfs disk;
  auto db = a_database(disk);
  pods::PodRecord written;
  written.uid = PodUid("u1");
  REQUIRE(write_record(*db, written, true).ok());
  check_same(read_records(*db)->at(0), written);
}

TEST_CASE("a record takes the place of the one before, and leaves no row of it") {
  MemoryVfs disk;
  auto db = a_database(disk);
  REQUIRE(write_record(*db, a_full_record(), true).ok());
  pods::PodRecord bare;
  bare.uid = PodUid("u1");
  REQUIRE(write_record(*db, bare, true).ok());
  check_same(read_records(*db)->at(0), bare);
  for (const char* table : {"containers", "exits", "probes", "volumes", "devices", "specs"}) {
    CAPTURE(table);
    CHECK(*db->number_of(std::string("SELECT count(*) FROM ") + table) == 0);
  }
}

TEST_CASE("a spec that did not change is not written again") {
  MemoryVfs disk;
  auto db = a_database(disk);
  auto record = a_record("u1");
  REQUIRE(write_record(*db, record, true).ok());
  const auto spec = record.pod;
  record.pod = nullptr;
  REQUIRE(write_record(*db, record, false).ok());
  const auto read = read_records(*db);
  REQUIRE(read->at(0).pod != nullptr);
  CHECK(read->at(0).pod->metadata().name() == spec->metadata().name());
}

TEST_CASE("a pod that is forgotten leaves nothing, and others stay") {
  MemoryVfs disk;
  auto db = a_database(disk);
  REQUIRE(write_record(*db, a_full_record(), true).ok());
  REQUIRE(write_record(*db, a_record("u2"), true).ok());
  REQUIRE(erase_record(*db, PodUid("u1")).ok());
  const auto read = read_records(*db);
  REQUIRE(read->size() == 1);
  CHECK(read->at(0).uid.value == "u2");
  CHECK(*db->number_of("SELECT count(*) FROM exits") == 0);
  CHECK(erase_record(*db, PodUid("u1")).ok());
}

TEST_CASE("rows without a pod's row are left out") {
  MemoryVfs disk;
  auto db = a_database(disk);
  REQUIRE(db->run("INSERT INTO containers(pod_uid, name, state) VALUES('gone', 'a', 1)").ok());
  REQUIRE(db->run("INSERT INTO volumes(pod_uid, position) VALUES('gone', 0)").ok());
  CHECK(read_records(*db)->empty());
}

TEST_CASE("values that no build writes mean a damaged table, not a wrong record") {
  for (const std::string sql :
       {"UPDATE containers SET state=99", "UPDATE containers SET state=-1", "UPDATE probes SET kind=7 WHERE kind=0",
        "UPDATE pods SET stop_reason=50", "UPDATE pods SET source='nowhere'", "UPDATE specs SET spec=x'ffffff'"}) {
    CAPTURE(sql);
    MemoryVfs disk;
    auto db = a_database(disk);
    auto record = a_full_record();
    record.pod = a_record("u1").pod;
    REQUIRE(write_record(*db, record, true).ok());
    REQUIRE(db->run(sql).ok());
    CHECK(absl::IsDataLoss(read_records(*db).status()));
  }
}

}  // namespace
}  // namespace podwright::table
