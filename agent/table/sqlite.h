// A thin cover of SQLite: a connection, statements that bind and read C++ values, errors as a Status. Not for several
// threads at once.
#pragma once

#include <absl/status/status.h>
#include <absl/status/statusor.h>
#include <sqlite3.h>

#include <chrono>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>

#include "api/ids.h"
#include "base/time/time.h"

namespace podwright::table {

// DataLoss: not a database, torn or malformed. ResourceExhausted: the disk is full. Unavailable: locked by another.
absl::Status sqlite_status(sqlite3* db, int code, std::string_view what);

// A column that holds bytes rather than text.
struct Blob {
  std::string bytes;
};

class Statement {
 public:
  explicit Statement(sqlite3_stmt* statement) : statement_(statement) {}
  ~Statement() { sqlite3_finalize(statement_); }
  Statement(const Statement&) = delete;
  Statement& operator=(const Statement&) = delete;

  // Binds all parameters in their order. Strings and blobs must live until the next reset.
  template <class... Args>
  void bind(const Args&... args) {
    sqlite3_reset(statement_);
    int index = 0;
    (bind_one(++index, args), ...);
  }
  // SQLITE_ROW, SQLITE_DONE or an error's code.
  int step() { return sqlite3_step(statement_); }
  void reset() { sqlite3_reset(statement_); }

  // Reads the columns of the row in their order.
  template <class... Args>
  void read(Args&... args) {
    int index = 0;
    (read_one(index++, args), ...);
  }

 private:
  void bind_one(int index, const std::string& text) {
    sqlite3_bind_text64(statement_, index, text.data(), text.size(), SQLITE_STATIC, SQLITE_UTF8);
  }
  void bind_one(int index, const Blob& blob) {
    sqlite3_bind_blob64(statement_, index, blob.bytes.data(), blob.bytes.size(), SQLITE_STATIC);
  }
  template <class Tag>
  void bind_one(int index, const Id<Tag>& id) {
    bind_one(index, id.value);
  }
  template <class T>
    requires(std::is_integral_v<T> || std::is_enum_v<T>)
  void bind_one(int index, T value) {
    sqlite3_bind_int64(statement_, index, static_cast<sqlite3_int64>(value));
  }
  template <class Rep, class Period>
  void bind_one(int index, std::chrono::duration<Rep, Period> value) {
    bind_one(index, value.count());
  }
  template <class Clock, class D>
  void bind_one(int index, std::chrono::time_point<Clock, D> value) {
    bind_one(index, value.time_since_epoch().count());
  }
  template <class T>
  void bind_one(int index, const std::optional<T>& value) {
    if (value) {
      bind_one(index, *value);
    } else {
      sqlite3_bind_null(statement_, index);
    }
  }

  void read_one(int index, std::string& text);
  void read_one(int index, Blob& blob) { read_one(index, blob.bytes); }
  template <class Tag>
  void read_one(int index, Id<Tag>& id) {
    read_one(index, id.value);
  }
  template <class T>
    requires(std::is_integral_v<T> || std::is_enum_v<T>)
  void read_one(int index, T& value) {
    value = static_cast<T>(sqlite3_column_int64(statement_, index));
  }
  template <class Rep, class Period>
  void read_one(int index, std::chrono::duration<Rep, Period>& value) {
    value = std::chrono::duration<Rep, Period>(sqlite3_column_int64(statement_, index));
  }
  template <class Clock, class D>
  void read_one(int index, std::chrono::time_point<Clock, D>& value) {
    value = std::chrono::time_point<Clock, D>(D(sqlite3_column_int64(statement_, index)));
  }
  template <class T>
  void read_one(int index, std::optional<T>& value) {
    value.reset();
    if (sqlite3_column_type(statement_, index) == SQLITE_NULL) return;
    value.emplace();
    read_one(index, *value);
  }

  sqlite3_stmt* statement_;
};

class Database {
 public:
  // Opens or (where `create`) makes the file, through the named VFS; null: the machine's files.
  static absl::StatusOr<std::unique_ptr<Database>> open(const std::string& path, const char* vfs, bool create);
  ~Database();
  Database(const Database&) = delete;
  Database& operator=(const Database&) = delete;

  // Statements without parameters; rows are ignored.
  absl::Status run(const std::string& sql);
  // The first column of the first row as text; empty where there is none.
  absl::StatusOr<std::string> text_of(const std::string& sql);
  absl::StatusOr<int64_t> number_of(const std::string& sql);

  // Prepared once, kept until the end.
  absl::StatusOr<Statement*> prepare(const char* sql);

  // Binds and runs a statement that gives no rows.
  template <class... Args>
  absl::Status execute(const char* sql, const Args&... args) {
    auto statement = prepare(sql);
    if (!statement.ok()) return statement.status();
    (*statement)->bind(args...);
    const int code = (*statement)->step();
    (*statement)->reset();
    return code == SQLITE_DONE || code == SQLITE_ROW ? absl::OkStatus() : sqlite_status(db_, code, "write the table");
  }

  // Calls `row(statement)` for each row.
  template <class Row, class... Args>
  absl::Status query(const char* sql, Row row, const Args&... args) {
    auto statement = prepare(sql);
    if (!statement.ok()) return statement.status();
    (*statement)->bind(args...);
    int code = SQLITE_ROW;
    while ((code = (*statement)->step()) == SQLITE_ROW) row(**statement);
    (*statement)->reset();
    return code == SQLITE_DONE ? absl::OkStatus() : sqlite_status(db_, code, "read the table");
  }

  sqlite3* handle() { return db_; }

 private:
  explicit Database(sqlite3* db) : db_(db) {}

  sqlite3* db_;
  // By the literal's address: each statement has one place in the sources.
  std::map<const char*, std::unique_ptr<Statement>> statements_;
};

}  // namespace podwright::table
