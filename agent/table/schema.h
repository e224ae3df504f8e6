// The schema of the table: its version, how it is made, and the migrations that bring an older one forward.
#pragma once

#include <absl/status/status.h>

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

// Makes the tables of a new file or brings an older one forward, each step in one transaction. FailedPrecondition, with
// both versions and kNewerSchemaPayload, where the file is newer: nothing is written then. DataLoss where it is
// foreign.
absl::Status bring_forward(Database& db, std::span<const Migration> steps);

}  // namespace podwright::table
