#include "base/co/bell.h"

namespace podwright {

void Bell::ring() {
  rung_ = true;
  cell_.fire();
}

Co<Wait> Bell::wait_until(Instant deadline) {
  if (!rung_) {
    const Wait result = co_await cell_.wait(deadline);
    // A ring that came between the end of the wait and this line stands for the next wait.
    if (result != Wait::kRung) co_return result;
  }
  rung_ = false;
  co_return Wait::kRung;
}

void Notice::notify() {
  const auto cells = std::exchange(cells_, {});
  for (const auto& weak : cells) {
    if (const auto cell = weak.lock()) cell->fire();
  }
}

Co<Wait> Notice::wait_until(Instant deadline) {
  const auto cell = std::make_shared<WaitCell>(*loop_);
  join(cell);
  co_return co_await cell->wait(deadline);
}

void Notice::join(const std::shared_ptr<WaitCell>& cell) {
  cells_.remove_if([](const auto& weak) { return weak.expired(); });
  cells_.push_back(cell);
}

void Slots::Slot::give_back() {
  const std::shared_ptr<Slots*> owner = std::exchange(owner_, nullptr);
  if (!owner || *owner == nullptr) return;
  Slots& slots = **owner;
  --slots.in_use_;
  slots.hand_out();
}

void Slots::set_limit(std::size_t limit) {
  limit_ = limit;
  hand_out();
}

void Slots::hand_out() {
  while (in_use_ < limit_ && !queue_.empty()) {
    const auto next = queue_.front();
    queue_.pop_front();
    ++in_use_;
    next->set(Slot(self_));
  }
}

Co<absl::StatusOr<Slots::Slot>> Slots::acquire(Instant deadline) {
  if (in_use_ < limit_ && queue_.empty()) {
    ++in_use_;
    co_return Slot(self_);
  }
  const auto turn = std::make_shared<OneShot<Slot>>(*loop_);
  queue_.push_back(turn);
  std::optional<Slot> slot = co_await turn->take(deadline);
  if (slot) co_return std::move(*slot);
  queue_.remove(turn);
  if (co_await is_stopping()) co_return absl::CancelledError("stopped while waiting for a slot");
  co_return absl::DeadlineExceededError("no slot became free in time");
}

}  // namespace podwright
