// A gRPC server as far as one health check needs it, its frames written by hand.
#include "served.h"

namespace podwright::probes {
namespace {

std::string frame(uint8_t type, uint8_t flags, uint32_t stream, const std::string& payload) {
  std::string bytes;
  for (const int shift : {16, 8, 0}) bytes += static_cast<char>(payload.size() >> shift);
  bytes += static_cast<char>(type);
  bytes += static_cast<char>(flags);
  for (const int shift : {24, 16, 8, 0}) bytes += static_cast<char>(stream >> shift);
  return bytes + payload;
}

// A header field that is not indexed (RFC 7541, 6.2.2), for names and values below 127 bytes.
std::string field(const std::string& name, const std::string& value) {
  return std::string(1, '\0') + static_cast<char>(name.size()) + name + static_cast<char>(value.size()) + value;
}

constexpr uint8_t kData = 0, kHeaders = 1, kSettings = 4;
constexpr uint8_t kEndStream = 1, kAck = 1, kEndHeaders = 4;

std::string answer(const std::string& message, const std::string& trailers) {
  // Not compressed, and the length in four bytes.
  const std::string framed = std::string(4, '\0') + static_cast<char>(message.size()) + message;
  return frame(kHeaders, kEndHeaders, 1, "\x88" + field("content-type", "application/grpc")) +
         frame(kData, 0, 1, framed) + frame(kHeaders, kEndHeaders | kEndStream, 1, trailers);
}

std::string only_trailers(const std::string& code, const std::string& text) {
  return frame(
      kHeaders, kEndHeaders | kEndStream, 1,
      "\x88" + field("content-type", "application/grpc") + field("grpc-status", code) + field("grpc-message", text));
}

Co<void> serve_frames(std::unique_ptr<Stream> stream, std::string frames, std::shared_ptr<std::string> asked) {
  (void)co_await stream->write_all(frame(kSettings, 0, 0, ""), Instant::max());
  // The request's frames may come in pieces; its message is the last one.
  while (asked->find("service-x") == std::string::npos) {
    const auto bytes = co_await stream->read_some(4096, Instant::max());
    if (!bytes.ok() || bytes->empty()) co_return;
    *asked += *bytes;
  }
  (void)co_await stream->write_all(frame(kSettings, kAck, 0, "") + frames, Instant::max());
  while (true) {
    const auto bytes = co_await stream->read_some(4096, Instant::max());
    if (!bytes.ok() || bytes->empty()) co_return;
  }
}

struct GrpcServed : Served {
  ProbeOutcome probe() { return run_and_get(loop, probe_grpc(attempt(), GrpcAction{9090, "service-x"})); }
  ProbeOutcome probe_answered(const std::string& frames) {
    net.serve("10.0.0.7:9090", [this, frames](std::unique_ptr<Stream> stream) {
      return serve_frames(std::move(stream), frames, asked);
    });
    return probe();
  }
  std::shared_ptr<std::string> asked = std::make_shared<std::string>();
};

TEST_CASE("a serving service is healthy") {
  GrpcServed s;
  const ProbeOutcome outcome = s.probe_answered(answer("\x08\x01", field("grpc-status", "0")));
  CHECK(outcome.text == "service healthy");
  CHECK(outcome.result == Outcome::kSuccess);
  CHECK(s.asked->starts_with("PRI * HTTP/2.0"));
  CHECK(s.net.resets("10.0.0.7:9090") == 1);
}

TEST_CASE("a service that does not serve fails the probe, by name") {
  struct Row {
    std::string message, text;
  };
  for (const Row& row : {Row{"\x08\x02", "service unhealthy (responded with \"NOT_SERVING\")"},
                         Row{"", "service unhealthy (responded with \"UNKNOWN\")"},
                         Row{"\x08\x09", "service unhealthy (responded with \"9\")"},
                         Row{"\xff",
                             "error: health rpc probe failed: rpc error: code = Internal desc = the answer "
                             "cannot be read"}}) {
    GrpcServed s;
    const ProbeOutcome outcome = s.probe_answered(answer(row.message, field("grpc-status", "0")));
    CHECK(outcome.result == Outcome::kFailure);
    CHECK(outcome.text == row.text);
  }
}

TEST_CASE("a server's error is told in its words") {
  GrpcServed unknown, missing;
  CHECK(unknown.probe_answered(only_trailers("5", "unknown service")).text ==
        "error: health rpc probe failed: rpc error: code = NotFound desc = unknown service");
  CHECK(missing.probe_answered(only_trailers("12", "unknown method")).text ==
        "error: this server does not implement the grpc health protocol (grpc.health.v1.Health): unknown method");
}

TEST_CASE("a port that refuses or hangs is a failed connection") {
  GrpcServed s;
  const ProbeOutcome refused = s.probe();
  CHECK(refused.result == Outcome::kFailure);
  CHECK(refused.text ==
        "timeout: failed to connect service \"10.0.0.7:9090\" within 1s: connection error: desc = \"transport: Error "
        "while dialing: dial tcp 10.0.0.7:9090: connect: connection refused\"");
  s.net.black_hole("10.0.0.7:9090");
  CHECK(s.probe().text == "timeout: failed to connect service \"10.0.0.7:9090\" within 1s: context deadline exceeded");
}

TEST_CASE("a server that does not answer is late") {
  GrpcServed s;
  const Instant began = s.loop.now();
  CHECK(s.probe_answered("").text == "timeout: health rpc did not complete within 1s");
  CHECK(s.loop.now() - began == 1s);
}

TEST_CASE("a huge message fails the probe") {
  GrpcServed s;
  std::string huge;
  for (int i = 0; i < 64; ++i) huge += frame(kData, 0, 1, std::string(1024, '\x01'));
  const ProbeOutcome outcome =
      s.probe_answered(frame(kHeaders, kEndHeaders, 1, "\x88" + field("content-type", "application/grpc")) + huge);
  CHECK(outcome.result == Outcome::kFailure);
  CHECK(outcome.text.size() < 1024);
}

}  // namespace
}  // namespace podwright::probes
