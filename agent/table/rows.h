// A PodRecord as rows of the table. Each field of the record has its column; the round trip is a test.
#pragma once

#include <absl/status/status.h>
#include <absl/status/statusor.h>

#include <string>
#include <vector>

#include "agent/pods/record.h"
#include "agent/table/sqlite.h"

namespace podwright::table {

// Takes the place of what the table holds of the pod; inside the caller's transaction. The spec, which is large and
// never changes, is left alone where `with_spec` is false.
absl::Status write_record(Database& db, const pods::PodRecord& record, bool with_spec);
absl::Status erase_record(Database& db, const PodUid& uid);

absl::Status write_meta(Database& db, const std::string& key, const std::string& value);
absl::StatusOr<std::string> read_meta(Database& db, const std::string& key);

// By UID. DataLoss where a row holds what no build writes.
absl::StatusOr<std::vector<pods::PodRecord>> read_records(Database& db);

}  // namespace podwright::table
