// Sessions against a scripted streaming server in memory and virtual time.
#include "cri/streaming/session.h"

#include <doctest/doctest.h>

#include "base/co/scope.h"
#include "base/co/sim_loop.h"
#include "base/limits.h"
#include "base/net/memory_net.h"
#include "cri/streaming/spdy.h"

using namespace podwright;
using namespace podwright::cri;

namespace {

constexpr char kUrl[] = "http://127.0.0.1:4000/exec/t";
constexpr char kSuccess[] = R"({"metadata":{},"status":"Success"})";
constexpr char kExit3[] =
    R"({"status":"Failure","reason":"NonZeroExitCode","details":{"causes":[{"reason":"ExitCode","message":"3"}]}})";

// The client of a test: plays its inputs, keeps what it is shown.
class Person final : public SessionClient {
 public:
  explicit Person(Loop& loop) : gone_(loop) {}

  Co<absl::StatusOr<SessionInput>> next() override {
    if (at_ < inputs.size()) co_return inputs[at_++];
    if (leaves) co_return absl::UnavailableError("closed");
    (void)co_await gone_.wait_until(Instant::max());
    co_return absl::CancelledError("stopped");
  }
  Co<absl::Status> write_stdout(std::string bytes) override {
    out += bytes;
    co_return absl::OkStatus();
  }
  Co<absl::Status> write_stderr(std::string bytes) override {
    err += bytes;
    co_return absl::OkStatus();
  }

  std::vector<SessionInput> inputs;
  bool leaves = false;
  std::string out, err;

 private:
  Bell gone_;
  std::size_t at_ = 0;
};

SessionInput text(std::string bytes) {
  return {SessionInput::Kind::kStdin, std::move(bytes), 0, 0};
}
SessionInput end_of_text() {
  return {SessionInput::Kind::kStdinEnd, "", 0, 0};
}

// The server's side of one connection.
struct Server {
  std::string answer =
      "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: SPDY/3.1\r\n"
      "X-Stream-Protocol-Version: v4.channel.k8s.io\r\n\r\n";
  std::string verdict = kSuccess;
  bool echoes = true;     // stdin comes back on stdout, until its end
  bool hangs_up = false;  // right after the streams were opened
  std::string problem;    // of a port-forward

  std::string head;                         // of the request
  std::map<std::string, uint32_t> streams;  // by type
  std::vector<SpdyHeaders> headers;
  std::map<std::string, std::string> received;  // by type
  bool pong = false;
};

Co<void> send(Stream& stream, std::string bytes) {
  (void)co_await stream.write_all(std::move(bytes), Instant::max());
}

std::string type_of(const Server& server, uint32_t number) {
  for (const auto& [type, stream] : server.streams) {
    if (stream == number) return type;
  }
  return {};
}

Co<void> finish(Server& server, Stream& stream) {
  const uint32_t error = server.streams["error"];
  if (server.streams.contains("data")) {
    co_return co_await send(stream, spdy_data(server.streams["data"], "", true));
  }
  if (server.streams.contains("stderr")) co_await send(stream, spdy_data(server.streams["stderr"], "warned", false));
  co_await send(stream, spdy_data(error, server.verdict, false));
  co_await send(stream, spdy_data(error, "", true));
}

Co<void> serve(Server& server, std::size_t expected, std::unique_ptr<Stream> stream) {
  std::string got;
  while (got.find("\r\n\r\n") == std::string::npos) {
    auto more = co_await stream->read_some(4096, Instant::max());
    if (!more.ok() || more->empty()) co_return;
    got += *more;
  }
  server.head = got;
  co_await send(*stream, server.answer);
  SpdyFrameReader frames;
  SpdyHeaderReader headers_in;
  SpdyHeaderWriter headers_out;
  while (true) {
    auto frame = frames.next();
    if (!frame.ok()) co_return;
    if (!*frame) {
      auto more = co_await stream->read_some(4096, Instant::max());
      if (!more.ok() || more->empty()) co_return;
      frames.feed(*more);
      continue;
    }
    SpdyFrame& one = **frame;
    if (one.type == SpdyFrame::Type::kPing) server.pong = true;
    if (one.type == SpdyFrame::Type::kSynStream) {
      auto headers = headers_in.read(std::string_view(one.payload).substr(6));
      if (!headers.ok()) co_return;
      server.headers.push_back(*headers);
      server.streams[headers->at(0).second] = one.stream;
      co_await send(*stream, spdy_syn_reply(one.stream, headers_out.write({})));
      if (server.streams.size() < expected) continue;
      if (server.hangs_up) co_return;
      co_await send(*stream, spdy_ping(std::string("\0\0\0\2", 4)));
      if (!server.problem.empty()) {
        co_await send(*stream, spdy_data(server.streams["error"], server.problem, true));
      } else if (!server.echoes) {
        co_await finish(server, *stream);
      }
      continue;
    }
    if (one.type != SpdyFrame::Type::kData) continue;
    const std::string type = type_of(server, one.stream);
    server.received[type] += one.payload;
    const bool input = type == "stdin" || type == "data";
    if (input && server.echoes && !one.payload.empty()) {
      co_await send(*stream, spdy_data(server.streams[type == "data" ? "data" : "stdout"], one.payload, false));
    }
    if (input && server.echoes && one.fin()) co_await finish(server, *stream);
  }
}

struct World {
  SimLoop loop;
  MemoryNet net{loop};
  Server server;
  Person person{loop};

