#include "base/http/http2.h"

#include <doctest/doctest.h>

#include "base/co/sim_loop.h"
#include "base/http/grpc_unary.h"
#include "base/limits.h"
#include "base/net/memory_net.h"
#include "tests/base/http/http2_peer.h"

using namespace podwright;

namespace {

std::string frame(uint8_t type, uint8_t flags, uint32_t stream, const std::string& payload) {
  std::string bytes;
  for (const int shift : {16, 8, 0}) bytes += static_cast<char>((payload.size() >> shift) & 0xff);
  bytes += static_cast<char>(type);
  bytes += static_cast<char>(flags);
  for (const int shift : {24, 16, 8, 0}) bytes += static_cast<char>((stream >> shift) & 0xff);
  return bytes + payload;
}

// Says its bytes whatever comes, and reads to the end.
Co<void> say(std::unique_ptr<Stream> stream, std::string bytes, bool hold) {
  if (!(co_await stream->write_all(std::move(bytes), Instant::max())).ok()) co_return;
  while (hold) {
    auto more = co_await stream->read_some(1000, Instant::max());
    if (!more.ok() || more->empty()) co_return;
  }
}

struct Called {
  SimLoop loop;
  Scope scope{loop};
  PeerScript script;
  PeerRequest heard;
  int cancelled = 0;
  std::unique_ptr<Http2Connection> connection;

  void start() {
    auto [ours, theirs] = memory_pair(loop);
    scope.spawn("peer",
                serve_http2(
                    std::move(theirs), [this](const PeerRequest& request) { return answer(request); }, &cancelled));
    connection = std::make_unique<Http2Connection>(loop, std::move(ours));
    connection->start();
  }
  void start_against(std::string bytes, bool hold = true) {
    auto [ours, theirs] = memory_pair(loop);
    scope.spawn("peer", say(std::move(theirs), std::move(bytes), hold));
    connection = std::make_unique<Http2Connection>(loop, std::move(ours));
    connection->start();
  }
  PeerAnswer answer(const PeerRequest& request) {
    heard = request;
    return script(request);
  }
  absl::StatusOr<std::string> check(std::size_t answer_bytes = limits::kGrpcHealthBytes) {
    GrpcUnaryCall call{
        "10.0.0.1:80", "/grpc.health.v1.Health/Check", "in", {{"User-Agent", "kube-probe/1.36"}}, answer_bytes};
    return run_and_get(loop, grpc_unary(loop, *connection, call, after(loop.now(), 1s)));
  }
  std::unique_ptr<Http2Stream> get(std::string path) {
    auto opened = connection->open({.authority = "x", .path = std::move(path)});
    REQUIRE(opened.ok());
    return *std::move(opened);
  }
  ~Called() {
    if (connection) run_to_end(loop, connection->close());
    run_to_end(loop, scope.close());
  }
};

const Headers kGrpcHeaders{{":status", "200"}, {"content-type", "application/grpc"}};

PeerAnswer grpc_answer(std::string message) {
  std::string body("\0\0\0\0", 4);
  body += static_cast<char>(message.size());
  return {kGrpcHeaders, body + message, {{"grpc-status", "0"}}};
}

Co<absl::StatusOr<std::string>> read_body(Http2Stream& stream, Instant deadline) {
  const absl::Status headed = co_await stream.wait_for_headers(deadline);
  if (!headed.ok()) co_return headed;
  std::string all;
  while (true) {
    auto bytes = co_await stream.read_some(deadline);
    if (!bytes.ok()) co_return bytes.status();
    if (bytes->empty()) co_return all;
    all += *bytes;
  }
}

}  // namespace

TEST_CASE("a unary gRPC call goes out whole and its message comes back") {
  Called called;
  called.script = [](const PeerRequest&) { return grpc_answer("out"); };
  called.start();

  CHECK(called.check().value_or("") == "out");
  CHECK(called.heard.body == std::string("\0\0\0\0\2in", 7));
  CHECK(called.heard.headers.get(":method") == "POST");
  CHECK(called.heard.headers.get(":authority") == "10.0.0.1:80");
  CHECK(called.heard.headers.get("te") == "trailers");
  CHECK(called.heard.headers.get("grpc-timeout") == "1000m");
  CHECK(called.heard.headers.get("user-agent") == "kube-probe/1.36");
}

TEST_CASE("errors of a gRPC call have the peer's code") {
  Called called;
  called.start();
  called.script = [](const PeerRequest&) {
    return PeerAnswer{{{":status", "200"},
                       {"content-type", "application/grpc"},
                       {"grpc-status", "12"},
                       {"grpc-message", "unknown%20service"}},
                      "",
                      {}};
  };
  CHECK(called.check().status() == absl::UnimplementedError("unknown service"));
  called.script = [](const PeerRequest&) { return PeerAnswer{kGrpcHeaders, "", {{"grpc-status", "5"}}}; };
  CHECK(absl::IsNotFound(called.check().status()));
  called.script = [](const PeerRequest&) { return PeerAnswer{{{":status", "404"}}, "no", {}}; };
  CHECK(absl::IsUnimplemented(called.check().status()));
  called.script = [](const PeerRequest&) {
    return PeerAnswer{{{":status", "200"}, {"content-type", "text/html"}}, "no", {}};
  };
  CHECK(absl::IsUnknown(called.check().status()));
  called.script = [](const PeerRequest&) { return PeerAnswer{kGrpcHeaders, "no trailers", {}}; };
  CHECK(absl::IsInternal(called.check().status()));
  called.script = [](const PeerRequest&) { return PeerAnswer{kGrpcHeaders, "abc", {{"grpc-status", "0"}}}; };
  CHECK(absl::IsInternal(called.check().status()));
  called.script = [](const PeerRequest&) {
    return PeerAnswer{kGrpcHeaders, std::string(100, 'x'), {{"grpc-status", "0"}}};
  };
  CHECK(absl::IsResourceExhausted(called.check(50).status()));
  called.script = [](const PeerRequest&) { return PeerAnswer{{}, "", {}, false, 7}; };
  CHECK(absl::IsUnavailable(called.check().status()));
}

