// Strays: calls with an effect (RunPodSandbox, CreateContainer, StartContainer, StopContainer ...) are never cut. They
// run here, in flows of their own; the worker that asked waits for the answer, and where it is told to go on meanwhile,
// the call stays behind as a stray until it has ended. The worker hears of that end and looks at its pod again, so that
// whatever a stray brought is adopted or undone by its labels.
#pragma once

#include <absl/status/statusor.h>

#include <map>
#include <memory>
#include <string>
#include <type_traits>

#include "api/ids.h"
#include "base/co/bell.h"
#include "base/co/scope.h"
#include "base/co/sink.h"

namespace podwright::sync {

class Strays {
 public:
  // `ended` is told the pod of each stray that came to its end.
  Strays(Loop& loop, Sink<PodUid> ended) : loop_(loop), ended_(std::move(ended)), scope_(loop) {}

  // Runs `call` to its end whatever happens to the caller. Cancelled: the caller was told to go on, the outcome is
  // unknown, and the call is a stray from now on.
  template <class R>
  Co<R> carry(PodUid uid, std::string what, Co<R> call) {
    const auto answer = std::make_shared<OneShot<R>>(loop_);
    const auto call_state = std::make_shared<CallState>();
    ++in_flight_[uid];
    scope_.spawn(std::move(what), finish<R>(this, uid, answer, call_state, std::move(call)));
    std::optional<R> value = co_await answer->take(Instant::max());
    if (value) co_return std::move(*value);
    call_state->left = true;
    co_return R(absl::CancelledError("left in flight, its outcome is not known yet"));
  }

  // Calls of a pod in flight, strays and awaited ones.
  std::size_t in_flight(const PodUid& uid) const {
    const auto found = in_flight_.find(uid);
    return found == in_flight_.end() ? 0 : found->second;
  }
  std::size_t in_flight() const { return scope_.size(); }

  // Gives what is in flight until `deadline`, then cuts it: the agent is stopping and finds the outcome at its start.
  Co<void> close(Instant deadline) {
    (void)co_await scope_.idle(deadline);
    co_await scope_.close();
  }

 private:
  struct CallState {
    bool left = false;
  };

  template <class R>
  static Co<void> finish(Strays* self, PodUid uid, std::shared_ptr<OneShot<R>> answer,
                         std::shared_ptr<CallState> call_state, Co<R> call) {
    R result = co_await std::move(call);
    const auto found = self->in_flight_.find(uid);
    if (--found->second == 0) self->in_flight_.erase(found);
    answer->set(std::move(result));
    if (call_state->left) self->ended_(uid);
  }

  Loop& loop_;
  Sink<PodUid> ended_;
  std::map<PodUid, std::size_t> in_flight_;
  Scope scope_;
};

}  // namespace podwright::sync