  explicit World(std::size_t streams) {
    net.serve("127.0.0.1:4000",
              [this, streams](std::unique_ptr<Stream> stream) { return serve(server, streams, std::move(stream)); });
  }
  absl::StatusOr<int32_t> exec(SessionSides sides) {
    return run_and_get(loop, run_exec(loop, net, kUrl, sides, person, loop.now() + 30s));
  }
};

Co<void> keep(Co<absl::StatusOr<int32_t>> session, std::optional<absl::Status>* into) {
  const auto result = co_await std::move(session);
  *into = result.status();
}

Co<void> keep_status(Co<absl::Status> session, std::optional<absl::Status>* into) {
  *into = co_await std::move(session);
}

Co<void> say_and_end(Stream& stream, std::string* heard) {
  (void)co_await stream.write_all("ping", Instant::max());
  (void)stream.shutdown_write();
  while (true) {
    auto more = co_await stream.read_some(4096, Instant::max());
    if (!more.ok() || more->empty()) co_return;
    *heard += *more;
  }
}

}  // namespace

TEST_CASE("an exec passes stdin and its end on, and brings output and exit code") {
  World world(4);
  world.person.inputs = {text("hello "), text("world"), end_of_text()};

  const auto code = world.exec({.stdin = true, .stdout = true, .stderr = true});

  REQUIRE_MESSAGE(code.ok(), code.status().ToString());
  CHECK(*code == 0);
  CHECK(world.person.out == "hello world");
  CHECK(world.person.err == "warned");
  CHECK(world.server.pong);
  CHECK(world.server.head.starts_with("POST /exec/t HTTP/1.1\r\nHost: 127.0.0.1:4000\r\n"));
  CHECK(world.server.head.find("X-Stream-Protocol-Version: v4.channel.k8s.io\r\n") != std::string::npos);
}

TEST_CASE("an exec's exit code comes with its output, without stdin too") {
  World world(2);
  world.server.echoes = false;
  world.server.verdict = kExit3;

  const auto code = world.exec({.stdout = true});

  REQUIRE(code.ok());
  CHECK(*code == 3);
}

