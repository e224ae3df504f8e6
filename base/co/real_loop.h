// The Loop of the running agent: an io_context on one thread, timers on one timerfd of CLOCK_BOOTTIME, so that an idle
// loop wakes only for work.
#pragma once

#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <functional>
#include <map>
#include <unordered_map>

#include "base/co/loop.h"
#include "base/time/time.h"

namespace podwright {

class RealLoop final : public Loop {
 public:
  RealLoop();
  ~RealLoop() override;

  boost::asio::any_io_executor executor() override { return io_.get_executor(); }
  Clock& clock() override { return clock_; }
  Rng& rng() override { return rng_; }
  void post(Work work) override;
  void post_last(Work work) override;
  uint64_t call_at(Instant when, Work work) override;
  void forget(uint64_t timer) override;

  // Runs until stop(). Each stretch of work between two looks at the kernel is reported to the observer, which feeds
  // the loop latency histogram and the watchdog.
  void run();
  void stop();
  void observe_turns(std::function<void(Duration)> observer) { observer_ = std::move(observer); }

  // For the adapters of the ports (sockets, descriptors) in base/ only.
  boost::asio::io_context& io() { return io_; }

 private:
  void arm();
  void wait_for_timer();
  void fire_due();

  SystemClock clock_;
  SystemRng rng_;
  boost::asio::io_context io_{1};
  boost::asio::executor_work_guard<boost::asio::io_context::executor_type> guard_;
  boost::asio::posix::stream_descriptor timerfd_;
  std::multimap<Instant, std::pair<uint64_t, Work>> timers_;
  std::unordered_map<uint64_t, std::multimap<Instant, std::pair<uint64_t, Work>>::iterator> by_id_;
  Instant armed_ = Instant::max();
  uint64_t next_id_ = 1;
  std::function<void(Duration)> observer_;
  // Marks put into the queue, and those that were reached.
  uint64_t lap_marks_ = 0, laps_over_ = 0;
};

}  // namespace podwright
