#include "agent/sync/start_governor.h"

#include <algorithm>

namespace podwright::sync {
namespace {

constexpr Duration kShortestOverdue = 2s;
constexpr int kOverdueMedians = 5;
// The median is of this many calls.
constexpr std::size_t kRemembered = 64;

}  // namespace

struct StartGovernor::State {
  State(Loop& l, std::size_t most) : loop(l), limit(most) {}

  Loop& loop;
  std::size_t limit;
  std::size_t in_flight = 0;
  std::list<std::shared_ptr<OneShot<Lease>>> finishing, beginning;
  std::deque<Duration> took;

  Duration overdue() const {
    if (took.empty()) return kShortestOverdue;
    std::vector<Duration> sorted(took.begin(), took.end());
    const auto middle = sorted.begin() + static_cast<std::ptrdiff_t>(sorted.size() / 2);
    std::nth_element(sorted.begin(), middle, sorted.end());
    return std::max(kShortestOverdue, kOverdueMedians * *middle);
  }
};

struct StartGovernor::Lease::Held {
  std::weak_ptr<State> state;
  Instant begin;
  uint64_t timer = 0;
  bool counted = true;

  static std::shared_ptr<Held> take(const std::shared_ptr<State>& state) {
    ++state->in_flight;
    auto held = std::make_shared<Held>();
    held->state = state;
    held->begin = state->loop.now();
    const std::weak_ptr<Held> weak = held;
    held->timer = state->loop.call_at(after(held->begin, state->overdue()), [weak] {
      if (const auto late = weak.lock()) {
        late->timer = 0;
        late->uncount();
      }
    });
    return held;
  }

  void uncount() {
    const auto owner = state.lock();
    if (!counted || !owner) return;
    counted = false;
    --owner->in_flight;
    hand_out(owner);
  }

  static void hand_out(const std::shared_ptr<State>& owner) {
    while (owner->in_flight < owner->limit) {
      auto& queue = owner->finishing.empty() ? owner->beginning : owner->finishing;
      if (queue.empty()) return;
      const auto next = queue.front();
      queue.pop_front();
      next->set(Lease(take(owner)));
    }
  }

  void give_back() {
    const auto owner = state.lock();
    if (!owner) return;
    if (timer != 0) owner->loop.forget(timer);
    timer = 0;
    if (owner->took.size() >= kRemembered) owner->took.pop_front();
    owner->took.push_back(owner->loop.now() - begin);
    uncount();
  }
};

StartGovernor::StartGovernor(Loop& loop, std::size_t limit)
    : state_(std::make_shared<State>(loop, std::max<std::size_t>(limit, 1))) {}

StartGovernor::~StartGovernor() = default;

StartGovernor::Lease& StartGovernor::Lease::operator=(Lease&& other) noexcept {
  if (held_) held_->give_back();
  held_ = std::move(other.held_);
  return *this;
}

StartGovernor::Lease::~Lease() {
  if (held_) held_->give_back();
}

Co<absl::StatusOr<StartGovernor::Lease>> StartGovernor::acquire(Rank rank, Instant deadline) {
  const auto state = state_;
  auto& queue = rank == Rank::kFinishing ? state->finishing : state->beginning;
  const bool nobody_before = state->finishing.empty() && (rank == Rank::kFinishing || state->beginning.empty());
  if (state->in_flight < state->limit && nobody_before) co_return Lease(Lease::Held::take(state));
  const auto turn = std::make_shared<OneShot<Lease>>(state->loop);
  queue.push_back(turn);
  std::optional<Lease> lease = co_await turn->take(deadline);
  if (lease) co_return std::move(*lease);
  queue.remove(turn);
  if (co_await is_stopping()) co_return absl::CancelledError("stopped while waiting for its turn to start");
  co_return absl::DeadlineExceededError("its turn to start did not come in time");
}

std::size_t StartGovernor::in_flight() const {
  return state_->in_flight;
}
std::size_t StartGovernor::queued() const {
  return state_->finishing.size() + state_->beginning.size();
}

}  // namespace podwright::sync
