#include "base/co/real_loop.h"

#include <sys/timerfd.h>
#include <unistd.h>

#include <boost/asio/post.hpp>
#include <cerrno>
#include <cstdio>
#include <cstdlib>

namespace podwright {
namespace asio = boost::asio;

namespace {

int open_timerfd() {
  const int fd = timerfd_create(CLOCK_BOOTTIME, TFD_NONBLOCK | TFD_CLOEXEC);
  if (fd < 0) {
    std::perror("fatal: timerfd_create");
    std::abort();
  }
  return fd;
}

}  // namespace

RealLoop::RealLoop() : guard_(io_.get_executor()), timerfd_(io_, open_timerfd()) {
  wait_for_timer();
}

RealLoop::~RealLoop() {
  drop_waits();
}

void RealLoop::post(Work work) {
  asio::post(io_, std::move(work));
}

void RealLoop::post_last(Work work) {
  asio::post(io_, std::move(work));
}

uint64_t RealLoop::call_at(Instant when, Work work) {
  const uint64_t id = next_id_++;
  const auto place = timers_.emplace(when, std::make_pair(id, std::move(work)));
  by_id_.emplace(id, place);
  if (when < armed_) arm();
  return id;
}

void RealLoop::forget(uint64_t timer) {
  const auto found = by_id_.find(timer);
  if (found == by_id_.end()) return;
  timers_.erase(found->second);
  by_id_.erase(found);
  // The timerfd may now fire for nothing, once: cheaper than a system call for every forgotten deadline.
}

void RealLoop::arm() {
  itimerspec spec{};
  armed_ = timers_.empty() ? Instant::max() : timers_.begin()->first;
  if (armed_ != Instant::max()) {
    const int64_t ns = std::max<int64_t>(armed_.time_since_epoch().count(), 1);
    spec.it_value.tv_sec = ns / 1'000'000'000;
    spec.it_value.tv_nsec = ns % 1'000'000'000;
  }
  if (timerfd_settime(timerfd_.native_handle(), TFD_TIMER_ABSTIME, &spec, nullptr) != 0) {
    std::perror("fatal: timerfd_settime");
    std::abort();
  }
}

void RealLoop::wait_for_timer() {
  timerfd_.async_wait(asio::posix::stream_descriptor::wait_read, [this](const boost::system::error_code& error) {
    if (error) return;
    uint64_t count = 0;
    const ssize_t got = ::read(timerfd_.native_handle(), &count, sizeof(count));
    (void)got;  // EAGAIN: re-armed between the wake-up and this line
    fire_due();
    wait_for_timer();
  });
}

void RealLoop::fire_due() {
  const Instant now = clock_.now();
  while (!timers_.empty() && timers_.begin()->first <= now) {
    Work work = std::move(timers_.begin()->second.second);
    by_id_.erase(timers_.begin()->second.first);
    timers_.erase(timers_.begin());
    work();
  }
  arm();
}

void RealLoop::run() {
  while (!io_.stopped()) {
    if (io_.run_one() == 0) break;
    Instant begin = clock_.now();
    // Asio's look at the kernel is an entry of its queue, so one lap of the queue holds exactly one. A mark at the end
    // of the queue ends the lap: what became ready meanwhile belongs to the next.
    for (std::size_t ran = 2; ran > 1;) {
      // Counted in members: a mark may be left in the queue by a run that was stopped.
      const uint64_t mark = ++lap_marks_;
      asio::post(io_, [this] { ++laps_over_; });
      for (ran = 0; laps_over_ < mark && io_.poll_one() > 0;) ++ran;
      const Instant end = clock_.now();
      if (observer_) observer_(end - begin);
      begin = end;
      if (laps_over_ < mark) return;  // stopped, the mark is never run
    }
  }
}

void RealLoop::stop() {
  io_.stop();
}

}  // namespace podwright
