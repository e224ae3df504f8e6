// The port to child processes. The real one is a launcher: a single-threaded process forked first thing in main(),
// before any thread, gRPC or seccomp filter, which starts every child on request over a socketpair. No shell is ever
// involved (S3).
#pragma once

#include <absl/status/statusor.h>

#include <map>
#include <string>
#include <vector>

#include "base/co/co.h"
#include "base/time/time.h"

namespace podwright {

struct ProcessRequest {
  std::string program;                     // absolute path
  std::vector<std::string> arguments;      // argv[1..]
  std::map<std::string, std::string> env;  // the whole environment
  std::string stdin_bytes;
  std::size_t output_limit = 1 << 20;  // of stdout and stderr each; more ends the child
};

struct ProcessResult {
  int exit_code = 0;  // 128 + signal where a signal ended it
  std::string stdout_bytes, stderr_bytes;
};

class Processes {
 public:
  virtual ~Processes() = default;
  // Runs to the end, or kills the child's process group at `deadline` or on cancellation (then DeadlineExceeded or
  // Cancelled). A child that the kernel holds (dead NFS) is left behind and counted, never waited for.
  virtual Co<absl::StatusOr<ProcessResult>> run(ProcessRequest request, Instant deadline) = 0;
  // Children that were left behind and have not ended yet.
  virtual std::size_t left_behind() const = 0;
};

}  // namespace podwright
