#include "base/net/net.h"

#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>

#include "base/co/bell.h"
#include "base/limits.h"
#include "base/net/errors.h"
#include "tests/base/net/net_behaviour.h"

using namespace podwright;

namespace {

// Sends back what it reads, until the end.
Co<void> echo(std::unique_ptr<Stream> stream) {
  while (true) {
    auto bytes = co_await stream->read_some(100, Instant::max());
    if (!bytes.ok() || bytes->empty()) co_return;
    (void)co_await stream->write_all(std::move(*bytes), Instant::max());
  }
}

Co<void> accept_one(Listener& listener, Co<void> (*serve)(std::unique_ptr<Stream>)) {
  auto stream = co_await listener.accept();
  if (stream.ok()) co_await serve(std::move(*stream));
}

Co<void> accept_and_hold(Listener& listener, std::vector<std::unique_ptr<Stream>>* held) {
  auto stream = co_await listener.accept();
  if (stream.ok()) held->push_back(std::move(*stream));
}

Co<std::string> read_to_end(Stream& stream, Instant deadline) {
  std::string all;
  while (true) {
    auto bytes = co_await stream.read_some(1000, deadline);
    if (!bytes.ok() || bytes->empty()) co_return all;
    all += *bytes;
  }
}

Co<void> bytes_come_back(Loop& loop, Net& net) {
  auto listener = net.listen(Endpoint::tcp("127.0.0.1", 0), 0600);
  REQUIRE(listener.ok());
  Scope scope(loop);
  scope.spawn("echo", accept_one(**listener, echo));
  const Instant deadline = loop.now() + 10s;

  auto stream = co_await net.dial((*listener)->local(), deadline);
  REQUIRE(stream.ok());
  const std::string sent(50'000, 'x');
  std::string copy = sent;
  CHECK((co_await (*stream)->write_all(std::move(copy), deadline)).ok());
  CHECK((*stream)->shutdown_write().ok());
  const std::string got = co_await read_to_end(**stream, deadline);

  CHECK(got.size() == sent.size());
  co_await scope.close();
}

Co<void> refused(Loop& loop, Net& net) {
  auto listener = net.listen(Endpoint::tcp("127.0.0.1", 0), 0600);
  REQUIRE(listener.ok());
  const Endpoint closed = (*listener)->local();
  listener->reset();

  auto stream = co_await net.dial(closed, loop.now() + 10s);

  REQUIRE_FALSE(stream.ok());
  CHECK(stream.status() == dial_refused(closed));
}

Co<void> late_read(Loop& loop, Net& net) {
  auto listener = net.listen(Endpoint::tcp("127.0.0.1", 0), 0600);
  REQUIRE(listener.ok());
  auto stream = co_await net.dial((*listener)->local(), loop.now() + 10s);
  REQUIRE(stream.ok());

  const auto bytes = co_await (*stream)->read_some(10, loop.now() + 20ms);

  CHECK(bytes.status().code() == absl::StatusCode::kDeadlineExceeded);
}

Co<void> read_into(Stream& stream, absl::Status* status) {
  const auto bytes = co_await stream.read_some(10, Instant::max());
  *status = bytes.status();
}

Co<void> cancelled_read(Loop& loop, Net& net) {
  auto listener = net.listen(Endpoint::tcp("127.0.0.1", 0), 0600);
  REQUIRE(listener.ok());
  auto stream = co_await net.dial((*listener)->local(), loop.now() + 10s);
  REQUIRE(stream.ok());
  Scope scope(loop);
  absl::Status status;
  scope.spawn("read", read_into(**stream, &status));
  (void)co_await sleep_until(loop, loop.now() + 5ms);

  co_await scope.close();

  CHECK(absl::IsCancelled(status));
}

Co<void> cancelled_read_leaves_the_other_direction(Loop& loop, Net& net) {
  auto listener = net.listen(Endpoint::tcp("127.0.0.1", 0), 0600);
  REQUIRE(listener.ok());
  Scope server(loop);
  std::vector<std::unique_ptr<Stream>> held;
  server.spawn("hold", accept_and_hold(**listener, &held));
  auto stream = co_await net.dial((*listener)->local(), loop.now() + 10s);
  REQUIRE(stream.ok());
  (void)co_await server.idle(loop.now() + 10s);
  REQUIRE(held.size() == 1);
  Scope reader(loop);
  absl::Status status;
  reader.spawn("read", read_into(**stream, &status));
  Scope writer(loop);
  std::string received;
  // More than the buffers between the two hold, so that the write has to wait while the read is cancelled.
  const std::size_t size = 20'000'000;
  std::string big(size, 'y');
  writer.spawn("read away", [](Stream& from, std::string* into, std::size_t want, Scope& cancel, Loop& on) -> Co<void> {
    (void)co_await sleep_until(on, on.now() + 5ms);
    co_await cancel.close();
    while (into->size() < want) {
      auto bytes = co_await from.read_some(1 << 20, on.now() + 20s);
      if (!bytes.ok() || bytes->empty()) co_return;
      // However much is asked for and is there.
      if (bytes->size() > limits::kStreamReadBytes) co_return;
      *into += *bytes;
    }
  }(*held[0], &received, size, reader, loop));

  const absl::Status written = co_await (*stream)->write_all(std::move(big), loop.now() + 20s);
  (void)co_await writer.idle(loop.now() + 20s);

  CHECK(written.ok());
  CHECK(received.size() == size);
  CHECK(absl::IsCancelled(status));
  co_await writer.close();
}

Co<void> end_of_the_peer(Loop& loop, Net& net) {
  auto listener = net.listen(Endpoint::tcp("127.0.0.1", 0), 0600);
  REQUIRE(listener.ok());
  Scope server(loop);
  std::vector<std::unique_ptr<Stream>> held;
  server.spawn("hold", accept_and_hold(**listener, &held));
  auto stream = co_await net.dial((*listener)->local(), loop.now() + 10s);
  REQUIRE(stream.ok());
  (void)co_await server.idle(loop.now() + 10s);
  held.clear();

  const auto bytes = co_await (*stream)->read_some(10, loop.now() + 10s);

  REQUIRE(bytes.ok());
  CHECK(bytes->empty());
}

Co<void> stop_accepting(Listener& listener, absl::Status* status) {
  const auto stream = co_await listener.accept();
  *status = stream.status();
}

Co<void> cancelled_accept(Loop& loop, Net& net) {
  auto listener = net.listen(Endpoint::tcp("127.0.0.1", 0), 0600);
  REQUIRE(listener.ok());
  Scope scope(loop);
  absl::Status status;
  scope.spawn("accept", stop_accepting(**listener, &status));
  (void)co_await sleep_until(loop, loop.now() + 5ms);

  co_await scope.close();

  CHECK(absl::IsCancelled(status));
}

Co<void> localhost_by_name(Loop& loop, Net& net) {
  const auto addresses = co_await net.resolve("localhost", loop.now() + 10s);

  REQUIRE(addresses.ok());
  CHECK(std::find(addresses->begin(), addresses->end(), "127.0.0.1") != addresses->end());
}

Co<void> unix_sockets(Loop& loop, Net& net) {
  char folder[] = "/tmp/net_test.XXXXXX";
  REQUIRE(::mkdtemp(folder) != nullptr);
  const Endpoint at = Endpoint::unix_socket(std::string(folder) + "/s");

  auto first = net.listen(at, 0600);
  REQUIRE(first.ok());
  struct stat seen {};
  REQUIRE(::stat(at.unix_path.c_str(), &seen) == 0);
  CHECK((seen.st_mode & 0777) == 0600);
  const auto second = net.listen(at, 0600);
  CHECK(absl::IsAlreadyExists(second.status()));
  first->reset();  // as a killed process: the socket file stays
  auto third = net.listen(at, 0660);
  REQUIRE(third.ok());
  REQUIRE(::stat(at.unix_path.c_str(), &seen) == 0);
  CHECK((seen.st_mode & 0777) == 0660);
  Scope scope(loop);
  scope.spawn("echo", accept_one(**third, echo));
  auto stream = co_await net.dial(at, loop.now() + 10s);
  REQUIRE(stream.ok());
  CHECK((co_await (*stream)->write_all("hello", loop.now() + 10s)).ok());
  CHECK((*stream)->shutdown_write().ok());
  CHECK(co_await read_to_end(**stream, loop.now() + 10s) == "hello");

  co_await scope.close();
  ::unlink(at.unix_path.c_str());
  ::rmdir(folder);
}

}  // namespace

TEST_CASE("what is written to a peer comes back whole") {
  on_both(bytes_come_back);
}
TEST_CASE("a port that nobody listens at refuses, and the text says so") {
  on_both(refused);
}
TEST_CASE("a read ends at its deadline") {
  on_both(late_read);
}
TEST_CASE("a read ends when its flow is cancelled") {
  on_both(cancelled_read);
}
TEST_CASE("cancelling a read leaves a write of the same stream alone") {
  on_both(cancelled_read_leaves_the_other_direction);
}
TEST_CASE("the peer's end is an empty read") {
  on_both(end_of_the_peer);
}
TEST_CASE("accepting ends when its flow is cancelled") {
  on_both(cancelled_accept);
}
TEST_CASE("localhost is resolved from the hosts file") {
  on_real_net(localhost_by_name);
}
TEST_CASE("a unix socket has its mode, refuses a second listener and replaces a dead one") {
  on_real_net(unix_sockets);
}

TEST_CASE("an endpoint is written as people write it") {
  CHECK(Endpoint::tcp("10.0.0.1", 80).text() == "10.0.0.1:80");
  CHECK(Endpoint::tcp("::1", 80).text() == "[::1]:80");
  CHECK(Endpoint::unix_socket("/run/x.sock").text() == "unix:/run/x.sock");
}
