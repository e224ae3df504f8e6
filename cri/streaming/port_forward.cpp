#include "base/co/scope.h"
#include "base/limits.h"
#include "base/status/annotate.h"
#include "cri/streaming/connection.h"
#include "cri/streaming/session.h"

namespace podwright::cri {
namespace {

constexpr char kProtocol[] = "portforward.k8s.io";
constexpr std::size_t kReadAtOnce = 32 << 10;

// What the two flows of a forwarded connection share. Its owner outlives both.
struct Forward {
  Forward(Loop& loop, Upgraded connection, std::unique_ptr<Stream> c)
      : spdy(loop, std::move(connection)), client(std::move(c)), done(loop) {}

  void end(absl::Status status) {
    if (!done.is_set()) done.set(std::move(status));
  }

  SpdyConnection spdy;
  std::unique_ptr<Stream> client;
  uint32_t data = 0, error = 0;
  std::string problem;
  OneShot<absl::Status> done;
};

Co<void> from_client(Forward& forward) {
  while (true) {
    absl::StatusOr<std::string> bytes = co_await forward.client->read_some(kReadAtOnce, Instant::max());
    if (co_await is_stopping()) co_return;
    // A client that broke off ends the forward too: nobody is left to read.
    if (!bytes.ok()) co_return forward.end(annotate(bytes.status(), "read from the client"));
    const bool end = bytes->empty();
    const absl::Status sent = co_await forward.spdy.send(forward.data, std::move(*bytes), end);
    if (!sent.ok()) co_return forward.end(annotate(sent, "write to the runtime"));
    // The pod may go on: its end is the forward's.
    if (end) co_return;
  }
}

// Until the runtime's side has ended.
Co<absl::Status> carry_from_pod(Forward& forward) {
  while (true) {
    absl::StatusOr<std::optional<SpdyFrame>> frame = co_await forward.spdy.next();
    if (!frame.ok()) co_return annotate(frame.status(), "read from the runtime");
    if (!*frame) co_return absl::OkStatus();
    const uint32_t stream = (*frame)->stream;
    const bool is_data = (*frame)->type == SpdyFrame::Type::kData;
    const bool ends = (*frame)->fin() || !is_data;
    if (is_data && stream == forward.error && forward.problem.size() < limits::kStreamVerdictBytes) {
      forward.problem += (*frame)->payload;
    }
    if (is_data && stream == forward.data && !(*frame)->payload.empty()) {
      const absl::Status written = co_await forward.client->write_all(std::move((*frame)->payload), Instant::max());
      if (!written.ok()) co_return annotate(written, "write to the client");
    }
    if (ends && stream == forward.error && !forward.problem.empty()) co_return absl::OkStatus();
    if (ends && stream == forward.data) co_return absl::OkStatus();
  }
}

Co<void> from_pod(Forward& forward) {
  absl::Status status = co_await carry_from_pod(forward);
  if (co_await is_stopping()) co_return;
  if (!forward.problem.empty()) status = absl::UnavailableError(forward.problem);
  if (!status.ok()) co_return forward.end(std::move(status));
  const absl::Status shut = forward.client->shutdown_write();
  // The pod's side is closed altogether: what the client still sends goes nowhere.
  forward.end(shut);
}

}  // namespace

Co<absl::Status> run_port_forward(Loop& loop, Net& net, std::string url, uint16_t port, std::unique_ptr<Stream> client,
                                  Instant deadline) {
  absl::StatusOr<Upgraded> connection = co_await upgrade(net, std::move(url), {kProtocol}, deadline);
  if (!connection.ok()) co_return connection.status();
  Forward forward(loop, std::move(*connection), std::move(client));
  const std::string number = fmt::format("{}", port);
  // The server pairs the two by their request's number and wants the error stream first.
  std::vector<SpdyHeaders> streams = {
      {{"streamtype", "error"}, {"port", number}, {"requestid", "0"}},
      {{"streamtype", "data"}, {"port", number}, {"requestid", "0"}},
  };
  absl::StatusOr<std::vector<uint32_t>> numbers = co_await forward.spdy.open(std::move(streams), deadline);
  if (!numbers.ok()) co_return numbers.status();
  forward.error = numbers->at(0);
  forward.data = numbers->at(1);
  const absl::Status closed = co_await forward.spdy.send(forward.error, "", true);
  if (!closed.ok()) co_return closed;

  Scope flows(loop);
  flows.spawn("forward from client", from_client(forward));
  flows.spawn("forward from pod", from_pod(forward));
  std::optional<absl::Status> ended = co_await forward.done.take(Instant::max());
  co_await flows.close();
  if (!ended) co_return absl::CancelledError("the forward was cut");
  co_return std::move(*ended);
}

}  // namespace podwright::cri