TEST_CASE("a call that nobody answers ends at its deadline and is cancelled") {
  Called called;
  called.script = [](const PeerRequest&) { return PeerAnswer{{}, "", {}, true}; };
  called.start();
  const Instant start = called.loop.now();

  CHECK(absl::IsDeadlineExceeded(called.check().status()));
  CHECK(called.loop.now() - start == 1s);
  called.loop.run_for(1ms);
  CHECK(called.cancelled == 1);
  CHECK(called.connection->state().ok());
}

namespace {
constexpr std::size_t kWindow = limits::kHttp2WindowBytes;
}

TEST_CASE("streams run side by side, and one that is not read holds up no other") {
  Called called;
  called.script = [](const PeerRequest& request) {
    const bool big = request.headers.get(":path") == "/big";
    return PeerAnswer{{{":status", "200"}}, std::string(big ? 4 * kWindow : kWindow + 1, 'x'), {}};
  };
  called.start();

  auto unread = called.get("/big");
  called.loop.run_for(1s);
  auto other = called.get("/");
  const auto body = run_and_get(called.loop, read_body(*other, after(called.loop.now(), 1s)));
  const auto late = run_and_get(called.loop, read_body(*unread, after(called.loop.now(), 1s)));

  REQUIRE(body.ok());
  CHECK(body->size() == kWindow + 1);
  REQUIRE(late.ok());
  CHECK(late->size() == 4 * kWindow);
}

TEST_CASE("headers that are too large end their stream only") {
  Called called;
  called.script = [](const PeerRequest&) {
    PeerAnswer answer{{{":status", "200"}}, "", {}};
    for (int i = 0; i < 8; ++i)
      answer.headers.add(fmt::format("x-{}", i), std::string(limits::kHttp2HeaderBytes / 8, 'a'));
    return answer;
  };
  called.start();
  auto stream = called.get("/");

  const absl::Status headed = run_and_get(called.loop, stream->wait_for_headers(after(called.loop.now(), 1s)));

  CHECK(absl::IsResourceExhausted(headed));
  CHECK(called.connection->state().ok());
}

TEST_CASE("a ping is answered by a peer that is there") {
  Called called;
  called.start();
  CHECK(run_and_get(called.loop, called.connection->ping(after(called.loop.now(), 1s))).ok());

  Called silent;
  silent.start_against("");
  CHECK(absl::IsDeadlineExceeded(run_and_get(silent.loop, silent.connection->ping(after(silent.loop.now(), 1s)))));
}

TEST_CASE("a peer that floods us with control frames is left") {
  std::string flood = frame(4, 0, 0, "");
  for (uint32_t i = 0; i <= limits::kHttp2ControlFramesPerSecond; ++i) flood += frame(6, 1, 0, "12345678");
  Called called;
  called.start_against(flood);

  called.loop.run_for(1ms);

  CHECK(called.connection->state().message() == "HTTP/2: too many control frames");
  CHECK(absl::IsUnavailable(called.check().status()));
}

TEST_CASE("a peer that speaks no HTTP/2 ends the connection") {
  Called called;
  called.start_against("HTTP/1.1 400 Bad Request\r\nConnection: close\r\n\r\n");
  CHECK(absl::IsUnavailable(called.check().status()));

  Called gone;
  gone.start_against("", false);
  CHECK(absl::IsUnavailable(gone.check().status()));
}

TEST_CASE("a goodbye of the peer ends new requests with Unavailable") {
  Called called;
  called.start_against(frame(4, 0, 0, "") + frame(7, 0, 0, std::string(8, '\0')));
  called.loop.run_for(1ms);

  CHECK(absl::IsUnavailable(called.check().status()));
}

TEST_CASE("requests that would not be valid on the wire are refused") {
  Called called;
  called.start();

  CHECK(absl::IsInvalidArgument(called.connection->open({.headers = {{"a b", "c"}}}).status()));
  CHECK(absl::IsInvalidArgument(called.connection->open({.headers = {{"a", "c\r\nd"}}}).status()));
  CHECK(absl::IsInvalidArgument(called.connection->open({.headers = {{":path", "/"}}}).status()));
}

namespace {

Co<void> call_over(Loop& loop, std::unique_ptr<Stream> stream) {
  Http2Connection connection(loop, std::move(stream));
  connection.start();
  GrpcUnaryCall call{"x", "/a/B", "in", {}, 100};
  (void)co_await grpc_unary(loop, connection, std::move(call), after(loop.now(), 1s));
  co_await connection.close();
}

}  // namespace

TEST_CASE("a crash at any step of a call leaves nothing behind") {
  for (uint64_t steps = 1; steps < 60; ++steps) {
    SimLoop loop(steps);
    Scope scope(loop);
    int cancelled = 0;
    auto [ours, theirs] = memory_pair(loop);
    scope.spawn("peer", serve_http2(
                            std::move(theirs), [](const PeerRequest&) { return grpc_answer("out"); }, &cancelled));
    scope.spawn("call", call_over(loop, std::move(ours)));

    for (uint64_t i = 0; i < steps; ++i) loop.step();
    loop.drop();

    CHECK(loop.waiting() == 0);
  }
}
