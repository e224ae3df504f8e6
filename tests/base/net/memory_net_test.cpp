#include "base/net/memory_net.h"

#include <doctest/doctest.h>

#include "base/co/sim_loop.h"
#include "base/net/errors.h"

using namespace podwright;

namespace {

Co<void> greet(std::unique_ptr<Stream> stream) {
  (void)co_await stream->write_all("hello", Instant::max());
}

Co<absl::StatusOr<std::unique_ptr<Stream>>> dial(Loop& loop, Net& net, Endpoint to) {
  co_return co_await net.dial(to, loop.now() + 1s);
}

}  // namespace

TEST_CASE("a served endpoint runs its handler, by name too") {
  SimLoop loop;
  MemoryNet net(loop);
  net.serve("10.0.0.1:80", greet);
  net.name("web", {"10.0.0.9", "10.0.0.1"});

  auto stream = run_and_get(loop, dial(loop, net, Endpoint::tcp("web", 80)));
  REQUIRE(stream.ok());
  const auto bytes = run_and_get(loop, (*stream)->read_some(100, Instant::max()));

  CHECK(*bytes == "hello");
  CHECK(net.dials("10.0.0.9:80") == 1);
  CHECK(net.dials("10.0.0.1:80") == 1);
}

TEST_CASE("a black hole hangs until the deadline") {
  SimLoop loop;
  MemoryNet net(loop);
  net.black_hole("10.0.0.1:80");
  const Instant start = loop.now();

  const auto stream = run_and_get(loop, dial(loop, net, Endpoint::tcp("10.0.0.1", 80)));

  CHECK(stream.status().message() == "dial tcp 10.0.0.1:80: i/o timeout");
  CHECK(loop.now() - start == 1s);
}

TEST_CASE("a delay passes before the dial ends") {
  SimLoop loop;
  MemoryNet net(loop);
  net.serve("10.0.0.1:80", greet);
  net.delay("10.0.0.1:80", 300ms);
  const Instant start = loop.now();

  const auto stream = run_and_get(loop, dial(loop, net, Endpoint::tcp("10.0.0.1", 80)));

  CHECK(stream.ok());
  CHECK(loop.now() - start == 300ms);
}

TEST_CASE("a stream that asked for it ends with a reset") {
  SimLoop loop;
  auto [ours, theirs] = memory_pair(loop);
  ours->set_linger_reset();
  ours.reset();

  const auto bytes = run_and_get(loop, theirs->read_some(1, Instant::max()));

  CHECK(bytes.status().message() == "read: connection reset by peer");
}
