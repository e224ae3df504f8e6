// The schema of the table: its version, how it is made, and the migrations that bring an older one forward.
#pragma once

#include <absl/status/status.h>
#include <absl/status/statusor.h>

#include <span>

#include "agent/table/sqlite.h"

namespace podwright::table {

// Says in the file's header that it is ours: "PodW".
inline constexpr int64_t kApplicationId = 0x506f6457;

// Brings a table from version `to` - 1 to `to`.
struct Migration {
  int to = 0;
  const char* sql = nullptr;
};

// In order; the first one makes the tables. The last one's `to` is the version of this build.
std::span<const Migration> migrations();
int schema_version();

// Payload of the error of a newer schema: the caller exits with code 4.
inline constexpr char kNewerSchemaPayload[] = "podwright/newer-schema";

// The version of the file, 0 of a new one; reads only. FailedPrecondition, with both versions and kNewerSchemaPayload,
// where it is newer than `newest`. DataLoss where the file is foreign.
absl::StatusOr<int> check_version(Database& db, int newest);

// Makes the tables of a new file or brings an older one forward, each step in one transaction. The errors of
// check_version(), before anything is written.
absl::Status bring_forward(Database& db, std::span<const Migration> steps);

}  // namespace podwright::table
