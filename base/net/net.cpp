#include "base/net/net.h"

#include <arpa/inet.h>
#include <fmt/format.h>

#include "base/net/errors.h"

namespace podwright {

std::string Endpoint::text() const {
  if (!unix_path.empty()) return "unix:" + unix_path;
  if (host.find(':') != std::string::npos) return fmt::format("[{}]:{}", host, port);
  return fmt::format("{}:{}", host, port);
}

bool is_address(const std::string& host) {
  in6_addr room{};
  return inet_pton(AF_INET, host.c_str(), &room) == 1 || inet_pton(AF_INET6, host.c_str(), &room) == 1;
}

std::string dial_words(const Endpoint& to, std::string_view reason) {
  if (!to.unix_path.empty()) return fmt::format("dial unix {}: {}", to.unix_path, reason);
  return fmt::format("dial tcp {}: {}", to.text(), reason);
}

absl::Status dial_late(const Endpoint& to) {
  return absl::DeadlineExceededError(dial_words(to, "i/o timeout"));
}

absl::Status dial_refused(const Endpoint& to) {
  return absl::UnavailableError(dial_words(to, "connect: connection refused"));
}

}  // namespace podwright
