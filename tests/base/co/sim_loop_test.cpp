#include "base/co/sim_loop.h"

#include <doctest/doctest.h>

#include "base/co/bell.h"
#include "base/co/offload.h"
#include "base/co/scope.h"

using namespace podwright;

namespace {

Co<void> tick(SimLoop& loop, std::string name, int times, std::vector<std::string>* trace) {
  for (int i = 0; i < times; ++i) {
    (void)co_await sleep_until(loop, loop.now() + 1s);
    trace->push_back(name);
  }
}

std::vector<std::string> trace_of(uint64_t seed) {
  SimLoop loop(seed);
  Scope scope(loop);
  std::vector<std::string> trace;
  for (const char* name : {"a", "b", "c"}) scope.spawn(name, tick(loop, name, 4, &trace));
  loop.drain();
  return trace;
}

struct Alive {
  explicit Alive(int* count) : count_(count) { ++*count_; }
  ~Alive() { --*count_; }
  Alive(const Alive&) = delete;
  int* count_;
};

Co<void> wait_for_ever(Loop& loop, int* alive) {
  const Alive here(alive);
  Bell bell(loop);
  (void)co_await bell.wait_until(Instant::max());
}

Co<void> note_wait(Bell& bell, Instant deadline, std::optional<Wait>* result) {
  *result = co_await bell.wait_until(deadline);
}

Co<int> slow_answer(Loop& loop, Duration time) {
  if (co_await sleep_until(loop, loop.now() + time) == Wait::kCancelled) co_return -1;
  co_return 42;
}

Co<void> ask(Loop& loop, Duration time, absl::StatusOr<int>* result) {
  *result = co_await with_deadline(loop, loop.now() + 10s, slow_answer(loop, time));
}

Co<void> hold_slot(SimLoop& loop, Slots& slots, int* running, int* most) {
  const Instant never = Instant::max();
  auto slot = co_await slots.acquire(never);
  REQUIRE(slot.ok());
  *most = std::max(*most, ++*running);
  (void)co_await sleep_until(loop, loop.now() + 1s);
  --*running;
}

struct Wish {
  int newest = 0;
  bool stop = false;
  static Wish join(Wish older, Wish newer) { return {newer.newest, older.stop || newer.stop}; }
};

Co<void> close_scope(Scope& scope, bool* closed) {
  co_await scope.close();
  *closed = true;
}

}  // namespace

TEST_CASE("the same seed gives the same run, and some other seed another") {
  CHECK(trace_of(1) == trace_of(1));

  std::set<std::vector<std::string>> traces;
  for (uint64_t seed = 1; seed <= 20; ++seed) traces.insert(trace_of(seed));
  CHECK(traces.size() > 1);
}

TEST_CASE("virtual time jumps to the next timer") {
  SimLoop loop;
  const Instant start = loop.now();
  std::vector<std::string> trace;

  run_to_end(loop, tick(loop, "a", 3600, &trace));

  CHECK(loop.now() - start == 3600s);
}

TEST_CASE("dropping the loop destroys every frame, wherever it waits") {
  int alive = 0;
  {
    SimLoop loop;
    Scope scope(loop);
    for (int i = 0; i < 5; ++i) scope.spawn("wait", wait_for_ever(loop, &alive));
    loop.drain();
    CHECK(alive == 5);

    loop.drop();

    CHECK(alive == 0);
    CHECK(loop.waiting() == 0);
  }
}

TEST_CASE("a ring before the wait is kept, a late one is told") {
  SimLoop loop;
  Bell bell(loop);
  std::optional<Wait> result;

  bell.ring();
  run_to_end(loop, note_wait(bell, Instant::max(), &result));
  CHECK(result == Wait::kRung);

  run_to_end(loop, note_wait(bell, loop.now() + 5s, &result));
  CHECK(result == Wait::kLate);
}

TEST_CASE("closing a scope cancels its flows' waits and joins them") {
  SimLoop loop;
  Scope scope(loop);
  Scope outer(loop);
  Bell bell(loop);
  std::optional<Wait> result;
  bool closed = false;
  scope.spawn("note", note_wait(bell, Instant::max(), &result));
  loop.drain();

  outer.spawn("close", close_scope(scope, &closed));
  loop.drain();

  CHECK(closed);
  CHECK(result == Wait::kCancelled);
  CHECK(scope.size() == 0);
}

TEST_CASE("a deadline cuts what is late and passes what is in time") {
  SimLoop loop;
  absl::StatusOr<int> result = absl::UnknownError("unset");

  run_to_end(loop, ask(loop, 3s, &result));
  CHECK(result.value() == 42);

  run_to_end(loop, ask(loop, 30s, &result));
  CHECK(result.status().code() == absl::StatusCode::kDeadlineExceeded);
  CHECK(loop.waiting() == 0);
}

TEST_CASE("no more holders than slots") {
  SimLoop loop;
  Slots slots(loop, 3);
  Scope scope(loop);
  int running = 0;
  int most = 0;
  for (int i = 0; i < 10; ++i) scope.spawn("hold", hold_slot(loop, slots, &running, &most));

  loop.drain();

  CHECK(most == 3);
  CHECK(running == 0);
  CHECK(slots.in_use() == 0);
}

TEST_CASE("wishes in an inbox are joined, and a stop stays a stop") {
  SimLoop loop;
  Inbox<Wish> inbox(loop);

  inbox.put({.newest = 1, .stop = true});
  inbox.put({.newest = 2, .stop = false});
  const auto wish = run_and_get(loop, inbox.take(Instant::max()));

  REQUIRE(wish.has_value());
  CHECK(wish->newest == 2);
  CHECK(wish->stop);
}

TEST_CASE("an inbox gives nothing only once its deadline has passed, whatever was taken before") {
  SimLoop loop;
  Inbox<Wish> inbox(loop);

  inbox.put({.newest = 1, .stop = false});
  CHECK(run_and_get(loop, inbox.take(Instant::max())).has_value());
  const Instant deadline = loop.now() + 1s;
  CHECK_FALSE(run_and_get(loop, inbox.take(deadline)).has_value());

  CHECK(loop.now() == deadline);
}

TEST_CASE("offloaded work gives its value back to the flow") {
  SimLoop loop;
  SimOffload elsewhere(loop);

  CHECK(run_and_get(loop, offload(loop, elsewhere, [] { return 6 * 7; })) == 42);
}
