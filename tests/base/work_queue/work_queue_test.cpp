#include "base/work_queue/work_queue.h"

#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "base/co/scope.h"
#include "base/co/sim_loop.h"

namespace podwright {
namespace {

using Queue = WorkQueue<std::string>;

// Takes keys until the end, each worked on for so long; `log` has what was begun and ended.
Co<void> work(Loop& loop, Queue& queue, Duration each, std::vector<std::string>* log) {
  while (const auto key = co_await queue.get()) {
    log->push_back("+" + *key);
    (void)co_await sleep_until(loop, after(loop.now(), each));
    log->push_back("-" + *key);
    queue.done(*key);
  }
  log->push_back("end");
}

TEST_CASE("a key that is added twice while it waits is handed out once") {
  SimLoop loop;
  Queue queue(loop);
  std::vector<std::string> log;
  Scope scope(loop);

  queue.add("a");
  queue.add("b");
  queue.add("a");
  scope.spawn("worker", work(loop, queue, 1ms, &log));
  loop.run_for(1s);

  CHECK(log == std::vector<std::string>{"+a", "-a", "+b", "-b"});
  run_to_end(loop, scope.close());
}

TEST_CASE("a key that is added while it is worked on comes again, and never to two workers at a time") {
  SimLoop loop;
  Queue queue(loop);
  std::vector<std::string> log;
  Scope scope(loop);
  scope.spawn("one", work(loop, queue, 10ms, &log));
  scope.spawn("two", work(loop, queue, 10ms, &log));

  queue.add("a");
  loop.run_for(5ms);
  queue.add("a");
  queue.add("a");
  loop.run_for(1ms);
  CHECK(log == std::vector<std::string>{"+a"});
  CHECK(queue.active() == 1);
  loop.run_for(1s);

  CHECK(log == std::vector<std::string>{"+a", "-a", "+a", "-a"});
  CHECK(queue.active() == 0);
  run_to_end(loop, scope.close());
}

TEST_CASE("of several delays of one key the earliest counts, and it comes once") {
  SimLoop loop;
  Queue queue(loop);

  queue.add_after("a", 10s);
  queue.add_after("a", 2s);
  queue.add_after("a", 5s);

  loop.run_for(1999ms);
  CHECK(queue.size() == 0);
  CHECK(queue.delayed() == 1);
  loop.run_for(1ms);
  CHECK(queue.size() == 1);
  CHECK(queue.delayed() == 0);
  loop.run_for(1min);
  CHECK(queue.size() == 1);
}

TEST_CASE("a key that keeps failing waits longer each time, until it is forgotten") {
  SimLoop loop;
  Queue queue(loop, {.wait = {.first = 10ms, .longest = 40ms}, .per_second = 0});
  const auto wait_of_next = [&] {
    const Instant begin = loop.now();
    queue.add_rate_limited("a");
    REQUIRE(loop.run_until_true([&] { return queue.size() == 1; }, after(begin, 1h)));
    const Duration waited = loop.now() - begin;
    CHECK(*run_and_get(loop, queue.get()) == "a");
    queue.done("a");
    return waited;
  };

  CHECK(wait_of_next() == 10ms);
  CHECK(wait_of_next() == 20ms);
  CHECK(wait_of_next() == 40ms);
  CHECK(wait_of_next() == 40ms);
  CHECK(queue.failures("a") == 4);
  queue.forget("a");
  CHECK(wait_of_next() == 10ms);
}

TEST_CASE("a queue that is shut down hands out what waits and drops what is delayed") {
  SimLoop loop;
  Queue queue(loop);
  std::vector<std::string> log;
  Scope scope(loop);
  queue.add("a");
  queue.add_after("late", 1s);

  queue.shut_down();
  queue.add("b");
  scope.spawn("worker", work(loop, queue, 1ms, &log));
  loop.run_for(1min);

  CHECK(log == std::vector<std::string>{"+a", "-a", "end"});
  run_to_end(loop, scope.close());
}

TEST_CASE("a queue may die before its delays are over") {
  SimLoop loop;
  {
    Queue queue(loop);
    queue.add_after("a", 1s);
  }
  loop.run_for(1min);
  CHECK(loop.waiting() == 0);
}

TEST_CASE("a bucket lends its burst at once and then a token for each share of a second, in order") {
  TokenBucket bucket(10, 2);
  const Instant start{1s};
  CHECK(bucket.reserve(start) == start);
  CHECK(bucket.reserve(start) == start);
  CHECK(bucket.reserve(start) == start + 100ms);
  CHECK(bucket.reserve(start) == start + 200ms);
  // What was lent is paid back first.
  CHECK(bucket.reserve(start + 200ms) == start + 300ms);
  // Rest fills it up to the burst, and no further.
  const Instant later = start + 1h;
  CHECK(bucket.reserve(later) == later);
  CHECK(bucket.reserve(later) == later);
  CHECK(bucket.reserve(later) == later + 100ms);
}

TEST_CASE("a bucket without a rate has no bound") {
  TokenBucket bucket(0, 0);
  const Instant start{1s};
  for (int i = 0; i < 100; ++i) CHECK(bucket.reserve(start) == start);
}

}  // namespace
}  // namespace podwright
