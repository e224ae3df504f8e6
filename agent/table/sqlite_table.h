// SqliteTable: the PodTable on SQLite in WAL mode. Commits are grouped: what is queued while one runs goes into the
// next. The batch runs where the Offload given runs it: one thread of its own in the agent, the loop in simulation.
#pragma once

#include <functional>
#include <list>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "agent/table/pod_table.h"
#include "agent/table/sqlite.h"
#include "base/co/bell.h"
#include "base/co/offload.h"

namespace podwright::table {

// Where the database's files lie: the machine's, or the memory of a simulation (agent/table/memory_vfs.h).
struct TableFiles {
  std::string path = "/var/lib/kubelet/podwright/state.db";
  // Null: the machine's files.
  const char* vfs = nullptr;
  // No other process reads the file: needs no shared memory file. Set for a VFS that has none.
  bool exclusive = false;
  std::function<absl::Status(const std::string& from, const std::string& to)> rename;  // NotFound is fine
};
TableFiles machine_files(std::string path);

class SqliteTable final : public PodTable {
 public:
  // Opens, checks, migrates and reads the table; blocking, for the start of the agent. A foreign, torn or truncated
  // file is set aside as "<path>.broken-20261201T055500Z", an error is logged and an empty table takes its place.
  // FailedPrecondition with kNewerSchemaPayload: newer schema, nothing was touched.
  static absl::StatusOr<std::unique_ptr<SqliteTable>> open(Loop& loop, Offload& writer, const TableFiles& files);
  // Waits for a batch in flight is the caller's duty: flush() first. What is queued still is lost, as in a crash.
  ~SqliteTable() override;

  std::vector<pods::PodRecord> load() override;
  BootId last_boot() const override;
  void set_boot(const BootId& boot) override;
  void put(const pods::PodRecord& record) override;
  Co<absl::Status> commit(pods::PodRecord record, Durability durability) override;
  Co<absl::Status> erase(PodUid uid) override;
  Co<absl::Status> flush(Durability durability) override;
  TableState state() const override;
  Co<Wait> state_changed(Instant deadline) override;

  // Where a broken file was set aside at the start; empty: none was.
  const std::string& set_aside() const;

 private:
  struct State;
  explicit SqliteTable(std::shared_ptr<State> state);
  std::shared_ptr<State> state_;
};

// Sets the table and its side files aside as "<path>.<why>-<time>" and gives the new name; for --state-reset too.
absl::StatusOr<std::string> put_aside(const TableFiles& files, std::string_view why, WallTime now);

}  // namespace podwright::table
