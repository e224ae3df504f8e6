#include "agent/table/render.h"

#include "agent/table/rows.h"
#include "agent/table/schema.h"
#include "api/document.h"
#include "base/status/annotate.h"

namespace podwright::table {
namespace {

std::string_view name_of(pods::InstanceState state) {
  switch (state) {
    case pods::InstanceState::kNone: return "none";
    case pods::InstanceState::kCreating: return "creating";
    case pods::InstanceState::kCreated: return "created";
    case pods::InstanceState::kStarting: return "starting";
    case pods::InstanceState::kRunning: return "running";
    case pods::InstanceState::kExited: return "exited";
  }
  std::abort();  // not one of the enumerators: memory is broken
}

std::string state_of(const pods::PodRecord& record) {
  if (record.terminal) return record.terminal->succeeded ? "Succeeded" : "Failed";
  if (record.termination) return "Terminating";
  return record.admitted ? "Admitted" : "Seen";
}

void add_exit(std::string& text, std::string_view title, const std::optional<pods::ExitRecord>& e) {
  if (!e) return;
  text += fmt::format("    {}: {} {} {}, container {}, {} to {}{}{}\n", title, e->exit_code, e->reason,
                      e->known ? "" : "(not known)", short_id(e->container), to_rfc3339(e->started_at),
                      to_rfc3339(e->finished_at), e->message.empty() ? "" : ": ", e->message);
}

void add_container(std::string& text, const ContainerName& name, const pods::ContainerRecord& c) {
  text += fmt::format("  container {}: {}, id {}, attempt {}{}{}\n", name, name_of(c.state),
                      c.id.empty() ? "-" : std::string(short_id(c.id)), c.attempt, c.started ? ", started" : "",
                      c.ready ? ", ready" : "");
  text += fmt::format("    image {}, hash {}\n", c.image_ref, c.hash);
  add_exit(text, "last end", c.exit);
  add_exit(text, "end before", c.last_exit);
  if (c.backoff.delay > 0s) text += fmt::format("    back-off {}\n", podwright::to_text(Duration(c.backoff.delay)));
  for (const auto& [kind, probe] : c.probes) {
    text += fmt::format("    {}: {} {} in a row{}\n", name_of(kind), probe.run, probe.last_ok ? "good" : "bad",
                        probe.on_hold ? ", on hold" : "");
  }
  if (c.succeeded_for_good) text += "    succeeded, never runs again\n";
}

absl::StatusOr<std::unique_ptr<Database>> open_to_read(const TableFiles& files) {
  auto db = Database::open(files.path, files.vfs, false);
  if (!db.ok()) return annotate(db.status(), "read pod table {}", files.path);
  // Without shared memory a file in WAL mode can be read in this mode only.
  if (files.exclusive) {
    if (absl::Status done = (*db)->run("PRAGMA locking_mode=EXCLUSIVE"); !done.ok()) return done;
  }
  return db;
}

void append_value(std::string& out, sqlite3_stmt* row, int column) {
  switch (sqlite3_column_type(row, column)) {
    case SQLITE_NULL: out += "null"; return;
    case SQLITE_INTEGER: out += std::to_string(sqlite3_column_int64(row, column)); return;
    case SQLITE_BLOB: {
      const auto* bytes = static_cast<const unsigned char*>(sqlite3_column_blob(row, column));
      out += '"';
      for (int i = 0; i < sqlite3_column_bytes(row, column); ++i) out += fmt::format("{:02x}", bytes[i]);
      out += '"';
      return;
    }
    default: api::append_json_string(out, reinterpret_cast<const char*>(sqlite3_column_text(row, column)));
  }
}

absl::Status append_rows(std::string& out, Database& db, const std::string& table) {
  sqlite3_stmt* row = nullptr;
  int code = sqlite3_prepare_v2(db.handle(), ("SELECT * FROM \"" + table + "\"").c_str(), -1, &row, nullptr);
  const Statement owner(row);
  out += "[";
  bool first = true;
  while (code == SQLITE_OK || code == SQLITE_ROW) {
    code = sqlite3_step(row);
    if (code != SQLITE_ROW) break;
    out += first ? "\n    {" : ",\n    {";
    first = false;
    for (int i = 0; i < sqlite3_column_count(row); ++i) {
      if (i > 0) out += ", ";
      api::append_json_string(out, sqlite3_column_name(row, i));
      out += ": ";
      append_value(out, row, i);
    }
    out += "}";
  }
  out += "]";
  return code == SQLITE_DONE ? absl::OkStatus() : sqlite_status(db.handle(), code, "read " + table);
}

absl::StatusOr<TableContent> read_content(Database& db) {
  TableContent content;
  const auto version = check_version(db, schema_version());
  if (!version.ok()) return version.status();
  content.schema = *version;
  if (content.schema != schema_version()) {
    return make_status(absl::StatusCode::kFailedPrecondition,
                       "the table has schema {}, this build reads {}: start the agent once, which brings it forward",
                       content.schema, schema_version());
  }
  auto boot = read_meta(db, "boot_id");
  if (!boot.ok()) return boot.status();
  content.boot = BootId(*std::move(boot));
  auto records = read_records(db);
  if (!records.ok()) return records.status();
  content.records = *std::move(records);
  return content;
}

}  // namespace

absl::StatusOr<TableContent> read_table(const TableFiles& files) {
  auto db = open_to_read(files);
  if (!db.ok()) return db.status();
  return read_content(**db);
}

std::string to_text(const TableContent& content) {
  std::string text = fmt::format("schema {}, boot {}, {} pods\n", content.schema, content.boot, content.records.size());
  for (const auto& record : content.records) {
    text += fmt::format("{}  {}  {}  {}  {} containers\n", record.key, record.uid, pods::name_of(record.source),
                        state_of(record), record.containers.size());
  }
  return text;
}

std::string to_text(const pods::PodRecord& record) {
  std::string text = fmt::format("pod {}\n  uid {}, from {} {}\n  {}, first seen {}, boot {}\n", record.key, record.uid,
                                 pods::name_of(record.source), record.origin, state_of(record),
                                 to_rfc3339(record.first_seen), record.boot);
  text += fmt::format("  sandbox {}, attempt {}{}\n",
                      record.sandbox.id.empty() ? "-" : std::string(short_id(record.sandbox.id)),
                      record.sandbox.attempt, record.sandbox.making ? ", being made" : "");
  if (record.termination) {
    text += fmt::format("  stopping: {}, grace {}\n", pods::name_of(record.termination->wish.reason),
                        podwright::to_text(Duration(record.termination->grace)));
  }
  if (record.terminal) text += fmt::format("  final: {} {}\n", record.terminal->reason, record.terminal->message);
  for (const auto& ip : record.pod_ips) text += fmt::format("  address {}\n", ip);
  for (const auto& [name, container] : record.containers) add_container(text, name, container);
  for (const auto& v : record.volumes) {
    text += fmt::format("  volume {}: {} at {}{}\n", v.name, v.kind, v.path, v.mounted ? ", mounted" : "");
  }
  for (const auto& [name, resources] : record.devices) {
    for (const auto& [resource, ids] : resources) {
      text += fmt::format("  devices of {}: {} = {}\n", name, resource, fmt::join(ids, " "));
    }
  }
  if (record.userns_base) text += fmt::format("  user namespace from {}\n", *record.userns_base);
  return text;
}

absl::StatusOr<std::vector<std::string>> check_table(const TableFiles& files) {
  std::vector<std::string> wrong;
  auto db = open_to_read(files);
  if (!db.ok()) return db.status();
  absl::Status read =
      (*db)->query("PRAGMA integrity_check", [&wrong](Statement& row) { row.read(wrong.emplace_back()); });
  if (!read.ok()) return std::vector<std::string>{podwright::text_of(read)};
  std::erase(wrong, "ok");
  const auto content = read_content(**db);
  if (!content.ok()) {
    wrong.push_back(podwright::text_of(content.status()));
    return wrong;
  }
  for (const auto& record : content->records) {
    if (!record.pod) wrong.push_back(fmt::format("pod {} ({}) has no spec", record.key, record.uid));
  }
  return wrong;
}

absl::StatusOr<std::string> export_table(const TableFiles& files) {
  auto db = open_to_read(files);
  if (!db.ok()) return db.status();
  const auto version = (*db)->number_of("PRAGMA user_version");
  if (!version.ok()) return version.status();
  std::vector<std::string> tables;
  absl::Status read = (*db)->query("SELECT name FROM sqlite_master WHERE type='table' ORDER BY name",
                                   [&tables](Statement& row) { row.read(tables.emplace_back()); });
  if (!read.ok()) return read;
  std::string out = fmt::format("{{\n  \"schema\": {}", *version);
  for (const auto& table : tables) {
    out += ",\n  ";
    api::append_json_string(out, table);
    out += ": ";
    if (absl::Status done = append_rows(out, **db, table); !done.ok()) return done;
  }
  out += "\n}\n";
  return out;
}

}  // namespace podwright::table
