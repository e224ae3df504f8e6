// The way of every call of the fake runtime; included by its .cpp files only.
#pragma once

#include "cri/fake/fake_runtime.h"

namespace podwright::cri {

template <class T>
void FakeRuntime::Answer<T>::operator()(T value) const {
  if (fault && fault->kind == Fault::Kind::kLoseAnswer) {
    work->answered = true;  // as far as the runtime knows
    return;
  }
  if (fault && fault->kind == Fault::Kind::kFailAfter) value = T(fault->status);
  const auto deliver = [to = to, work = work](T result) {
    if (std::exchange(work->answered, true)) return;
    if (const auto shot = to.lock()) shot->set(std::move(result));
  };
  if (fault && fault->kind == Fault::Kind::kLateAnswer) {
    agenda->in(fault->delay, [deliver, value = std::move(value)] { deliver(value); });
  } else {
    deliver(std::move(value));
  }
}

template <class T>
Co<T> FakeRuntime::call(Call call, Instant deadline, Begin<T> begin) {
  call.number = calls_.size() + 1;
  call.at = agenda_.now();
  calls_.push_back(call);
  const auto shot = std::make_shared<OneShot<T>>(agenda_.loop());
  auto work = std::make_shared<Work>();
  work->call = call;
  work->fail = [to = std::weak_ptr(shot)](absl::Status status) {
    if (const auto caller = to.lock()) caller->set(T(std::move(status)));
  };
  note_work(work);

  Answer<T> answer{shot, &agenda_, is_down() ? std::nullopt : faults_.decide(call), work};
  if (is_down()) {
    agenda_.in(1ms, [answer] { answer(T(absl::UnavailableError("connect: connection refused"))); });
  } else if (!answer.fault) {
    begin(answer);
  } else {
    switch (answer.fault->kind) {
      case Fault::Kind::kFail: agenda_.in(takes(call.method), [answer] { answer(T(answer.fault->status)); }); break;
      case Fault::Kind::kDelay:
        later(
            work, answer.fault->delay, [begin, answer] { begin(answer); }, [] {});
        break;
      case Fault::Kind::kHang:
        work->hangs = true;
        begin(answer);
        break;
      case Fault::Kind::kLoseAnswer:
        work->extra = answer.fault->delay;
        begin(answer);
        break;
      case Fault::Kind::kLateAnswer:
      case Fault::Kind::kFailAfter: begin(answer); break;
    }
  }
  // From here on only the world holds the work, as long as something of it is to come.
  answer = {};
  begin = nullptr;
  work = nullptr;

  std::optional<T> value = co_await shot->take(deadline);
  if (value) co_return std::move(*value);
  if (co_await is_stopping()) co_return T(absl::CancelledError("context canceled"));
  co_return T(absl::DeadlineExceededError("context deadline exceeded"));
}

template <class T>
FakeRuntime::Begin<T> FakeRuntime::reading(Method method, std::function<T()> look) {
  return [this, method, look = std::move(look)](Answer<T> answer) {
    const Duration half = takes(method) / 2;
    later(
        answer.work, half,
        [this, half, look, answer] {
          T seen = look();
          agenda_.in(half, [answer, seen = std::move(seen)] { answer(seen); });
        },
        [] {});
  };
}

template <class T>
FakeRuntime::Begin<T> FakeRuntime::acting(Method method, std::function<T()> effect) {
  return [this, method, effect = std::move(effect)](Answer<T> answer) {
    later(
        answer.work, takes(method), [effect, answer] { answer(effect()); }, [] {});
  };
}

}  // namespace podwright::cri
