// The bridge against a real gRPC server in this process, over a unix socket in a temporary folder. The messages are
// those of the health service: a request with one text, a response with one number.
#include <doctest/doctest.h>
#include <stdlib.h>
#include <unistd.h>

#include <filesystem>

#include "base/co/real_loop.h"
#include "base/co/scope.h"
#include "base/limits.h"
#include "base/rpc/channel.h"
#include "base/rpc/server.h"
#include "grpc/health/v1.pb.h"

using namespace podwright;
using grpc::health::v1::HealthCheckRequest;
using grpc::health::v1::HealthCheckResponse;

namespace {

constexpr char kCheck[] = "/test.Health/Check";
constexpr char kWatch[] = "/test.Health/Watch";

struct Folder {
  Folder() {
    char pattern[] = "/tmp/rpc-test-XXXXXX";
    path = ::mkdtemp(pattern);
  }
  ~Folder() { std::filesystem::remove_all(path); }
  std::string target() const { return "unix:" + path + "/s"; }
  std::string path;
};

// What the server of a test saw.
struct Seen {
  explicit Seen(Loop& loop) : changed(loop) {}
  int started = 0;
  int cancelled = 0;
  int written = 0;
  Notice changed;
};

Co<absl::StatusOr<HealthCheckResponse>> check(Loop& loop, Seen& seen, HealthCheckRequest request) {
  ++seen.started;
  seen.changed.notify();
  if (request.service() == "missing") co_return absl::NotFoundError("no service missing");
  if (request.service() == "long") co_return absl::UnknownError(std::string(20'000, 'x'));
  if (request.service() == "hang") {
    if (co_await sleep_until(loop, Instant::max()) == Wait::kCancelled) ++seen.cancelled;
    seen.changed.notify();
    co_return absl::CancelledError("stopped");
  }
  HealthCheckResponse response;
  response.set_status(HealthCheckResponse::SERVING);
  co_return response;
}

// "3": three messages, then the end; "3!": then an error; "3...": then waits.
Co<absl::Status> watch(Loop& loop, Seen& seen, HealthCheckRequest request, rpc::Writer<HealthCheckResponse> out) {
  ++seen.started;
  seen.changed.notify();
  const int count = request.service().at(0) - '0';
  HealthCheckResponse response;
  response.set_status(HealthCheckResponse::NOT_SERVING);
  for (int i = 0; i < count; ++i) {
    const absl::Status status = co_await out.write(response);
    if (!status.ok()) co_return status;
    ++seen.written;
  }
  if (request.service().ends_with("large")) {
    // A field that the client does not know, as long as a message may be.
    HealthCheckResponse large;
    large.GetReflection()->MutableUnknownFields(&large)->AddLengthDelimited(
        100, std::string(limits::kGrpcReceiveBytes, 'x'));
    co_return co_await out.write(large);
  }
  if (request.service().ends_with("!")) co_return absl::AbortedError("enough");
  if (request.service().ends_with("...")) {
    if (co_await sleep_until(loop, Instant::max()) == Wait::kCancelled) ++seen.cancelled;
    seen.changed.notify();
  }
  co_return absl::OkStatus();
}

rpc::Services services(Loop& loop, Seen& seen) {
  rpc::Services all;
  all.unary<HealthCheckRequest, HealthCheckResponse>(
      kCheck, [&](HealthCheckRequest request) { return check(loop, seen, std::move(request)); });
  all.stream<HealthCheckRequest, HealthCheckResponse>(
      kWatch, [&](HealthCheckRequest request, rpc::Writer<HealthCheckResponse> out) {
        return watch(loop, seen, std::move(request), std::move(out));
      });
  return all;
}

HealthCheckRequest ask(std::string text) {
  HealthCheckRequest request;
  request.set_service(std::move(text));
  return request;
}

struct World {
  Folder folder;
  RealLoop loop;
  Seen seen{loop};
  rpc::Poller poller{loop};
  rpc::ServerOptions options;
  std::unique_ptr<rpc::Server> server;
  std::unique_ptr<rpc::Channel> channel;
  Scope scope{loop};

  explicit World(rpc::ServerOptions server_options = {}) : options(server_options) {
    serve();
    channel = std::make_unique<rpc::Channel>(poller, folder.target());
  }
  void serve() {
    auto made = rpc::Server::listen(poller, folder.target(), services(loop, seen), options);
    REQUIRE_MESSAGE(made.ok(), made.status().ToString());
    server = std::move(*made);
  }
  Co<absl::StatusOr<HealthCheckResponse>> call(std::string text, Duration time = 30s, rpc::CallOptions options = {}) {
    HealthCheckRequest request = ask(std::move(text));
    return channel->unary<HealthCheckResponse>(kCheck, std::move(request), loop.now() + time, std::move(options));
  }
};

Co<void> then_stop(World& world, Co<void> test) {
  co_await std::move(test);
  co_await world.server->close();
  world.loop.stop();
}

void run(World& world, Co<void> test) {
  world.scope.spawn("test", then_stop(world, std::move(test)));
  world.loop.run();
  world.channel.reset();
  world.server.reset();
  world.poller.close();
  CHECK(world.poller.pending() == 0);
}

// Waits for a condition on what the server saw.
template <class Done>
Co<bool> until(World& world, Done done) {
  const Instant deadline = world.loop.now() + 30s;
  while (!done()) {
    if (co_await world.seen.changed.wait_until(deadline) != Wait::kRung) co_return done();
  }
  co_return true;
}

Co<void> unary_calls(World& world) {
  const auto good = co_await world.call("a");
  CHECK_MESSAGE(good.ok(), good.status().ToString());
  if (good.ok()) CHECK(good->status() == HealthCheckResponse::SERVING);

  const auto missing = co_await world.call("missing");
  CHECK(missing.status() == absl::NotFoundError("no service missing"));

  HealthCheckRequest request = ask("a");
  const auto unknown = co_await world.channel->unary<HealthCheckResponse>("/test.Health/None", std::move(request),
                                                                          world.loop.now() + 30s);
  CHECK(absl::IsUnimplemented(unknown.status()));
  CHECK(world.channel->connectivity() == rpc::Connectivity::kReady);
}

Co<void> late_call(World& world) {
  const auto late = co_await world.call("hang", 50ms);
  CHECK(absl::IsDeadlineExceeded(late.status()));
  CHECK(co_await until(world, [&] { return world.seen.cancelled == 1; }));

  const auto past = co_await world.call("a", -1s);
  CHECK(absl::IsDeadlineExceeded(past.status()));
  CHECK(world.seen.started == 1);
}

Co<void> keep_status(World& world, absl::Status* status) {
  const auto answer = co_await world.call("hang");
  *status = answer.status();
}

Co<void> cancelled_call(World& world) {
  absl::Status status;
  Scope child(world.loop);
  child.spawn("call", keep_status(world, &status));
  CHECK(co_await until(world, [&] { return world.seen.started == 1; }));

  co_await child.close();

  CHECK(absl::IsCancelled(status));
  CHECK(co_await until(world, [&] { return world.seen.cancelled == 1; }));
}

Co<void> streams(World& world) {
  auto good = world.channel->read<HealthCheckResponse>(kWatch, ask("3"));
  for (int i = 0; i < 3; ++i) {
    const auto next = co_await good.next();
    CHECK(next.ok());
    if (next.ok()) CHECK(next->has_value());
  }
  for (int i = 0; i < 2; ++i) {
    const auto end = co_await good.next();
    CHECK(end.ok());
    if (end.ok()) CHECK_FALSE(end->has_value());
  }

  auto bad = world.channel->read<HealthCheckResponse>(kWatch, ask("1!"));
  CHECK((co_await bad.next()).ok());
  CHECK((co_await bad.next()).status() == absl::AbortedError("enough"));
  CHECK((co_await bad.next()).status() == absl::AbortedError("enough"));

  auto unknown = world.channel->read<HealthCheckResponse>("/test.Health/None", ask("1"));
  CHECK(absl::IsUnimplemented((co_await unknown.next()).status()));
}

Co<void> large_things(World& world) {
  const auto error = co_await world.call("long");
  CHECK(absl::IsUnknown(error.status()));
  CHECK(error.status().message().size() > 8'000);
  CHECK(error.status().message().size() <= static_cast<std::size_t>(limits::kGrpcMetadataBytes));

  auto stream = world.channel->read<HealthCheckResponse>(kWatch, ask("0large"));
  CHECK(absl::IsResourceExhausted((co_await stream.next()).status()));
}

Co<void> idle_stream(World& world) {
  auto stream = world.channel->read<HealthCheckResponse>(kWatch, ask("1..."));
  CHECK((co_await stream.next()).ok());
  CHECK(absl::IsDeadlineExceeded((co_await stream.next(world.loop.now() + 20ms)).status()));
  CHECK(absl::IsDeadlineExceeded((co_await stream.next(world.loop.now() + 20ms)).status()));

  co_await stream.close();

  CHECK(co_await until(world, [&] { return world.seen.cancelled == 1; }));
}

Co<void> open_reader(World& world) {
  auto stream = world.channel->read<HealthCheckResponse>(kWatch, ask("0..."));
  (void)co_await stream.next();
}

Co<void> server_closes(World& world) {
  absl::Status status;
  Scope child(world.loop);
  child.spawn("call", keep_status(world, &status));
  child.spawn("stream", open_reader(world));
  CHECK(co_await until(world, [&] { return world.seen.started == 2; }));

  co_await world.server->close();

  CHECK(co_await child.idle(world.loop.now() + 30s) == Wait::kRung);
  CHECK_FALSE(status.ok());
  CHECK(world.seen.cancelled == 2);
}

Co<void> server_returns(World& world) {
  CHECK((co_await world.call("a")).ok());
  co_await world.server->close();
  CHECK(absl::IsUnavailable((co_await world.call("a")).status()));

  world.serve();
  const auto again = co_await world.call("a", 30s, {.wait_for_ready = true, .metadata = {}});

  CHECK_MESSAGE(again.ok(), again.status().ToString());
}

Co<void> count_good(World& world, int* good) {
  const auto answer = co_await world.call("a");
  if (answer.ok()) ++*good;
}

Co<void> thousand_calls(World& world) {
  int good = 0;
  std::vector<Co<void>> all;
  for (int i = 0; i < 1000; ++i) all.push_back(count_good(world, &good));
  co_await run_all(world.loop, std::move(all));
  CHECK(good == 1000);
}

Co<void> too_many_calls(World& world) {
  absl::Status status;
  Scope child(world.loop);
  child.spawn("call", keep_status(world, &status));
  CHECK(co_await until(world, [&] { return world.seen.started == 1; }));
  CHECK(absl::IsResourceExhausted((co_await world.call("a")).status()));
  co_await child.close();
}

Co<void> stop_after_start(World& world) {
  CHECK(co_await until(world, [&] { return world.seen.started >= 2; }));
  world.loop.stop();
}

}  // namespace

TEST_CASE("a unary call brings the answer or the server's error") {
  World world;
  run(world, unary_calls(world));
}

TEST_CASE("a call that is late is cut, and its handler is told") {
  World world;
  run(world, late_call(world));
}

TEST_CASE("cancelling the caller cuts the call, and its handler is told") {
  World world;
  run(world, cancelled_call(world));
}

TEST_CASE("a stream brings its messages and its end") {
  World world;
  run(world, streams(world));
}

TEST_CASE("errors may be long up to kGrpcMetadataBytes, messages up to kGrpcReceiveBytes") {
  World world;
  run(world, large_things(world));
}

TEST_CASE("a wait for a message may end without ending the stream") {
  World world;
  run(world, idle_stream(world));
}

TEST_CASE("closing a server cancels its handlers and ends its calls") {
  World world;
  run(world, server_closes(world));
}

TEST_CASE("a channel finds its server again") {
  World world;
  run(world, server_returns(world));
}

TEST_CASE("a thousand calls at once are all answered") {
  World world({.concurrent = 1000});
  run(world, thousand_calls(world));
}

TEST_CASE("a server refuses what is beyond its number of calls") {
  World world({.concurrent = 1});
  run(world, too_many_calls(world));
}

TEST_CASE("the poller cuts what is in flight and joins its thread") {
  World world;
  absl::Status status;
  world.scope.spawn("call", keep_status(world, &status));
  world.scope.spawn("stream", open_reader(world));
  world.scope.spawn("stop", stop_after_start(world));
  world.loop.run();

  world.poller.close();

  CHECK(world.poller.pending() == 0);
}

TEST_CASE("an address that cannot be bound is an error") {
  World world;
  CHECK_FALSE(rpc::Server::listen(world.poller, "unix:/no/such/folder/s", rpc::Services()).ok());
  auto free = rpc::Server::listen(world.poller, "127.0.0.1:0", rpc::Services());
  REQUIRE(free.ok());
  CHECK((*free)->port() > 0);
}
