#include "base/co/loop.h"

#include <boost/asio/async_result.hpp>
#include <boost/asio/cancellation_state.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <cstdlib>

namespace podwright {
namespace asio = boost::asio;

namespace {

// Moved to the executor instead of being called inline, so that whoever fires a cell goes on undisturbed and the
// simulation can choose the order.
struct Resume {
  absl::AnyInvocable<void(Wait)> handler;
  Wait result;
  void operator()() { handler(result); }
};

}  // namespace

void Loop::drop_waits() {
  // Destroying a frame may destroy objects that start no new wait but may erase others, so take one at a time.
  while (!waits_.empty()) {
    const std::shared_ptr<WaitOp> op = std::move(waits_.front());
    waits_.pop_front();
    auto handler = std::move(op->handler);
  }
}

void WaitCell::finish(Loop& loop, const std::weak_ptr<WaitOp>& weak, Wait result) {
  const std::shared_ptr<WaitOp> op = weak.lock();
  if (!op || !op->handler) return;
  if (op->timer != 0) loop.forget(op->timer);
  Resume resume{std::move(op->handler), result};
  op->handler = nullptr;
  loop.waits_.erase(op->place);
  asio::post(loop.executor(), std::move(resume));
}

void WaitCell::fire() {
  const std::weak_ptr<WaitOp> op = std::exchange(op_, {});
  finish(*loop_, op, Wait::kRung);
}

Co<Wait> WaitCell::start(Instant deadline, bool cancellable) {
  if (has_waiter()) std::abort();  // two waiters in one cell: a bug of ours
  co_return co_await asio::async_initiate<const asio::use_awaitable_t<>, void(Wait)>(
      [this, deadline, cancellable](auto handler) {
        auto slot = asio::get_associated_cancellation_slot(handler);
        auto op = std::make_shared<WaitOp>();
        op->handler = std::move(handler);
        loop_->waits_.push_back(op);
        op->place = std::prev(loop_->waits_.end());
        const std::weak_ptr<WaitOp> weak = op;
        op_ = weak;
        Loop* loop = loop_;
        if (cancellable && slot.is_connected()) {
          slot.assign([loop, weak](asio::cancellation_type) { finish(*loop, weak, Wait::kCancelled); });
        }
        if (deadline != Instant::max()) {
          op->timer = loop->call_at(deadline, [loop, weak] {
            if (const auto late = weak.lock()) late->timer = 0;
            finish(*loop, weak, Wait::kLate);
          });
        }
      },
      asio::use_awaitable);
}

Co<Wait> WaitCell::wait(Instant deadline) {
  if (co_await is_stopping()) co_return Wait::kCancelled;
  if (deadline <= loop_->now()) co_return Wait::kLate;
  co_return co_await start(deadline, true);
}

Co<Wait> WaitCell::wait_uncancelled(Instant deadline) {
  if (deadline <= loop_->now()) co_return Wait::kLate;
  co_return co_await start(deadline, false);
}

Co<bool> is_stopping() {
  const asio::cancellation_state state = co_await asio::this_coro::cancellation_state;
  co_return state.cancelled() != asio::cancellation_type::none;
}

Co<Wait> sleep_until(Loop& loop, Instant when) {
  WaitCell cell(loop);
  co_return co_await cell.wait(when);
}

}  // namespace podwright
