#include "agent/sync/strays.h"

#include <doctest/doctest.h>

#include "base/co/sim_loop.h"

namespace podwright::sync {
namespace {

struct Calls {
  Calls() : strays(loop, [this](PodUid uid) { told.push_back(uid.value); }), worker(loop) {}

  static Co<absl::Status> call(Calls* self, Duration takes) {
    const Wait wait = co_await sleep_until(self->loop, self->loop.now() + takes);
    if (wait == Wait::kCancelled) co_return absl::CancelledError("cut");
    self->effects += 1;
    co_return absl::OkStatus();
  }
  static Co<void> work(Calls* self, Duration takes) {
    self->answer = co_await self->strays.carry(PodUid("u1"), "call", call(self, takes));
  }

  SimLoop loop;
  std::vector<std::string> told;
  int effects = 0;
  std::optional<absl::Status> answer;
  Strays strays;
  Scope worker;
};

TEST_CASE("an answer that is waited for reaches its worker and is no stray") {
  Calls calls;
  calls.worker.spawn("worker", Calls::work(&calls, 1s));
  calls.loop.run_for(500ms);
  CHECK(calls.strays.in_flight(PodUid("u1")) == 1);
  calls.loop.run_for(1s);
  CHECK(calls.answer->ok());
  CHECK(calls.told.empty());
  CHECK(calls.strays.in_flight(PodUid("u1")) == 0);
}

TEST_CASE("a worker that is told to go on leaves at once; the call runs to its end, and that end is told") {
  Calls calls;
  calls.worker.spawn("worker", Calls::work(&calls, 10s));
  calls.loop.run_for(1s);

  calls.worker.cancel();
  calls.loop.run_for(1ms);

  CHECK(absl::IsCancelled(*calls.answer));
  CHECK(calls.worker.size() == 0);
  CHECK(calls.effects == 0);
  CHECK(calls.strays.in_flight(PodUid("u1")) == 1);

  calls.loop.run_for(10s);
  CHECK(calls.effects == 1);
  CHECK(calls.told == std::vector<std::string>{"u1"});
  CHECK(calls.strays.in_flight() == 0);
}

TEST_CASE("closing gives calls their time and then cuts them") {
  Calls quick;
  quick.worker.spawn("worker", Calls::work(&quick, 1s));
  quick.loop.run_for(1ms);
  quick.worker.cancel();
  run_to_end(quick.loop, quick.strays.close(quick.loop.now() + 5s));
  CHECK(quick.effects == 1);

  Calls slow;
  slow.worker.spawn("worker", Calls::work(&slow, 60s));
  slow.loop.run_for(1ms);
  slow.worker.cancel();
  const Instant begin = slow.loop.now();
  run_to_end(slow.loop, slow.strays.close(begin + 5s));
  CHECK(slow.effects == 0);
  CHECK(slow.loop.now() == begin + 5s);
}

}  // namespace
}  // namespace podwright::sync
