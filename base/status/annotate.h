// The one error type is absl::Status. These two functions put words to it: annotate() says what was being done, and
// errno_status() turns a failed system call into one.
#pragma once

#include <absl/status/status.h>
#include <fmt/format.h>

#include <string>
#include <string_view>
#include <utility>

namespace podwright {

// The same error, with what was being done in front: "start container app: socket closed".
template <class... Args>
absl::Status annotate(const absl::Status& cause, fmt::format_string<Args...> what, Args&&... args) {
  absl::Status told(cause.code(), fmt::format("{}: {}", fmt::format(what, std::forward<Args>(args)...),
                                              std::string(cause.message())));
  cause.ForEachPayload([&told](absl::string_view url, const absl::Cord& value) { told.SetPayload(url, value); });
  return told;
}

// The message as a std::string, which fmt can print.
inline std::string text_of(const absl::Status& status) {
  return std::string(status.message());
}

// The error of a system call: "open /x: ENOENT (no such file or directory)", with the code that fits the errno.
absl::Status errno_status(int error_number, std::string_view what);

// The errno's name: "ENOENT"; "errno 4711" for one without a name.
std::string errno_name(int error_number);

// A Status with a formatted message.
template <class... Args>
absl::Status make_status(absl::StatusCode code, fmt::format_string<Args...> what, Args&&... args) {
  return absl::Status(code, fmt::format(what, std::forward<Args>(args)...));
}

}  // namespace podwright
