// The Loop: the one place where coroutines run, timers fire and other threads hand over what they finished. The real
// one is RealLoop (base/co/real_loop.h), the simulated one SimLoop (base/co/sim_loop.h).
//
// A coroutine that waits is owned by its Loop through the wait it is in: dropping the Loop's waits destroys every
// frame, which is what a crash of the agent means in the simulation.
#pragma once

#include <absl/functional/any_invocable.h>

#include <boost/asio/any_io_executor.hpp>
#include <list>
#include <memory>

#include "base/co/co.h"
#include "base/time/time.h"

namespace podwright {

// How a wait ended.
enum class Wait {
  kRung,       // what was waited for came
  kLate,       // the deadline passed first
  kCancelled,  // the flow is stopping
};

// One pending wait: who to resume, and the timer that ends it. Owned by the Loop; see WaitCell.
struct WaitOp {
  absl::AnyInvocable<void(Wait)> handler;
  uint64_t timer = 0;  // 0: none
  std::list<std::shared_ptr<WaitOp>>::iterator place;
};

class Loop {
 public:
  using Work = absl::AnyInvocable<void()>;

  virtual ~Loop() = default;
  Loop(const Loop&) = delete;
  Loop& operator=(const Loop&) = delete;

  virtual boost::asio::any_io_executor executor() = 0;
  virtual Clock& clock() = 0;
  virtual Rng& rng() = 0;

  // Runs `work` on the loop soon. The one member that any thread may call.
  virtual void post(Work work) = 0;

  // Runs `work` after all that is ready now, whatever order the loop chooses among that. For the end of what ready work
  // may still refer to. Loop thread only.
  virtual void post_last(Work work) = 0;

  // Runs `work` at `when`, or soon where that has passed. The answer names the timer, never 0.
  virtual uint64_t call_at(Instant when, Work work) = 0;

  // Forgets a timer; one that fired or is unknown is no error.
  virtual void forget(uint64_t timer) = 0;

  Instant now() { return clock().now(); }

  // Waits in flight, for leak checks.
  std::size_t waiting() const { return waits_.size(); }

 protected:
  Loop() = default;

  // Destroys every waiting coroutine's frame.
  void drop_waits();

 private:
  friend class WaitCell;
  std::list<std::shared_ptr<WaitOp>> waits_;
};

// The primitive below every wait: at most one coroutine waits in a cell, and fire() resumes it. A cell may die before
// its waiter (the waiter then ends by its deadline or cancellation), and a waiter before its cell.
class WaitCell {
 public:
  explicit WaitCell(Loop& loop) : loop_(&loop) {}

  // Resumes the waiter with kRung; nothing where none waits.
  void fire();

  bool has_waiter() const { return !op_.expired(); }

  // Waits until fire(), the deadline or cancellation. Returns at once where the flow is stopping already or the
  // deadline has passed.
  Co<Wait> wait(Instant deadline);

  // As wait(), but cancellation does not end it: for joining something that was cut and is about to end.
  Co<Wait> wait_uncancelled(Instant deadline);

 private:
  Co<Wait> start(Instant deadline, bool cancellable);
  static void finish(Loop& loop, const std::weak_ptr<WaitOp>& weak, Wait result);

  Loop* loop_;
  std::weak_ptr<WaitOp> op_;
};

// True once the flow that asks is being cancelled.
Co<bool> is_stopping();

// Waits until `when` (kLate) or cancellation.
Co<Wait> sleep_until(Loop& loop, Instant when);

}  // namespace podwright
