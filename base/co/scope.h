// Scope: the owner of flows. Flows start only here: spawn() sets the cancellation manner (a cancelled wait returns
// Wait::kCancelled, nothing throws) and ends the process on an escaped exception. Every owner of flows has its Scope
// as its last member and closes it before it dies.
#pragma once

#include <absl/status/status.h>
#include <absl/status/statusor.h>

#include <memory>
#include <string>
#include <type_traits>
#include <vector>

#include "base/co/bell.h"
#include "base/co/loop.h"

namespace podwright {

class Scope {
 public:
  explicit Scope(Loop& loop);
  ~Scope();
  Scope(const Scope&) = delete;
  Scope& operator=(const Scope&) = delete;

  // Starts a flow; `name` is for people. A flow spawned after cancel() is cancelled from its first wait on.
  void spawn(std::string name, Co<void> flow);

  // Tells every flow to stop: its waits return kCancelled.
  void cancel();

  // cancel(), then waits until the last flow has ended.
  Co<void> close();

  // Waits, without cancelling, until no flow runs or the deadline passes.
  Co<Wait> idle(Instant deadline);

  std::size_t size() const;
  std::vector<std::string> names() const;

 private:
  struct State;
  Loop* loop_;
  std::shared_ptr<State> state_;
};

namespace co_detail {

template <class T>
struct AsStatusOr {
  using type = absl::StatusOr<T>;
};
template <>
struct AsStatusOr<void> {
  using type = absl::Status;
};
template <>
struct AsStatusOr<absl::Status> {
  using type = absl::Status;
};
template <class T>
struct AsStatusOr<absl::StatusOr<T>> {
  using type = absl::StatusOr<T>;
};
template <class T>
using as_status_or = typename AsStatusOr<T>::type;

template <class R, class T>
Co<void> store(std::shared_ptr<OneShot<R>> into, Co<T> co) {
  if constexpr (std::is_void_v<T>) {
    co_await std::move(co);
    into->set(absl::OkStatus());
  } else {
    into->set(R(co_await std::move(co)));
  }
}

}  // namespace co_detail

// Runs `co` until `deadline`. A child that is still at work then (or when the caller is cancelled) is told to stop and
// awaited, so it must end promptly once its waits return kCancelled. DeadlineExceeded or Cancelled says which.
template <class T>
Co<co_detail::as_status_or<T>> with_deadline(Loop& loop, Instant deadline, Co<T> co) {
  using R = co_detail::as_status_or<T>;
  const auto result = std::make_shared<OneShot<R>>(loop);
  Scope child(loop);
  child.spawn("deadline", co_detail::store<R, T>(result, std::move(co)));
  std::optional<R> value = co_await result->take(deadline);
  if (!value) {
    const bool stopping = co_await is_stopping();
    co_await child.close();
    if (stopping) co_return absl::CancelledError("the flow is stopping");
    co_return absl::DeadlineExceededError("the deadline passed");
  }
  co_await child.close();
  co_return std::move(*value);
}

// Runs all of `flows` at once and returns when the last has ended. Cancelling the caller cancels them.
Co<void> run_all(Loop& loop, std::vector<Co<void>> flows);

}  // namespace podwright
