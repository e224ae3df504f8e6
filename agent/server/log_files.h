// The port to container log files: what the log reader opens and lists. Below the pod logs directory a pod with a
// hostPath could plant links, so the real one resolves every path beneath that directory and follows no link (S1).
// Calls are synchronous and read at most one block; they are made from offloaded work.
#pragma once

#include <absl/status/status.h>
#include <absl/status/statusor.h>

#include <memory>
#include <string>
#include <vector>

#include "base/time/time.h"

namespace podwright::server {

class LogFile {
 public:
  virtual ~LogFile() = default;
  // At most `limit` bytes from `offset`; empty at the end. Of a compressed file these are positions of the text; going
  // back in one costs a new pass from its start.
  virtual absl::StatusOr<std::string> read_at(uint64_t offset, std::size_t limit) = 0;
  // Of the text where the file is plain; of a compressed one nothing is known: 0.
  virtual absl::StatusOr<uint64_t> size() = 0;
  virtual bool compressed() const = 0;
  // Tells one file from another on the same file system, over a rename.
  virtual uint64_t inode() const = 0;
  virtual WallTime modified() const = 0;
};

class LogFiles {
 public:
  virtual ~LogFiles() = default;
  // `path` is relative to the pod logs directory. NotFound where nothing is there.
  virtual absl::StatusOr<std::unique_ptr<LogFile>> open(const std::string& path) = 0;
  // The names in a directory, sorted; a missing one is empty.
  virtual absl::StatusOr<std::vector<std::string>> list(const std::string& directory) = 0;
};

// The machine's; `root` is the pod logs directory.
std::unique_ptr<LogFiles> real_log_files(std::string root);

}  // namespace podwright::server
