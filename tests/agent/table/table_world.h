// A machine with a disk in memory, and the agent's table on it, which can be opened, killed and opened again.
#pragma once

#include <doctest/doctest.h>

#include <memory>
#include <string>
#include <vector>

#include "agent/table/memory_vfs.h"
#include "agent/table/sqlite_table.h"
#include "base/co/offload.h"
#include "base/co/sim_loop.h"

namespace podwright::table {

// A record of a pod; `ip` tells its versions apart.
inline pods::PodRecord a_record(const std::string& uid, const std::string& ip = "10.0.0.1") {
  pods::PodRecord record;
  record.uid = PodUid(uid);
  record.key = {"default", "pod-" + uid};
  auto pod = std::make_shared<core::Pod>();
  pod->mutable_metadata()->set_name(record.key.name);
  record.pod = std::move(pod);
  record.pod_ips = {ip};
  return record;
}

struct TableWorld {
  explicit TableWorld(uint64_t seed = 1) : loop(std::make_unique<SimLoop>(seed)) {}
  // The table goes before the disk that it writes to.
  ~TableWorld() { table.reset(); }

  absl::Status try_open() {
    auto opened = SqliteTable::open(*loop, *offload, disk.files());
    if (!opened.ok()) return opened.status();
    table = *std::move(opened);
    return absl::OkStatus();
  }
  void open() {
    const absl::Status opened = try_open();
    REQUIRE_MESSAGE(opened.ok(), std::string(opened.message()));
  }
  void end_agent() {
    loop->drop();
    table.reset();
    loop = std::make_unique<SimLoop>(2, loop->shared_clock());
    offload = std::make_unique<SimOffload>(*loop);
  }
  // The agent is killed where it stands, and starts again.
  void restart() {
    disk.crash();
    end_agent();
    open();
  }
  void power_cut(std::size_t kept = 0) {
    disk.power_cut(kept);
    end_agent();
    open();
  }

  absl::Status commit(pods::PodRecord record, Durability durability = Durability::kCrashSafe) {
    return run_and_get(*loop, table->commit(std::move(record), durability));
  }
  // "a=10.0.0.1 b=10.0.0.2": the loaded pods by UID, each with its address.
  std::string loaded() {
    std::string text;
    for (const auto& record : table->load()) {
      text += (text.empty() ? "" : " ") + record.uid.value + "=" + record.pod_ips.at(0);
    }
    return text;
  }

  MemoryVfs disk;
  std::unique_ptr<SimLoop> loop;
  std::unique_ptr<SimOffload> offload = std::make_unique<SimOffload>(*loop);
  std::unique_ptr<SqliteTable> table;
};

}  // namespace podwright::table
