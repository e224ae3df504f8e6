// LogRotation: keeps container logs within their bounds (behaviours 22). Every 10 s the live log of each running
// container is looked at; one that is too large is renamed, the runtime opens a new one, and older ones are compressed.
// The newest rotated file stays plain, so that a follower can finish it. Renaming comes first: rotation never needs
// free space.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "base/co/offload.h"
#include "base/co/scope.h"
#include "base/files/tree.h"
#include "base/step/step.h"
#include "cri/runtime.h"

namespace podwright::containers {

struct RotationOptions {
  int64_t max_bytes = 10 << 20;  // negative: no rotation
  int max_files = 5;             // with the live one
  std::chrono::nanoseconds period = std::chrono::seconds(10);
  std::size_t workers = 1;
};

// A log to look after.
struct LiveLog {
  ContainerId id;
  std::string path;
};

// The rotated files of a log by their place in time, oldest first; pure.
std::vector<std::string> rotated_files(const std::vector<DirectoryEntry>& entries, const std::string& live_name);

class LogRotation {
 public:
  LogRotation(Loop& loop, Offload& offload, Tree& tree, cri::Runtime& runtime, Steps& steps, RotationOptions options,
              std::function<std::vector<LiveLog>()> logs);

  // Runs until cancelled.
  Co<void> run();
  // Looks at one log now.
  Co<absl::Status> look_after(LiveLog log);

 private:
  Co<void> look_flow(LiveLog log);

  Loop& loop_;
  Offload& offload_;
  Tree& tree_;
  cri::Runtime& runtime_;
  Steps& steps_;
  RotationOptions options_;
  std::function<std::vector<LiveLog>()> logs_;
  Slots slots_;
};

}  // namespace podwright::containers
