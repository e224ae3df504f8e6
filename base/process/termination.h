// SIGTERM and SIGINT as news on the loop. The first asks for a clean end; a second one ends the process at once (exit
// code 1), whatever it waits for.
#pragma once

#include <boost/asio/signal_set.hpp>
#include <functional>

#include "base/co/real_loop.h"

namespace podwright {

class TerminationSignals {
 public:
  TerminationSignals(RealLoop& loop, std::function<void(int signal)> asked);

 private:
  void wait();

  boost::asio::signal_set signals_;
  std::function<void(int)> asked_;
  bool once_ = false;
};

}  // namespace podwright
