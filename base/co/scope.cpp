#include "base/co/scope.h"

#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/this_coro.hpp>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <list>
#include <utility>

namespace podwright {
namespace asio = boost::asio;

struct Scope::State {
  struct Flow {
    std::string name;
    asio::cancellation_signal signal;
    // A coroutine that is cancelled before its first line throws out of the loop, and one that is told twice may be
    // told after its end: so it is told once, and not before it begins.
    bool begun = false, told = false;

    void tell() {
      if (begun && !std::exchange(told, true)) signal.emit(asio::cancellation_type::terminal);
    }
  };
  using Place = std::list<Flow>::iterator;
  // What asio calls at the flow's end. It has a slot and no executor of its own, so that asio passes a cancellation on
  // at once instead of posting it, when the flow may be over by the time it arrives.
  struct End {
    using cancellation_slot_type = asio::cancellation_slot;
    cancellation_slot_type get_cancellation_slot() const noexcept { return slot; }
    void operator()(std::exception_ptr error);

    std::shared_ptr<State> state;
    Place place;
    asio::any_io_executor ex;
    asio::cancellation_slot slot;
  };
  static Co<void> with_values(std::shared_ptr<State> state, Place place, Co<void> flow);

  explicit State(Loop& loop) : ended(loop) {}

  std::list<Flow> flows;
  bool cancelled = false;
  Notice ended;
};

namespace {

void die_of(const std::exception_ptr& error, const std::string& flow) {
  std::string what = "an exception of an unknown type";
  try {
    std::rethrow_exception(error);
  } catch (const std::exception& e) {
    what = e.what();
  } catch (...) {
    what = "an exception that is no std::exception";
  }
  std::fprintf(stderr, "fatal: flow %s ended by an exception: %s\n", flow.c_str(), what.c_str());
  std::abort();
}

}  // namespace

Co<void> Scope::State::with_values(std::shared_ptr<State> state, Place place, Co<void> flow) {
  // Without this the next co_await after a cancelled one throws.
  co_await asio::this_coro::throw_if_cancelled(false);
  place->begun = true;
  if (state->cancelled) place->tell();
  co_await std::move(flow);
}

void Scope::State::End::operator()(std::exception_ptr error) {
  if (error) die_of(error, place->name);
  // The signal may be the very one that is being emitted up the stack, so it dies a turn later.
  auto ended = std::make_shared<std::list<State::Flow>>();
  ended->splice(ended->end(), state->flows, place);
  asio::post(ex, [ended] {});
  if (state->flows.empty()) state->ended.notify();
}

Scope::Scope(Loop& loop) : loop_(&loop), state_(std::make_shared<State>(loop)) {}
Scope::~Scope() = default;

void Scope::spawn(std::string name, Co<void> flow) {
  auto& flows = state_->flows;
  flows.emplace_back();
  const auto place = std::prev(flows.end());
  place->name = std::move(name);
  asio::co_spawn(loop_->executor(), State::with_values(state_, place, std::move(flow)),
                 State::End{state_, place, loop_->executor(), place->signal.slot()});
}

void Scope::cancel() {
  state_->cancelled = true;
  // A cancelled wait resumes a turn later, so no flow leaves the list meanwhile.
  for (auto& flow : state_->flows) flow.tell();
}

Co<void> Scope::close() {
  const auto state = state_;
  Loop& loop = *loop_;
  cancel();
  while (!state->flows.empty()) {
    // The closer may be cancelled itself; it still joins.
    const auto cell = std::make_shared<WaitCell>(loop);
    state->ended.join(cell);
    (void)co_await cell->wait_uncancelled(Instant::max());
  }
}

Co<Wait> Scope::idle(Instant deadline) {
  const auto state = state_;
  while (!state->flows.empty()) {
    const Wait result = co_await state->ended.wait_until(deadline);
    if (result != Wait::kRung) co_return result;
  }
  co_return Wait::kRung;
}

std::size_t Scope::size() const {
  return state_->flows.size();
}

std::vector<std::string> Scope::names() const {
  std::vector<std::string> names;
  for (const auto& flow : state_->flows) names.push_back(flow.name);
  return names;
}

Co<void> run_all(Loop& loop, std::vector<Co<void>> flows) {
  Scope scope(loop);
  for (auto& flow : flows) scope.spawn("part", std::move(flow));
  flows.clear();
  if (co_await scope.idle(Instant::max()) != Wait::kRung) co_await scope.close();
}

}  // namespace podwright
