#include "agent/table/schema.h"

#include <absl/strings/cord.h>

#include <array>

#include "base/status/annotate.h"

namespace podwright::table {
namespace {

// Times ending in _at are nanoseconds: *_boot_at of CLOCK_BOOTTIME in the boot of pods.boot_id, others since the epoch.
constexpr char kVersion1[] = R"sql(
CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT) WITHOUT ROWID;
CREATE TABLE pods (
  uid TEXT PRIMARY KEY, namespace TEXT, name TEXT, source TEXT, origin TEXT,
  first_seen_at INTEGER, active_since_boot_at INTEGER, admitted INTEGER, boot_id TEXT,
  sandbox_id TEXT, sandbox_attempt INTEGER, sandbox_making INTEGER, pod_ips TEXT,
  initialized_in_sandbox TEXT, initialized_once INTEGER,
  stop_reason INTEGER, stop_grace_seconds INTEGER, stop_status_reason TEXT, stop_status_message TEXT,
  stop_deadline_boot_at INTEGER, stop_used_grace_seconds INTEGER, stop_requested_at INTEGER,
  terminal_succeeded INTEGER, terminal_reason TEXT, terminal_message TEXT,
  userns_base INTEGER, last_status BLOB) WITHOUT ROWID;
CREATE TABLE specs (pod_uid TEXT PRIMARY KEY, spec BLOB) WITHOUT ROWID;
CREATE TABLE containers (
  pod_uid TEXT, name TEXT, state INTEGER, id TEXT, sandbox_id TEXT, attempt INTEGER, image_ref TEXT, hash TEXT,
  started INTEGER, ready INTEGER, started_at INTEGER, running_since_boot_at INTEGER, post_start_done INTEGER,
  backoff_seconds INTEGER, backoff_updated_boot_at INTEGER, backoff_key TEXT,
  start_once INTEGER, succeeded_for_good INTEGER, termination_message_path TEXT,
  PRIMARY KEY (pod_uid, name)) WITHOUT ROWID;
CREATE TABLE exits (
  pod_uid TEXT, container TEXT, which TEXT, container_id TEXT, exit_code INTEGER, known INTEGER, reason TEXT,
  message TEXT, started_at INTEGER, finished_at INTEGER, learnt_boot_at INTEGER, restart_count INTEGER,
  PRIMARY KEY (pod_uid, container, which)) WITHOUT ROWID;
CREATE TABLE probes (
  pod_uid TEXT, container TEXT, kind INTEGER, last_ok INTEGER, run INTEGER, published INTEGER, on_hold INTEGER,
  PRIMARY KEY (pod_uid, container, kind)) WITHOUT ROWID;
CREATE TABLE volumes (
  pod_uid TEXT, position INTEGER, name TEXT, kind TEXT, path TEXT, mounted INTEGER,
  PRIMARY KEY (pod_uid, position)) WITHOUT ROWID;
CREATE TABLE devices (
  pod_uid TEXT, container TEXT, resource TEXT, position INTEGER, device TEXT,
  PRIMARY KEY (pod_uid, container, resource, position)) WITHOUT ROWID;
)sql";

constexpr std::array kMigrations = {Migration{1, kVersion1}};

absl::Status apply(Database& db, const Migration& step) {
  if (absl::Status begun = db.run("BEGIN IMMEDIATE"); !begun.ok()) return begun;
  absl::Status done = db.run(step.sql);
  if (done.ok()) done = db.run(fmt::format("PRAGMA user_version={}", step.to));
  if (done.ok()) done = db.run(fmt::format("PRAGMA application_id={}", kApplicationId));
  if (done.ok()) done = db.run("COMMIT");
  if (done.ok()) return done;
  if (const absl::Status undone = db.run("ROLLBACK"); !undone.ok()) return annotate(done, "{}", text_of(undone));
  return annotate(done, "bring the table to schema {}", step.to);
}

}  // namespace

std::span<const Migration> migrations() {
  return kMigrations;
}

int schema_version() {
  return kMigrations.back().to;
}

absl::StatusOr<int> check_version(Database& db, int newest) {
  const auto version = db.number_of("PRAGMA user_version");
  if (!version.ok()) return version.status();
  const auto application = db.number_of("PRAGMA application_id");
  if (!application.ok()) return application.status();
  const auto tables = db.number_of("SELECT count(*) FROM sqlite_master");
  if (!tables.ok()) return tables.status();
  if (*application != kApplicationId && (*tables > 0 || *version != 0)) {
    return absl::DataLossError("the file is a database of another program");
  }
  if (*version > newest) {
    absl::Status newer = make_status(
        absl::StatusCode::kFailedPrecondition,
        "the table has schema {}, this build knows {}: start the newer podwright, or set the table aside with "
        "--state-reset (the node is then rebuilt from the runtime)",
        *version, newest);
    newer.SetPayload(kNewerSchemaPayload, absl::Cord("1"));
    return newer;
  }
  return static_cast<int>(*version);
}

absl::Status bring_forward(Database& db, std::span<const Migration> steps) {
  const auto version = check_version(db, steps.empty() ? 0 : steps.back().to);
  if (!version.ok()) return version.status();
  for (const Migration& step : steps) {
    if (step.to <= *version) continue;
    if (absl::Status done = apply(db, step); !done.ok()) return done;
  }
  return absl::OkStatus();
}

}  // namespace podwright::table
