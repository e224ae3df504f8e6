#include "base/systemd/notify.h"

#include <systemd/sd-daemon.h>

namespace podwright {

void notify_systemd(const std::string& state) {
  // A manager that cannot be told is no reason to stop: its own time-outs tell it.
  (void)sd_notify(0, state.c_str());
}

std::optional<Duration> watchdog_period() {
  uint64_t microseconds = 0;
  if (sd_watchdog_enabled(0, &microseconds) <= 0) return std::nullopt;
  return std::chrono::microseconds(microseconds);
}

}  // namespace podwright
