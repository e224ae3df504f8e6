#include "agent/table/sqlite.h"

#include "base/status/annotate.h"

namespace podwright::table {
namespace {

absl::StatusCode code_of(int code) {
  switch (code & 0xff) {
    case SQLITE_FULL: return absl::StatusCode::kResourceExhausted;
    case SQLITE_NOTADB:
    case SQLITE_CORRUPT: return absl::StatusCode::kDataLoss;
    case SQLITE_BUSY:
    case SQLITE_LOCKED: return absl::StatusCode::kUnavailable;
    case SQLITE_CANTOPEN: return absl::StatusCode::kNotFound;
    case SQLITE_READONLY:
    case SQLITE_PERM: return absl::StatusCode::kPermissionDenied;
    // A short read is a torn file; other I/O errors (quota, EIO) may pass.
    case SQLITE_IOERR:
      return code == SQLITE_IOERR_SHORT_READ ? absl::StatusCode::kDataLoss : absl::StatusCode::kResourceExhausted;
    default: return absl::StatusCode::kInternal;
  }
}

}  // namespace

absl::Status sqlite_status(sqlite3* db, int code, std::string_view what) {
  const char* text = db != nullptr ? sqlite3_errmsg(db) : sqlite3_errstr(code);
  return make_status(code_of(code), "{}: {} (sqlite {})", what, text, code);
}

void Statement::read_one(int index, std::string& text) {
  // The pointer first, then the length: the other order may convert in between.
  const void* bytes = sqlite3_column_blob(statement_, index);
  const int length = sqlite3_column_bytes(statement_, index);
  text.assign(bytes != nullptr ? static_cast<const char*>(bytes) : "",
              bytes != nullptr ? static_cast<std::size_t>(length) : 0);
}

absl::StatusOr<std::unique_ptr<Database>> Database::open(const std::string& path, const char* vfs, bool create) {
  sqlite3* db = nullptr;
  const int flags = SQLITE_OPEN_NOMUTEX | (create ? SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE : SQLITE_OPEN_READONLY);
  const int code = sqlite3_open_v2(path.c_str(), &db, flags, vfs);
  std::unique_ptr<Database> opened(new Database(db));
  if (code != SQLITE_OK) return sqlite_status(db, code, "open " + path);
  sqlite3_extended_result_codes(db, 1);
  return opened;
}

Database::~Database() {
  statements_.clear();
  sqlite3_close(db_);
}

absl::Status Database::run(const std::string& sql) {
  const int code = sqlite3_exec(db_, sql.c_str(), nullptr, nullptr, nullptr);
  return code == SQLITE_OK ? absl::OkStatus() : sqlite_status(db_, code, sql.substr(0, 60));
}

absl::StatusOr<std::string> Database::text_of(const std::string& sql) {
  sqlite3_stmt* raw = nullptr;
  int code = sqlite3_prepare_v2(db_, sql.c_str(), -1, &raw, nullptr);
  if (code != SQLITE_OK) return sqlite_status(db_, code, sql);
  Statement statement(raw);
  std::string text;
  code = statement.step();
  if (code == SQLITE_ROW) statement.read(text);
  if (code != SQLITE_ROW && code != SQLITE_DONE) return sqlite_status(db_, code, sql);
  return text;
}

absl::StatusOr<int64_t> Database::number_of(const std::string& sql) {
  auto text = text_of(sql);
  if (!text.ok()) return text.status();
  return std::strtoll(text->c_str(), nullptr, 10);
}

absl::StatusOr<Statement*> Database::prepare(const char* sql) {
  auto& kept = statements_[sql];
  if (!kept) {
    sqlite3_stmt* raw = nullptr;
    const int code = sqlite3_prepare_v3(db_, sql, -1, SQLITE_PREPARE_PERSISTENT, &raw, nullptr);
    if (code != SQLITE_OK) return sqlite_status(db_, code, sql);
    kept = std::make_unique<Statement>(raw);
  }
  return kept.get();
}

}  // namespace podwright::table
