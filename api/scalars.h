// The text forms of the special types: Time, MicroTime, Duration (json-notes 3).
#pragma once

#include <absl/status/statusor.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace podwright::api {

struct TimeParts {
  int64_t seconds = 0;  // since the epoch
  int32_t nanos = 0;
};

// The first instant that Go's time knows, 0001-01-01T00:00:00Z: written as null.
inline constexpr int64_t kZeroTimeSeconds = -62135596800;

// RFC 3339 with any offset and fraction; a comma may begin the fraction, an hour may have one digit.
absl::StatusOr<TimeParts> parse_time(std::string_view text);
// The same with exactly six digits of fraction.
absl::StatusOr<TimeParts> parse_micro_time(std::string_view text);
std::string format_time(int64_t seconds);
std::string format_micro_time(int64_t seconds, int32_t nanos);

// Go's form: "1h30m", "1.5h", "100ms", "0"; nanoseconds.
absl::StatusOr<int64_t> parse_duration(std::string_view text);

}  // namespace podwright::api
