// Small things to wait on. All are used on the loop thread only, and all end by deadline or cancellation.
//   Bell      one waiter; a ring without a waiter is kept until the next wait.
//   Notice    many waiters; notify() wakes those who wait now.
//   OneShot   one value, set once, taken by one waiter.
//   Inbox     an inbox of one, whose wishes are joined.
//   Slots     a bounded number of permits, first come first served.
#pragma once

#include <absl/status/status.h>
#include <absl/status/statusor.h>

#include <deque>
#include <list>
#include <memory>
#include <optional>
#include <utility>

#include "base/co/loop.h"

namespace podwright {

class Bell {
 public:
  explicit Bell(Loop& loop) : cell_(loop) {}

  void ring();

  // kRung at once where a ring was kept. One waiter.
  Co<Wait> wait_until(Instant deadline);

 private:
  WaitCell cell_;
  bool rung_ = false;
};

class Notice {
 public:
  explicit Notice(Loop& loop) : loop_(&loop) {}

  // Wakes every waiter of this moment.
  void notify();

  // Waits for the next notify().
  Co<Wait> wait_until(Instant deadline);

  // Has the next notify() fire this cell too, for waits of another manner.
  void join(const std::shared_ptr<WaitCell>& cell);

 private:
  Loop* loop_;
  std::list<std::weak_ptr<WaitCell>> cells_;
};

template <class T>
class OneShot {
 public:
  explicit OneShot(Loop& loop) : bell_(loop) {}

  void set(T value) {
    value_ = std::move(value);
    bell_.ring();
  }
  bool is_set() const { return value_.has_value(); }

  // The value, or nothing where the deadline or cancellation came first.
  Co<std::optional<T>> take(Instant deadline) {
    if (!value_) (void)co_await bell_.wait_until(deadline);
    co_return std::exchange(value_, std::nullopt);
  }

 private:
  Bell bell_;
  std::optional<T> value_;
};

// An inbox of one. What is not yet taken is joined with the newer wish: T::join(T older, T newer).
template <class T>
class Inbox {
 public:
  explicit Inbox(Loop& loop) : bell_(loop) {}

  void put(T value) {
    value_ =
        value_ ? std::optional<T>(T::join(std::move(*value_), std::move(value))) : std::optional<T>(std::move(value));
    bell_.ring();
  }

  bool has_value() const { return value_.has_value(); }

  // The joined wish; nothing once `deadline` passed or the flow is stopping. One reader.
  Co<std::optional<T>> take(Instant deadline) {
    // A wish that was there at once leaves its ring behind, and a ring alone is no wish.
    while (!value_) {
      if (co_await bell_.wait_until(deadline) != Wait::kRung) break;
    }
    co_return std::exchange(value_, std::nullopt);
  }

 private:
  Bell bell_;
  std::optional<T> value_;
};

// A concurrency class: at most `limit` holders at once, in the order of asking. A Slot gives its permit back when it is
// destroyed, which only changes memory.
class Slots {
 public:
  class Slot {
   public:
    Slot() = default;
    explicit Slot(std::shared_ptr<Slots*> owner) : owner_(std::move(owner)) {}
    Slot(Slot&&) = default;
    Slot& operator=(Slot&& other) noexcept {
      give_back();
      owner_ = std::move(other.owner_);
      return *this;
    }
    ~Slot() { give_back(); }

    // Gives the permit back before the Slot's end; a second time does nothing.
    void give_back();

   private:
    std::shared_ptr<Slots*> owner_;
  };

  Slots(Loop& loop, std::size_t limit) : loop_(&loop), limit_(limit), self_(std::make_shared<Slots*>(this)) {}
  ~Slots() { *self_ = nullptr; }
  Slots(const Slots&) = delete;
  Slots& operator=(const Slots&) = delete;

  // DeadlineExceeded or Cancelled where the wait ended without a permit.
  Co<absl::StatusOr<Slot>> acquire(Instant deadline);

  void set_limit(std::size_t limit);
  std::size_t limit() const { return limit_; }
  std::size_t in_use() const { return in_use_; }
  std::size_t queued() const { return queue_.size(); }

 private:
  void hand_out();

  Loop* loop_;
  std::size_t limit_;
  std::size_t in_use_ = 0;
  std::list<std::shared_ptr<OneShot<Slot>>> queue_;
  std::shared_ptr<Slots*> self_;
};

}  // namespace podwright
