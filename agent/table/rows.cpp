#include "agent/table/rows.h"

#include <map>

#include "base/status/annotate.h"

namespace podwright::table {
namespace {

using pods::ContainerRecord;
using pods::PodRecord;

// What was read so far, by UID, and what of it no build can have written.
struct Reading {
  std::map<PodUid, PodRecord> records;
  absl::Status damage;

  // Notes the damage where an enumerator is none of its type, whose last one is `last`.
  template <class Enum>
  void check(const PodUid& uid, Enum value, Enum last) {
    if (static_cast<int>(value) >= 0 && static_cast<int>(value) <= static_cast<int>(last)) return;
    damage = make_status(absl::StatusCode::kDataLoss, "a row of pod {} holds {}, which is no state", uid,
                         static_cast<int>(value));
  }
};

// Addresses hold no blank.
std::string join_words(const std::vector<std::string>& words) {
  std::string joined;
  for (const auto& word : words) joined += (joined.empty() ? "" : " ") + word;
  return joined;
}

std::vector<std::string> split_words(const std::string& text) {
  std::vector<std::string> words;
  std::size_t at = 0;
  while (at < text.size()) {
    const std::size_t end = std::min(text.find(' ', at), text.size());
    words.push_back(text.substr(at, end - at));
    at = end + 1;
  }
  return words;
}

constexpr const char* kClear[] = {
    "DELETE FROM containers WHERE pod_uid=?", "DELETE FROM exits WHERE pod_uid=?",
    "DELETE FROM probes WHERE pod_uid=?",     "DELETE FROM volumes WHERE pod_uid=?",
    "DELETE FROM devices WHERE pod_uid=?",
};

absl::Status write_pod(Database& db, const PodRecord& r) {
  std::optional<pods::StopReason> stop_reason;
  std::optional<std::chrono::seconds> stop_grace, used_grace;
  std::optional<std::string> stop_status_reason, stop_status_message;
  std::optional<Instant> deadline;
  std::optional<WallTime> requested_at;
  if (r.termination) {
    stop_reason = r.termination->wish.reason;
    stop_grace = r.termination->wish.grace;
    stop_status_reason = r.termination->wish.status_reason;
    stop_status_message = r.termination->wish.status_message;
    deadline = r.termination->deadline;
    used_grace = r.termination->grace;
    requested_at = r.termination->requested_at;
  }
  std::optional<bool> succeeded;
  std::optional<std::string> terminal_reason, terminal_message;
  if (r.terminal) {
    succeeded = r.terminal->succeeded;
    terminal_reason = r.terminal->reason;
    terminal_message = r.terminal->message;
  }
  const std::string source(pods::name_of(r.source));
  const std::string ips = join_words(r.pod_ips);
  const Blob status{r.last_status};
  return db.execute("INSERT OR REPLACE INTO pods VALUES(?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?)", r.uid,
                    r.key.ns, r.key.name, source, r.origin, r.first_seen, r.active_since, r.admitted, r.boot,
                    r.sandbox.id, r.sandbox.attempt, r.sandbox.making, ips, r.initialized_in, r.initialized_once,
                    stop_reason, stop_grace, stop_status_reason, stop_status_message, deadline, used_grace,
                    requested_at, succeeded, terminal_reason, terminal_message, r.userns_base, status);
}

void read_pod(Statement& row, Reading& reading) {
  PodRecord r;
  std::string source, ips;
  std::optional<pods::StopReason> stop_reason;
  std::optional<std::chrono::seconds> stop_grace, used_grace;
  std::optional<std::string> stop_status_reason, stop_status_message;
  std::optional<Instant> deadline;
  std::optional<WallTime> requested_at;
  std::optional<bool> succeeded;
  std::optional<std::string> terminal_reason, terminal_message;
  row.read(r.uid, r.key.ns, r.key.name, source, r.origin, r.first_seen, r.active_since, r.admitted, r.boot,
           r.sandbox.id, r.sandbox.attempt, r.sandbox.making, ips, r.initialized_in, r.initialized_once, stop_reason,
           stop_grace, stop_status_reason, stop_status_message, deadline, used_grace, requested_at, succeeded,
           terminal_reason, terminal_message, r.userns_base, r.last_status);
  const auto kind = pods::source_from(source);
  if (!kind) {
    reading.damage =
        make_status(absl::StatusCode::kDataLoss, "pod {} comes from {:?}, which is no source", r.uid, source);
    return;
  }
  r.source = *kind;
  r.pod_ips = split_words(ips);
  if (stop_reason) {
    reading.check(r.uid, *stop_reason, pods::StopReason::kOverLimit);
    pods::TerminationRecord& stop = r.termination.emplace();
    stop.wish = {*stop_reason, stop_grace, stop_status_reason.value_or(""), stop_status_message.value_or("")};
    stop.deadline = deadline.value_or(Instant());
    stop.grace = used_grace.value_or(std::chrono::seconds(0));
    stop.requested_at = requested_at.value_or(WallTime());
  }
  if (succeeded) r.terminal = {*succeeded, terminal_reason.value_or(""), terminal_message.value_or("")};
  PodUid uid = r.uid;
  reading.records.emplace(std::move(uid), std::move(r));
}

absl::Status write_exit(Database& db, const PodUid& uid, const ContainerName& name, const std::string& which,
                        const std::optional<pods::ExitRecord>& e) {
  if (!e) return absl::OkStatus();
  return db.execute("INSERT INTO exits VALUES(?,?,?,?,?,?,?,?,?,?,?,?)", uid, name, which, e->container, e->exit_code,
                    e->known, e->reason, e->message, e->started_at, e->finished_at, e->learnt_at, e->restart_count);
}

absl::Status write_container(Database& db, const PodUid& uid, const ContainerName& name, const ContainerRecord& c) {
  absl::Status done =
      db.execute("INSERT INTO containers VALUES(?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?)", uid, name, c.state, c.id,
                 c.sandbox, c.attempt, c.image_ref, c.hash, c.started, c.ready, c.started_at, c.running_since,
                 c.post_start_done, c.backoff.delay, c.backoff.updated_at, c.backoff.key, c.start_once,
                 c.succeeded_for_good, c.termination_message_path);
  if (done.ok()) done = write_exit(db, uid, name, "newest", c.exit);
  if (done.ok()) done = write_exit(db, uid, name, "before", c.last_exit);
  for (const auto& [kind, p] : c.probes) {
    if (!done.ok()) break;
    done = db.execute("INSERT INTO probes VALUES(?,?,?,?,?,?,?)", uid, name, kind, p.last_ok, p.run, p.published,
                      p.on_hold);
  }
  return done;
}

// The record that a row of a child table belongs to; null where the pod's own row is missing.
PodRecord* owner(Reading& reading, const PodUid& uid) {
  const auto found = reading.records.find(uid);
  return found == reading.records.end() ? nullptr : &found->second;
}

absl::Status read_containers(Database& db, Reading& reading) {
  return db.query("SELECT * FROM containers", [&reading](Statement& row) {
    PodUid uid;
    ContainerName name;
    ContainerRecord c;
    row.read(uid, name, c.state, c.id, c.sandbox, c.attempt, c.image_ref, c.hash, c.started, c.ready, c.started_at,
             c.running_since, c.post_start_done, c.backoff.delay, c.backoff.updated_at, c.backoff.key, c.start_once,
             c.succeeded_for_good, c.termination_message_path);
    reading.check(uid, c.state, pods::InstanceState::kExited);
    if (PodRecord* record = owner(reading, uid)) record->containers[name] = std::move(c);
  });
}

absl::Status read_exits(Database& db, Reading& reading) {
  return db.query("SELECT * FROM exits", [&reading](Statement& row) {
    PodUid uid;
    ContainerName name;
    std::string which;
    pods::ExitRecord e;
    row.read(uid, name, which, e.container, e.exit_code, e.known, e.reason, e.message, e.started_at, e.finished_at,
             e.learnt_at, e.restart_count);
    PodRecord* record = owner(reading, uid);
    if (record == nullptr) return;
    (which == "newest" ? record->containers[name].exit : record->containers[name].last_exit) = std::move(e);
  });
}

absl::Status read_probes(Database& db, Reading& reading) {
  return db.query("SELECT * FROM probes", [&reading](Statement& row) {
    PodUid uid;
    ContainerName name;
    pods::ProbeKind kind = pods::ProbeKind::kLiveness;
    pods::ProbeRecord p;
    row.read(uid, name, kind, p.last_ok, p.run, p.published, p.on_hold);
    reading.check(uid, kind, pods::ProbeKind::kStartup);
    if (PodRecord* record = owner(reading, uid)) record->containers[name].probes[kind] = p;
  });
}

absl::Status read_volumes(Database& db, Reading& reading) {
  return db.query("SELECT * FROM volumes ORDER BY pod_uid, position", [&reading](Statement& row) {
    PodUid uid;
    int64_t position = 0;
    pods::VolumeRecord v;
    row.read(uid, position, v.name, v.kind, v.path, v.mounted);
    if (PodRecord* record = owner(reading, uid)) record->volumes.push_back(std::move(v));
  });
}

absl::Status read_devices(Database& db, Reading& reading) {
  return db.query("SELECT * FROM devices ORDER BY pod_uid, container, resource, position", [&reading](Statement& row) {
    PodUid uid;
    ContainerName name;
    ResourceName resource;
    int64_t position = 0;
    std::string device;
    row.read(uid, name, resource, position, device);
    if (PodRecord* record = owner(reading, uid)) record->devices[name][resource].push_back(std::move(device));
  });
}

absl::Status read_specs(Database& db, Reading& reading) {
  return db.query("SELECT * FROM specs", [&reading](Statement& row) {
    PodUid uid;
    std::string bytes;
    row.read(uid, bytes);
    PodRecord* record = owner(reading, uid);
    if (record == nullptr) return;
    auto pod = std::make_shared<core::Pod>();
    if (!pod->ParseFromString(bytes)) {
      reading.damage = make_status(absl::StatusCode::kDataLoss, "the spec of pod {} does not parse", record->key);
      return;
    }
    record->pod = std::move(pod);
  });
}

}  // namespace

absl::Status write_record(Database& db, const PodRecord& record, bool with_spec) {
  for (const char* sql : kClear) {
    if (absl::Status done = db.execute(sql, record.uid); !done.ok()) return done;
  }
  absl::Status done = write_pod(db, record);
  if (done.ok() && with_spec) {
    Blob spec;
    if (record.pod) {
      if (!record.pod->SerializeToString(&spec.bytes)) return absl::InternalError("a pod does not serialize");
      done = db.execute("INSERT OR REPLACE INTO specs VALUES(?,?)", record.uid, spec);
    } else {
      done = db.execute("DELETE FROM specs WHERE pod_uid=?", record.uid);
    }
  }
  for (const auto& [name, container] : record.containers) {
    if (done.ok()) done = write_container(db, record.uid, name, container);
  }
  for (std::size_t i = 0; done.ok() && i < record.volumes.size(); ++i) {
    const pods::VolumeRecord& v = record.volumes[i];
    done = db.execute("INSERT INTO volumes VALUES(?,?,?,?,?,?)", record.uid, i, v.name, v.kind, v.path, v.mounted);
  }
  for (const auto& [name, resources] : record.devices) {
    for (const auto& [resource, ids] : resources) {
      for (std::size_t i = 0; done.ok() && i < ids.size(); ++i) {
        done = db.execute("INSERT INTO devices VALUES(?,?,?,?,?)", record.uid, name, resource, i, ids[i]);
      }
    }
  }
  return done.ok() ? done : annotate(done, "keep pod {}", record.key);
}

absl::Status erase_record(Database& db, const PodUid& uid) {
  for (const char* sql : kClear) {
    if (absl::Status done = db.execute(sql, uid); !done.ok()) return done;
  }
  absl::Status done = db.execute("DELETE FROM specs WHERE pod_uid=?", uid);
  if (done.ok()) done = db.execute("DELETE FROM pods WHERE uid=?", uid);
  return done.ok() ? done : annotate(done, "forget pod {}", uid);
}

absl::Status write_meta(Database& db, const std::string& key, const std::string& value) {
  return db.execute("INSERT OR REPLACE INTO meta VALUES(?,?)", key, value);
}

absl::StatusOr<std::string> read_meta(Database& db, const std::string& key) {
  std::string value;
  absl::Status done = db.query(
      "SELECT value FROM meta WHERE key=?", [&value](Statement& row) { row.read(value); }, key);
  if (!done.ok()) return done;
  return value;
}

absl::StatusOr<std::vector<PodRecord>> read_records(Database& db) {
  Reading reading;
  absl::Status done = db.query("SELECT * FROM pods", [&reading](Statement& row) { read_pod(row, reading); });
  if (done.ok()) done = read_specs(db, reading);
  if (done.ok()) done = read_containers(db, reading);
  if (done.ok()) done = read_exits(db, reading);
  if (done.ok()) done = read_probes(db, reading);
  if (done.ok()) done = read_volumes(db, reading);
  if (done.ok()) done = read_devices(db, reading);
  if (done.ok()) done = reading.damage;
  if (!done.ok()) return done;
  std::vector<PodRecord> all;
  all.reserve(reading.records.size());
  for (auto& [uid, record] : reading.records) all.push_back(std::move(record));
  return all;
}

}  // namespace podwright::table
