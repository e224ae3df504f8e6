// The words of failed dials, the same over every Net: as Go programs write them, since people search for these.
#pragma once

#include <absl/status/status.h>

#include <string>
#include <string_view>

#include "base/net/net.h"

namespace podwright {

// An IPv4 or IPv6 address, not a name.
bool is_address(const std::string& host);

// "dial tcp 10.1.2.3:80: connect: connection refused".
std::string dial_words(const Endpoint& to, std::string_view reason);
absl::Status dial_late(const Endpoint& to);
absl::Status dial_refused(const Endpoint& to);

}  // namespace podwright
