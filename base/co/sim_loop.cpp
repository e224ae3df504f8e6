#include "base/co/sim_loop.h"

#include <cstdlib>
#include <utility>

#include "base/co/scope.h"

namespace podwright {
namespace asio = boost::asio;

// The smallest executor that any_io_executor takes: never runs work inline, so that each resumption of a coroutine is
// a step of its own, in an order that the seed chooses.
struct SimLoop::Executor {
  SimLoop* loop;

  template <class F>
  void execute(F&& f) const {
    loop->post(Work(std::forward<F>(f)));
  }
  asio::execution_context& query(asio::execution::context_t) const noexcept { return loop->context_; }
  static constexpr asio::execution::blocking_t query(asio::execution::blocking_t) noexcept {
    return asio::execution::blocking.never;
  }
  friend bool operator==(const Executor& a, const Executor& b) noexcept { return a.loop == b.loop; }
  friend bool operator!=(const Executor& a, const Executor& b) noexcept { return a.loop != b.loop; }
};

SimLoop::SimLoop(uint64_t seed) : SimLoop(seed, std::make_shared<SimClock>()) {}

SimLoop::SimLoop(uint64_t seed, std::shared_ptr<SimClock> clock) : rng_(seed), clock_(std::move(clock)) {}

SimLoop::~SimLoop() {
  drop();
}

asio::any_io_executor SimLoop::executor() {
  return Executor{this};
}

void SimLoop::post(Work work) {
  if (dropping_) return;  // a dying frame hands over its work: nobody is there to do it
  ready_.push_back(std::move(work));
}

// Timers are looked at only once nothing is ready.
void SimLoop::post_last(Work work) {
  (void)call_at(clock_->now_, std::move(work));
}

uint64_t SimLoop::call_at(Instant when, Work work) {
  const uint64_t id = next_id_++;
  if (dropping_) return id;
  by_id_.emplace(id, timers_.emplace(when, std::make_pair(id, std::move(work))));
  return id;
}

void SimLoop::forget(uint64_t timer) {
  const auto found = by_id_.find(timer);
  if (found == by_id_.end()) return;
  timers_.erase(found->second);
  by_id_.erase(found);
}

bool SimLoop::step(Instant limit) {
  if (ready_.empty()) {
    if (timers_.empty() || timers_.begin()->first > limit) return false;
    const Instant due = timers_.begin()->first;
    if (due > clock_->now_) clock_->now_ = due;
    while (!timers_.empty() && timers_.begin()->first <= due) {
      ready_.push_back(std::move(timers_.begin()->second.second));
      by_id_.erase(timers_.begin()->second.first);
      timers_.erase(timers_.begin());
    }
  }
  const std::size_t chosen = rng_.below(ready_.size());
  Work work = std::move(ready_[chosen]);
  ready_.erase(ready_.begin() + static_cast<std::ptrdiff_t>(chosen));
  ++steps_;
  work();
  return true;
}

void SimLoop::run_until(Instant when) {
  while (step(when)) {
  }
  if (when != Instant::max() && when > clock_->now_) clock_->now_ = when;
}

void SimLoop::drop() {
  dropping_ = true;
  by_id_.clear();
  timers_.clear();
  // Destroying one piece of work may destroy objects that own others, so the lists are emptied one by one.
  while (!ready_.empty()) {
    Work work = std::move(ready_.back());
    ready_.pop_back();
  }
  drop_waits();
  ready_.clear();
  dropping_ = false;
}

namespace {

Co<void> then_mark(Co<void> co, bool* done) {
  co_await std::move(co);
  *done = true;
}

}  // namespace

void run_to_end(SimLoop& loop, Co<void> co) {
  Scope scope(loop);
  bool done = false;
  scope.spawn("test", then_mark(std::move(co), &done));
  if (!loop.run_until_true([&done] { return done; }, loop.now() + std::chrono::hours(1))) std::abort();
}

}  // namespace podwright
