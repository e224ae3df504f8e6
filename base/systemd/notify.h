// What a service tells systemd (sd_notify(3)); nothing happens where it was not started by systemd.
#pragma once

#include <optional>
#include <string>

#include "base/time/time.h"

namespace podwright {

// "READY=1", "STATUS=...", "STOPPING=1", "WATCHDOG=1".
void notify_systemd(const std::string& state);

// How often the watchdog wants to hear from us (WATCHDOG_USEC); nothing where none is set.
std::optional<Duration> watchdog_period();

}  // namespace podwright
