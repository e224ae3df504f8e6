#include "agent/table/sqlite_table.h"

#include <cerrno>
#include <cstdio>
#include <utility>

#include "agent/table/rows.h"
#include "agent/table/schema.h"
#include "base/log/log.h"
#include "base/status/annotate.h"

namespace podwright::table {
namespace {

const LogSubject kTable{{"part", "table"}};

// After a failed commit.
constexpr auto kRetry = 2s;

using Queue = std::map<PodUid, std::optional<pods::PodRecord>>;  // nothing: forget the pod

// What one commit does. Made on the loop, run by the writer, read on the loop again.
struct Batch {
  Queue records;
  std::optional<BootId> boot;
  bool power_safe = false;
  std::vector<std::shared_ptr<OneShot<absl::Status>>> waiters;
  absl::Status result;
};

absl::Status configure(Database& db) {
  sqlite3_busy_timeout(db.handle(), 1000);
  for (const char* pragma : {"PRAGMA journal_mode=WAL", "PRAGMA synchronous=NORMAL", "PRAGMA wal_autocheckpoint=1000",
                             "PRAGMA cache_size=-2000"}) {
    if (absl::Status done = db.run(pragma); !done.ok()) return done;
  }
  return absl::OkStatus();
}

struct Opened {
  std::unique_ptr<Database> db;
  std::vector<pods::PodRecord> records;
  BootId boot;
};

absl::StatusOr<Opened> open_once(const TableFiles& files) {
  Opened opened;
  auto db = Database::open(files.path, files.vfs, true);
  if (!db.ok()) return db.status();
  opened.db = *std::move(db);
  // Without shared memory a file in WAL mode can be read in this mode only, so it comes first.
  if (files.exclusive) {
    if (absl::Status done = opened.db->run("PRAGMA locking_mode=EXCLUSIVE"); !done.ok()) return done;
  }
  // Before anything is written: a newer schema and another program's file stay untouched, also by the close.
  if (const auto version = check_version(*opened.db, schema_version()); !version.ok()) {
    sqlite3_db_config(opened.db->handle(), SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, nullptr);
    return version.status();
  }
  if (absl::Status done = configure(*opened.db); !done.ok()) return done;
  const auto check = opened.db->text_of("PRAGMA quick_check(1)");
  if (!check.ok()) return check.status();
  if (*check != "ok") return make_status(absl::StatusCode::kDataLoss, "the table is damaged: {}", *check);
  if (absl::Status done = bring_forward(*opened.db, migrations()); !done.ok()) return done;
  auto boot = read_meta(*opened.db, "boot_id");
  if (!boot.ok()) return boot.status();
  opened.boot = BootId(*std::move(boot));
  auto records = read_records(*opened.db);
  if (!records.ok()) return records.status();
  opened.records = *std::move(records);
  return opened;
}

}  // namespace

TableFiles machine_files(std::string path) {
  TableFiles files;
  files.path = std::move(path);
  files.rename = [](const std::string& from, const std::string& to) {
    if (std::rename(from.c_str(), to.c_str()) == 0) return absl::OkStatus();
    return errno_status(errno, fmt::format("rename {} to {}", from, to));
  };
  return files;
}

absl::StatusOr<std::string> put_aside(const TableFiles& files, std::string_view why, WallTime now) {
  std::string stamp = to_rfc3339(now);
  std::erase_if(stamp, [](char c) { return c == '-' || c == ':'; });
  const std::string aside = fmt::format("{}.{}-{}", files.path, why, stamp);
  for (const char* side : {"", "-wal", "-shm"}) {
    const absl::Status moved = files.rename(files.path + side, aside + side);
    if (!moved.ok() && !absl::IsNotFound(moved)) return moved;
  }
  return aside;
}

struct SqliteTable::State : std::enable_shared_from_this<SqliteTable::State> {
  State(Loop& l, Offload& w) : loop(l), writer(w), changed(l) {}

  Loop& loop;
  Offload& writer;
  Opened opened;
  std::string aside;
  // The spec that stands in the table for each pod, so that it is not written again. Owned by the running batch.
  std::map<PodUid, pods::PodPtr> specs;

  Queue queued;
  std::optional<BootId> boot;
  bool power_safe = false;
  std::vector<std::shared_ptr<OneShot<absl::Status>>> waiters;
  bool running = false;
  bool closed = false;
  uint64_t retry_timer = 0;
  TableState told;
  Notice changed;

  absl::Status write(Batch& batch) {
    Database& db = *opened.db;
    // A FULL commit syncs the WAL, which holds every earlier commit too.
    absl::Status done = db.run(batch.power_safe ? "PRAGMA synchronous=FULL" : "PRAGMA synchronous=NORMAL");
    if (done.ok()) done = db.run("BEGIN IMMEDIATE");
    if (!done.ok()) return done;
    if (batch.boot) done = write_meta(db, "boot_id", batch.boot->value);
    // A power-safe commit of nothing must still write, or there would be no sync.
    if (done.ok() && batch.power_safe && batch.records.empty()) done = write_meta(db, "synced", "1");
    for (const auto& [uid, record] : batch.records) {
      if (!done.ok()) break;
      if (!record) {
        done = erase_record(db, uid);
        continue;
      }
      const auto known = specs.find(uid);
      done = write_record(db, *record, known == specs.end() || known->second != record->pod);
    }
    if (done.ok()) done = db.run("COMMIT");
    if (!done.ok()) {
      // Some errors have rolled back already.
      if (sqlite3_get_autocommit(db.handle()) == 0) {
        if (const absl::Status undone = db.run("ROLLBACK"); !undone.ok()) return annotate(done, "{}", text_of(undone));
      }
      return done;
    }
    for (const auto& [uid, record] : batch.records) {
      if (record) {
        specs[uid] = record->pod;
      } else {
        specs.erase(uid);
      }
    }
    return done;
  }

