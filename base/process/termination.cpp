#include "base/process/termination.h"

#include <unistd.h>

#include <csignal>
#include <utility>

namespace podwright {

TerminationSignals::TerminationSignals(RealLoop& loop, std::function<void(int signal)> asked)
    : signals_(loop.io(), SIGTERM, SIGINT), asked_(std::move(asked)) {
  wait();
}

void TerminationSignals::wait() {
  signals_.async_wait([this](const boost::system::error_code& error, int signal) {
    if (error) return;
    if (std::exchange(once_, true)) ::_exit(1);
    asked_(signal);
    wait();
  });
}

}  // namespace podwright
