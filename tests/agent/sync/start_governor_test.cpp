#include "agent/sync/start_governor.h"

#include <doctest/doctest.h>

#include "base/co/scope.h"
#include "base/co/sim_loop.h"

namespace podwright::sync {
namespace {

using Rank = StartGovernor::Rank;

struct Starts {
  explicit Starts(std::size_t limit) : governor(loop, limit), scope(loop) {}

  // Holds a place for `time`, and notes when it got one.
  void ask(const std::string& name, Rank rank, Duration time, Instant deadline = Instant::max()) {
    scope.spawn(name, hold(this, name, rank, time, deadline));
    loop.run_for(Duration(0));
  }
  static Co<void> hold(Starts* self, std::string name, Rank rank, Duration time, Instant deadline) {
    auto lease = co_await self->governor.acquire(rank, deadline);
    self->order += name;
    if (!lease.ok()) {
      self->order += absl::IsCancelled(lease.status()) ? "!c" : "!d";
      co_return;
    }
    (void)co_await sleep_until(self->loop, self->loop.now() + time);
  }

  SimLoop loop;
  StartGovernor governor;
  std::string order;
  Scope scope;
};

TEST_CASE("no more than the limit are in flight, and those that finish go before those that begin") {
  Starts starts(1);
  starts.ask("a", Rank::kBeginning, 10ms);
  starts.ask("b", Rank::kBeginning, 10ms);
  starts.ask("c", Rank::kFinishing, 10ms);
  starts.ask("d", Rank::kFinishing, 10ms);
  CHECK(starts.governor.in_flight() == 1);
  CHECK(starts.governor.queued() == 3);

  starts.loop.drain();

  CHECK(starts.order == "acdb");
  CHECK(starts.governor.in_flight() == 0);
  CHECK(starts.loop.waiting() == 0);
}

TEST_CASE("a call that is overdue gives its place back, and its end gives nothing back twice") {
  Starts starts(1);
  starts.ask("a", Rank::kBeginning, 60s);
  starts.ask("b", Rank::kBeginning, 10s);
  starts.ask("c", Rank::kBeginning, 10s);
  starts.loop.run_for(1999ms);
  CHECK(starts.order == "a");
  starts.loop.run_for(1ms);
  CHECK(starts.order == "ab");
  CHECK(starts.governor.in_flight() == 1);
  starts.loop.drain();
  CHECK(starts.governor.in_flight() == 0);
}

TEST_CASE("what is overdue is told by five times the median") {
  Starts starts(1);
  for (int i = 0; i < 5; ++i) {
    starts.ask("x", Rank::kBeginning, 1s);
    starts.loop.drain();
  }
  starts.order.clear();
  starts.ask("a", Rank::kBeginning, 60s);
  starts.ask("b", Rank::kBeginning, 1s);
  starts.loop.run_for(4999ms);
  CHECK(starts.order == "a");
  starts.loop.run_for(1ms);
  CHECK(starts.order == "ab");
  starts.loop.drain();
}

TEST_CASE("a wait for a place ends by its deadline or by cancellation, and leaves no trace") {
  Starts starts(1);
  starts.ask("a", Rank::kBeginning, 1s);
  starts.ask("b", Rank::kBeginning, 1s, starts.loop.now() + 100ms);
  starts.loop.run_for(200ms);
  CHECK(starts.order == "ab!d");
  starts.ask("c", Rank::kFinishing, 1s);
  CHECK(starts.governor.queued() == 1);
  starts.scope.cancel();
  starts.loop.drain();
  CHECK(starts.order == "ab!dc!c");
  CHECK(starts.governor.queued() == 0);
  CHECK(starts.governor.in_flight() == 0);
}

TEST_CASE("a lease may outlive its governor") {
  SimLoop loop;
  StartGovernor::Lease lease;
  {
    StartGovernor governor(loop, 1);
    auto got = run_and_get(loop, governor.acquire(Rank::kBeginning, Instant::max()));
    REQUIRE(got.ok());
    lease = *std::move(got);
  }
  loop.drain();
}

}  // namespace
}  // namespace podwright::sync
