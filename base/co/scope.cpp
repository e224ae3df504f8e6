#include "base/co/scope.h"

#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/this_coro.hpp>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <list>

namespace podwright {
namespace asio = boost::asio;

struct Scope::State {
  struct Flow {
    std::string name;
    asio::cancellation_signal signal;
  };
  explicit State(Loop& loop) : ended(loop) {}

  std::list<Flow> flows;
  bool cancelled = false;
  Notice ended;
};

namespace {

Co<void> with_values(Co<void> flow) {
  // Without this the next co_await after a cancelled one throws.
  co_await asio::this_coro::throw_if_cancelled(false);
  co_await std::move(flow);
}

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

Scope::Scope(Loop& loop) : loop_(&loop), state_(std::make_shared<State>(loop)) {}
Scope::~Scope() = default;

void Scope::spawn(std::string name, Co<void> flow) {
  auto& flows = state_->flows;
  flows.emplace_back();
  const auto place = std::prev(flows.end());
  place->name = std::move(name);
  asio::co_spawn(loop_->executor(), with_values(std::move(flow)),
                 asio::bind_cancellation_slot(place->signal.slot(),
                                              [state = state_, place, loop = loop_](std::exception_ptr error) {
                                                if (error) die_of(error, place->name);
                                                // Asio hands a cancellation on through the executor, as a reference
                                                // into the signal's memory, so the signal lives until whatever is ready
                                                // now has run.
                                                auto ended = std::make_shared<std::list<State::Flow>>();
                                                ended->splice(ended->end(), state->flows, place);
                                                loop->post_last([ended] {});
                                                if (state->flows.empty()) state->ended.notify();
                                              }));
  if (state_->cancelled) place->signal.emit(asio::cancellation_type::terminal);
}

void Scope::cancel() {
  state_->cancelled = true;
  // A cancelled wait resumes a turn later, so no flow leaves the list meanwhile.
  for (auto& flow : state_->flows) flow.signal.emit(asio::cancellation_type::terminal);
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
