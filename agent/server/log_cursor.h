// LogCursor: one reading of a container's log, from the files rotated away to the live one, and on over rotations while
// it follows. Synchronous, for offloaded work; one user at a time.
//
// Rotation renames the live file N.log to N.log.<time> and the runtime opens a new one; older ones become .gz or are
// deleted. The cursor holds the file it reads open, so a rename or deletion loses nothing of it; which file comes next
// is told by the place of the held file's inode among the names, or, where it has none any more, by the times of the
// lines. Where files were deleted before they were read, the output says so.
#pragma once

#include <absl/status/statusor.h>

#include <memory>
#include <string>
#include <vector>

#include "agent/server/log_files.h"
#include "agent/server/log_lines.h"

namespace podwright::server {

class LogCursor {
 public:
  // `directory` and the live file's name in it ("0.log"). NotFound where there is neither a live nor a rotated file.
  static absl::StatusOr<std::unique_ptr<LogCursor>> open(LogFiles& files, std::string directory, std::string live,
                                                         const LogOptions& options);

  // The next bytes for the client; empty: nothing more at present.
  absl::StatusOr<std::string> read();
  // limitBytes has been given out.
  bool is_over() const { return left_ && *left_ == 0; }

 private:
  LogCursor(LogFiles& files, std::string directory, std::string live, const LogOptions& options)
      : files_(files),
        directory_(std::move(directory)),
        live_(std::move(live)),
        options_(options),
        printer_(options),
        left_(options.limit_bytes) {}

  std::string path(const std::string& name) const { return directory_ + "/" + name; }
  // Rotated files from the oldest on, then the live one where it is there.
  absl::StatusOr<std::vector<std::string>> names();
  absl::Status seek_start();
  absl::Status seek_tail(const std::vector<std::string>& names);

  struct Next {
    std::unique_ptr<LogFile> file;  // null: none
    bool is_live = false;
    bool gap = false;
  };
  absl::StatusOr<Next> find_next();
  absl::StatusOr<std::size_t> place_by_time(const std::vector<std::string>& names);

  // Prints what is complete from the current file on; false where there was nothing new. `to_end`: also a last line
  // that has no newline.
  absl::StatusOr<bool> pump(bool to_end, std::string& out);

  LogFiles& files_;
  std::string directory_, live_;
  LogOptions options_;
  LogLinePrinter printer_;
  std::optional<int64_t> left_;

  std::unique_ptr<LogFile> current_;
  uint64_t offset_ = 0;   // of the first byte that was not yet used
  bool cutting_ = false;  // inside a line that was too long
};

// Where the last `wanted` lines of a file begin, and how many lines lie from there on (fewer than `wanted`: the whole
// file). Pieces of one line count once. For both forms of file.
struct TailStart {
  uint64_t offset = 0;
  int64_t lines = 0;
};
absl::StatusOr<TailStart> tail_start(LogFile& file, int64_t wanted);

}  // namespace podwright::server