  void start() {
    if (running || closed) return;
    if (queued.empty() && !boot && waiters.empty()) return;
    running = true;
    if (retry_timer != 0) loop.forget(std::exchange(retry_timer, 0));
    auto batch = std::make_shared<Batch>();
    batch->records = std::exchange(queued, {});
    batch->boot = std::exchange(boot, std::nullopt);
    batch->power_safe = std::exchange(power_safe, false);
    batch->waiters = std::exchange(waiters, {});
    const auto self = shared_from_this();
    writer.run([self, batch] { batch->result = self->write(*batch); }, [self, batch] { self->finish(*batch); });
  }

  void finish(Batch& batch) {
    running = false;
    if (!batch.result.ok()) {
      // What was queued meanwhile is newer and stays.
      queued.merge(std::move(batch.records));
      if (!boot) boot = std::move(batch.boot);
      retry_timer = loop.call_at(loop.now() + kRetry, [weak = weak_from_this()] {
        if (const auto self = weak.lock()) {
          self->retry_timer = 0;
          self->start();
        }
      });
    }
    tell(batch.result);
    for (const auto& waiter : batch.waiters) waiter->set(batch.result);
    if (batch.result.ok() || !waiters.empty()) start();
  }

  void tell(const absl::Status& result) {
    if (result.ok() == told.writable) return;
    told.writable = result.ok();
    told.since = loop.now();
    told.problem = result.ok() ? "" : text_of(result);
    if (result.ok()) {
      log_info(kTable, "pod table is writable again");
    } else {
      log_error(kTable, "pod table cannot be written; no container starts until it can", {{"err", told.problem}});
    }
    changed.notify();
  }
};

SqliteTable::SqliteTable(std::shared_ptr<State> state) : state_(std::move(state)) {}

SqliteTable::~SqliteTable() {
  state_->closed = true;
  if (state_->retry_timer != 0) state_->loop.forget(state_->retry_timer);
}

absl::StatusOr<std::unique_ptr<SqliteTable>> SqliteTable::open(Loop& loop, Offload& writer, const TableFiles& files) {
  auto state = std::make_shared<State>(loop, writer);
  auto opened = open_once(files);
  if (!opened.ok() && absl::IsDataLoss(opened.status())) {
    const auto aside = put_aside(files, "broken", loop.clock().wall());
    if (!aside.ok()) return annotate(aside.status(), "set the broken table aside ({})", text_of(opened.status()));
    log_error(kTable, "pod table cannot be read; it is set aside and the node is rebuilt from the runtime",
              {{"path", files.path}, {"kept_as", *aside}, {"err", text_of(opened.status())}});
    state->aside = *aside;
    opened = open_once(files);
  }
  if (!opened.ok()) return annotate(opened.status(), "open pod table {}", files.path);
  state->opened = *std::move(opened);
  for (const auto& record : state->opened.records) state->specs[record.uid] = record.pod;
  return std::unique_ptr<SqliteTable>(new SqliteTable(std::move(state)));
}

std::vector<pods::PodRecord> SqliteTable::load() {
  return std::exchange(state_->opened.records, {});
}

BootId SqliteTable::last_boot() const {
  return state_->opened.boot;
}

const std::string& SqliteTable::set_aside() const {
  return state_->aside;
}

void SqliteTable::set_boot(const BootId& boot) {
  state_->boot = boot;
  state_->start();
}

void SqliteTable::put(const pods::PodRecord& record) {
  state_->queued.insert_or_assign(record.uid, record);
  state_->start();
}

Co<absl::Status> SqliteTable::commit(pods::PodRecord record, Durability durability) {
  const PodUid uid = record.uid;
  state_->queued.insert_or_assign(uid, std::move(record));
  co_return co_await flush(durability);
}

Co<absl::Status> SqliteTable::erase(PodUid uid) {
  state_->queued.insert_or_assign(std::move(uid), std::nullopt);
  co_return co_await flush(Durability::kCrashSafe);
}

Co<absl::Status> SqliteTable::flush(Durability durability) {
  const auto waiter = std::make_shared<OneShot<absl::Status>>(state_->loop);
  state_->waiters.push_back(waiter);
  if (durability == Durability::kPowerSafe) state_->power_safe = true;
  state_->start();
  // Bounded by the disk, and the record is queued whatever happens to the waiter.
  auto result = co_await waiter->take(Instant::max());
  co_return result ? *std::move(result) : absl::CancelledError("the flow is stopping; the record stays queued");
}

TableState SqliteTable::state() const {
  TableState state = state_->told;
  state.queued = state_->queued.size();
  return state;
}

Co<Wait> SqliteTable::state_changed(Instant deadline) {
  return state_->changed.wait_until(deadline);
}

}  // namespace podwright::table
