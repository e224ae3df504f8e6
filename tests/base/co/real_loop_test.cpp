#include "base/co/real_loop.h"

#include <doctest/doctest.h>

#include "base/co/bell.h"
#include "base/co/offload.h"
#include "base/co/scope.h"

using namespace podwright;

namespace {

Co<void> three_waits(RealLoop& loop, std::vector<Wait>* results) {
  results->push_back(co_await sleep_until(loop, loop.now() + 2ms));
  Bell bell(loop);
  loop.post([&bell] { bell.ring(); });
  results->push_back(co_await bell.wait_until(loop.now() + 60s));
  ThreadOffload threads(loop, 2);
  if (co_await offload(loop, threads, [] { return std::string("from a thread"); }) == "from a thread") {
    results->push_back(Wait::kRung);
  }
  loop.stop();
}

}  // namespace

TEST_CASE("timers, posts and threads resume a coroutine on the real loop") {
  RealLoop loop;
  Scope scope(loop);
  std::vector<Wait> results;
  scope.spawn("waits", three_waits(loop, &results));

  loop.run();

  CHECK(results == std::vector<Wait>{Wait::kLate, Wait::kRung, Wait::kRung});
}

TEST_CASE("a forgotten timer does not fire") {
  RealLoop loop;
  bool fired = false;
  const uint64_t timer = loop.call_at(loop.now() + 1ms, [&fired] { fired = true; });
  loop.forget(timer);
  loop.call_at(loop.now() + 5ms, [&loop] { loop.stop(); });

  loop.run();

  CHECK_FALSE(fired);
}
