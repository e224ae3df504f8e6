// Names to addresses with c-ares, driven from the loop: its sockets are watched by the loop's reactor, its timers are
// the loop's. A lookup has a c-ares channel of its own, so that ending the wait ends the lookup, and a changed
// resolv.conf or hosts file holds from the next lookup on.
#pragma once

#include <absl/status/statusor.h>

#include <string>
#include <vector>

#include "base/co/real_loop.h"

namespace podwright {

// The addresses of `name`, in the order to try. NotFound where there are none; `name` may be an address itself.
Co<absl::StatusOr<std::vector<std::string>>> resolve_name(RealLoop& loop, std::string name, Instant deadline);

}  // namespace podwright
