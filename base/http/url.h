// URLs as far as our client needs them: http and https with a host.
#pragma once

#include <absl/status/statusor.h>

#include <cstdint>
#include <string>
#include <string_view>

namespace podwright {

struct Url {
  bool https = false;
  std::string host;   // without brackets
  uint16_t port = 0;  // 80 or 443 where the text names none
  bool has_port = false;
  std::string target = "/";  // path and query, escaped

  std::string authority() const;  // for the Host header: "[::1]:8080", "web"
  std::string text() const;
  bool operator==(const Url&) const = default;
};

absl::StatusOr<Url> parse_url(std::string_view text);

// What a Location header means on a page of `base`: absolute, "//host/x", "/x", "?x" or relative.
absl::StatusOr<Url> resolve_reference(const Url& base, std::string_view reference);

// A path and query as a person wrote it, escaped so that it can stand in a request line.
std::string escape_target(std::string_view target);

}  // namespace podwright
