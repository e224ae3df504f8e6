// The lines of a container's log as CRI runtimes write them: "TIME STREAM TAG text", where the tag is P for a piece of
// a longer line and F for its last piece. Pure. Source: the CRI logging design (kubelet-cri-logging).
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/time/time.h"

namespace podwright::server {

struct CriLogLine {
  std::string_view time;  // RFC 3339 with nanoseconds, as written
  bool is_stderr = false;
  bool partial = false;
  std::string_view text;
};

// `line` without its newline. Nothing where it is not of the form.
std::optional<CriLogLine> parse_cri_line(std::string_view line);

// RFC 3339 with any fraction and any offset. Nothing where it is malformed.
std::optional<WallTime> parse_rfc3339(std::string_view text);

// What a reader of a log asked for.
struct LogOptions {
  bool follow = false;
  bool previous = false;
  bool timestamps = false;
  std::optional<int64_t> tail_lines;
  std::optional<int64_t> limit_bytes;
  std::optional<WallTime> since;
};

// Turns physical lines into what the client gets. Pieces of one line are joined; with timestamps each line gets the
// time of its first piece. Lines before `since` are left out, whole. A line that is not of the CRI form is passed on as
// it is, so that nothing a runtime wrote is hidden.
class LogLinePrinter {
 public:
  explicit LogLinePrinter(const LogOptions& options) : options_(options) {}

  // Appends to `out`. The newline is not part of `line`.
  void print(std::string_view line, std::string& out);
  // Of the newest line printed; empty before the first.
  const std::string& last_time() const { return last_time_; }

 private:
  LogOptions options_;
  std::string last_time_;
  // Whether the line that goes on in this stream is being left out, and whether one goes on at all.
  struct Open {
    bool goes_on = false;
    bool left_out = false;
  };
  Open out_, err_;
};

}  // namespace podwright::server
