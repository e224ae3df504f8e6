// PodTable: the durable memory of the node, one PodRecord a pod. An intent is written before its effect is started, the
// result after it. Memory may run ahead of the table only by records that nobody acts on.
//
// Loop thread only. Writes are queued, joined per pod (the newest record counts) and committed in groups by one writer.
#pragma once

#include <absl/status/status.h>

#include <optional>
#include <string>
#include <vector>

#include "agent/pods/record.h"
#include "base/co/co.h"
#include "base/co/loop.h"
#include "base/time/time.h"

namespace podwright::table {

enum class Durability {
  // In the page cache: survives the end of the agent, not of the machine. Enough for what dies with the boot.
  kCrashSafe,
  // Synced: survives a power cut, and so does all that was committed before it.
  kPowerSafe,
};

struct TableState {
  // False while commits fail (disk full): what is seen is kept in memory and tried again; no container may start.
  bool writable = true;
  // When that began; and the error, for people.
  Instant since;
  std::string problem;
  // Records waiting for a commit.
  std::size_t queued = 0;
};

class PodTable {
 public:
  virtual ~PodTable() = default;

  // What the table held when it was opened, by UID. The first call gives it, later ones nothing.
  virtual std::vector<pods::PodRecord> load() = 0;
  // The boot that the loaded records were last written in; empty: a new table.
  virtual BootId last_boot() const = 0;
  virtual void set_boot(const BootId& boot) = 0;

  // Queues a record, crash-safe, and returns at once.
  virtual void put(const pods::PodRecord& record) = 0;

  // The same, awaited. After an error the record stays queued and is tried again; the caller must not act on it. A
  // cancelled wait leaves the record queued too.
  virtual Co<absl::Status> commit(pods::PodRecord record, Durability durability) = 0;

  // Forgets a pod. After an error the wish stays queued.
  virtual Co<absl::Status> erase(PodUid uid) = 0;

  // Ends when all that was queued before the call is committed, or with the error.
  virtual Co<absl::Status> flush(Durability durability) = 0;

  virtual TableState state() const = 0;
  // Waits for `writable` to change.
  virtual Co<Wait> state_changed(Instant deadline) = 0;
};

}  // namespace podwright::table