TEST_CASE("a large stdin goes through in pieces") {
  World world(3);
  const std::string large(300'000, 'x');
  world.person.inputs = {text(large), end_of_text()};

  const auto code = world.exec({.stdin = true, .stdout = true});

  REQUIRE(code.ok());
  CHECK(world.person.out == large);
}

TEST_CASE("a terminal has no stderr stream, and its size is passed on") {
  World world(4);
  world.person.inputs = {{SessionInput::Kind::kResize, "", 120, 40}, end_of_text()};

  const auto code = world.exec({.stdin = true, .stdout = true, .stderr = true, .tty = true});

  REQUIRE(code.ok());
  CHECK_FALSE(world.server.streams.contains("stderr"));
  CHECK(world.server.received["resize"] == "{\"Width\":120,\"Height\":40}\n");
}

TEST_CASE("a server that hangs up, or a client that leaves, ends the session as Unavailable") {
  World hung(2);
  hung.server.hangs_up = true;
  CHECK(absl::IsUnavailable(hung.exec({.stdout = true}).status()));

  World left(3);
  left.person.leaves = true;
  CHECK(absl::IsUnavailable(left.exec({.stdin = true, .stdout = true}).status()));
}

TEST_CASE("a refusal is told with its text, and an answer's head is at most kStreamingAnswerBytes") {
  World refused(2);
  refused.server.answer = "HTTP/1.1 404 Not Found\r\nContent-Length: 9\r\n\r\nno token\n";
  CHECK(absl::IsNotFound(refused.exec({.stdout = true}).status()));

  World endless(2);
  endless.server.answer = std::string(limits::kStreamingAnswerBytes + 10'000, 'a');
  CHECK(absl::IsResourceExhausted(endless.exec({.stdout = true}).status()));
}

TEST_CASE("a last word beyond kStreamVerdictBytes ends the session") {
  World world(2);
  world.server.echoes = false;
  world.server.verdict = std::string(limits::kStreamVerdictBytes + 1, 'a');

  CHECK_FALSE(world.exec({.stdout = true}).ok());
}

TEST_CASE("cancelling an exec cuts its connection") {
  World world(3);
  std::optional<absl::Status> result;
  Scope scope(world.loop);
  scope.spawn("exec", keep(run_exec(world.loop, world.net, kUrl, {.stdin = true, .stdout = true}, world.person,
                                    world.loop.now() + 30s),
                           &result));
  world.loop.run_for(1s);
  CHECK(world.server.streams.size() == 3);

  run_to_end(world.loop, scope.close());

  REQUIRE(result.has_value());
  CHECK(absl::IsCancelled(*result));
}

TEST_CASE("a forwarded connection carries both directions and both ends") {
  World world(2);
  auto [ours, theirs] = memory_pair(world.loop);
  std::string heard;
  std::optional<absl::Status> result;
  Scope scope(world.loop);
  scope.spawn("client", say_and_end(*ours, &heard));
  scope.spawn("forward", keep_status(run_port_forward(world.loop, world.net, kUrl, 8080, std::move(theirs),
                                                      world.loop.now() + 30s),
                                     &result));

  run_to_end(world.loop, [](Scope& all) -> Co<void> { (void)co_await all.idle(Instant::max()); }(scope));

  REQUIRE(result.has_value());
  CHECK_MESSAGE(result->ok(), result->ToString());
  CHECK(heard == "ping");
  REQUIRE(world.server.headers.size() == 2);
  CHECK(world.server.headers[0] == SpdyHeaders{{"streamtype", "error"}, {"port", "8080"}, {"requestid", "0"}});
  CHECK(world.server.headers[1][0].second == "data");
}

TEST_CASE("a port that nothing listens on is Unavailable with the runtime's text") {
  World world(2);
  world.server.problem = "connection refused";
  auto [ours, theirs] = memory_pair(world.loop);

  const absl::Status status = run_and_get(
      world.loop, run_port_forward(world.loop, world.net, kUrl, 8080, std::move(theirs), world.loop.now() + 30s));

  CHECK(status == absl::UnavailableError("connection refused"));
}
