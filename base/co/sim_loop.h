// The Loop of the simulation and of unit tests: virtual time, and a seeded choice among what is ready. The same seed
// gives the same run. When nothing is ready, time jumps to the next timer.
//
// drop() is a crash: every coroutine frame and every timer is destroyed where it stands, and nothing more runs.
#pragma once

#include <boost/asio/execution.hpp>
#include <boost/asio/execution_context.hpp>
#include <map>
#include <vector>

#include "base/co/loop.h"
#include "base/time/time.h"

namespace podwright {

// Virtual clocks. The wall clock may be stepped, the boot clock only goes on.
class SimClock final : public Clock {
 public:
  Instant now() const override { return now_; }
  WallTime wall() const override { return WallTime(now_.time_since_epoch()) + offset_; }
  void step_wall(Duration by) { offset_ += by; }

 private:
  friend class SimLoop;
  Instant now_{Duration(1'000'000'000'000)};
  // Puts the first wall time at 2026-01-01T00:00:00Z.
  Duration offset_{Duration(1'767'225'600'000'000'000) - Duration(1'000'000'000'000)};
};

class SimLoop final : public Loop {
 public:
  explicit SimLoop(uint64_t seed = 1);
  ~SimLoop() override;

  boost::asio::any_io_executor executor() override;
  SimClock& clock() override { return *clock_; }
  Rng& rng() override { return rng_; }
  void post(Work work) override;
  void post_last(Work work) override;
  uint64_t call_at(Instant when, Work work) override;
  void forget(uint64_t timer) override;

  // Runs one piece of ready work, or jumps to the next timer that is due by `limit`. False where there was neither.
  bool step(Instant limit = Instant::max());

  // Runs until nothing is ready and no timer is due by `when`; then it is `when`.
  void run_until(Instant when);
  void run_for(Duration time) { run_until(now() + time); }

  // Runs until `done` holds, at most until `limit` of virtual time. True where it held.
  template <class Done>
  bool run_until_true(Done done, Instant limit) {
    while (!done()) {
      if (!step(limit)) return done();
    }
    return true;
  }

  // Runs until nothing is left to run, at most until `limit`.
  void drain(Instant limit = Instant::max()) {
    while (step(limit)) {
    }
  }

  // The crash: see the top.
  void drop();

  // Pieces of work run so far: the points at which a crash can be injected.
  uint64_t steps() const { return steps_; }

  // For a second loop that goes on in the same virtual time after a crash of the first.
  std::shared_ptr<SimClock> shared_clock() { return clock_; }
  SimLoop(uint64_t seed, std::shared_ptr<SimClock> clock);

 private:
  struct Executor;
  SeededRng rng_;
  std::shared_ptr<SimClock> clock_;
  boost::asio::execution_context context_;
  std::vector<Work> ready_;
  std::multimap<Instant, std::pair<uint64_t, Work>> timers_;
  std::map<uint64_t, std::multimap<Instant, std::pair<uint64_t, Work>>::iterator> by_id_;
  uint64_t next_id_ = 1;
  uint64_t steps_ = 0;
  bool dropping_ = false;
};

// Runs `co` on the loop until it has ended, at most for an hour of virtual time (then the test is at fault: abort).
void run_to_end(SimLoop& loop, Co<void> co);

// As run_to_end(), with the coroutine's value.
template <class T>
T run_and_get(SimLoop& loop, Co<T> co);

namespace co_detail {
template <class T>
Co<void> keep_value(Co<T> co, std::optional<T>* into) {
  into->emplace(co_await std::move(co));
}
}  // namespace co_detail

template <class T>
T run_and_get(SimLoop& loop, Co<T> co) {
  std::optional<T> value;
  run_to_end(loop, co_detail::keep_value<T>(std::move(co), &value));
  return std::move(*value);
}

}  // namespace podwright
