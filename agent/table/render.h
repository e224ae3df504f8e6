// What `podwright state` prints of a table's file, without an agent.
#pragma once

#include <absl/status/statusor.h>

#include <string>
#include <vector>

#include "agent/pods/record.h"
#include "agent/table/sqlite_table.h"

namespace podwright::table {

struct TableContent {
  int schema = 0;
  BootId boot;
  std::vector<pods::PodRecord> records;
};

// Reads the file without changing it. FailedPrecondition with kNewerSchemaPayload where it is newer.
absl::StatusOr<TableContent> read_table(const TableFiles& files);

// One line a pod.
std::string to_text(const TableContent& content);
// All of one pod.
std::string to_text(const pods::PodRecord& record);
// What `state check` finds wrong, one line each; empty: nothing.
absl::StatusOr<std::vector<std::string>> check_table(const TableFiles& files);
// One JSON document of everything, for `state export`: the tables by name, each a list of rows by column; blobs in
// hexadecimal. Works for newer schemas too.
absl::StatusOr<std::string> export_table(const TableFiles& files);

}  // namespace podwright::table
