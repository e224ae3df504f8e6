// How the containers, commands and images of the fake runtime behave.
#pragma once

#include <absl/status/status.h>

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/time/time.h"
#include "cri/types.h"

namespace podwright::cri {

struct ExecScript {
  int32_t exit_code = 0;
  std::string stdout_bytes, stderr_bytes;
  Duration takes = std::chrono::milliseconds(5);
  // Runs until the call's own time-out, or until the container ends.
  bool hangs = false;
};

// What a container does once started. As it stands: runs until it is told to stop, and then ends well.
struct ContainerScript {
  // Ends by itself after this long.
  std::optional<Duration> run_for;
  int32_t exit_code = 0;
  bool oom = false;

  // From TERM to the end, and the code then.
  Duration term_takes = std::chrono::milliseconds(10);
  int32_t term_exit_code = 0;
  // Only KILL ends it, with 137.
  bool ignores_term = false;

  // StartContainer fails with this text; the container is exited with 128 and reason "StartError" then.
  std::optional<std::string> start_error;

  // By the words of the command joined with spaces; what is not here ends with `exec_default`.
  std::map<std::string, ExecScript> execs;
  ExecScript exec_default;
  // Asked before `execs` where it is set.
  std::function<std::optional<ExecScript>(const std::vector<std::string>& command)> exec;
};

struct ImageScript {
  Duration pull_takes = std::chrono::milliseconds(20);
  // Each pull fails with this.
  std::optional<absl::Status> pull_error;
  uint64_t size_bytes = 1 << 20;
  std::optional<int64_t> uid;
  std::string username;
};

}  // namespace podwright::cri
