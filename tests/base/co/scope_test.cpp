#include "base/co/scope.h"
#include <doctest/doctest.h>
#include "base/co/sim_loop.h"
using namespace podwright;
namespace {
Co<void> wait_long(Loop& loop, int* cancelled) {
  if (co_await sleep_until(loop, after(loop.now(), 1h)) == Wait::kCancelled) ++*cancelled;
}
}  // namespace
TEST_CASE("a flow that is cancelled before its first line is cancelled from its first wait on") {
  SimLoop loop;
  Scope scope(loop);
  int cancelled = 0;
  scope.spawn("early", wait_long(loop, &cancelled));
  run_to_end(loop, scope.close());
  CHECK(cancelled == 1);
  scope.spawn("late", wait_long(loop, &cancelled));
  run_to_end(loop, scope.close());
  CHECK(cancelled == 2);
}
TEST_CASE("flows may be told to stop again and again, in any order") {
  for (uint64_t seed = 1; seed < 200; ++seed) {
    SimLoop loop(seed);
    Scope scope(loop);
    int cancelled = 0;
    for (int i = 0; i < 5; ++i) scope.spawn("one", wait_long(loop, &cancelled));
    for (uint64_t i = 0; i < seed % 12; ++i) loop.step(loop.now());
    scope.cancel();
    for (uint64_t i = 0; i < seed % 7; ++i) loop.step(loop.now());
    run_to_end(loop, scope.close());
    CHECK(cancelled == 5);
  }
}
