// MemoryVfs: SQLite's files in memory, for the simulation and for tests: the same SqliteTable runs on it. It is the
// machine's disk, so it outlives the agent: crash() makes every open file dead where it stands, power_cut() loses what
// was not synced too. Not for several threads at once.
#pragma once

#include <sqlite3.h>

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "agent/table/sqlite_table.h"

namespace podwright::table {

class MemoryVfs {
 public:
  MemoryVfs();
  ~MemoryVfs();
  MemoryVfs(const MemoryVfs&) = delete;
  MemoryVfs& operator=(const MemoryVfs&) = delete;

  // For SqliteTable::open().
  TableFiles files(std::string path = "/state.db");

  // The agent is killed: what it has open fails from now on, the files stay as they are.
  void crash();
  // The power goes: of the writes since each file's last sync only the first `kept` survive.
  void power_cut(std::size_t kept = 0);
  // Writes that need space fail.
  void set_full(bool full) { full_ = full; }

  // The bytes of a file; empty where there is none. For tests that tear files.
  std::string content(const std::string& path) const;
  void set_content(const std::string& path, std::string bytes);
  std::vector<std::string> names() const;
  uint64_t syncs() const { return syncs_; }

 private:
  struct File;
  struct Handle;
  struct Calls;
  std::string name_;
  std::unique_ptr<sqlite3_vfs> vfs_;
  std::map<std::string, std::shared_ptr<File>> files_;
  uint64_t generation_ = 1;
  uint64_t syncs_ = 0;
  uint64_t random_ = 1;
  bool full_ = false;
};

}  // namespace podwright::table
