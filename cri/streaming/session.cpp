#include "cri/streaming/session.h"

#include "base/co/scope.h"
#include "base/limits.h"
#include "base/status/annotate.h"
#include "cri/streaming/connection.h"

namespace podwright::cri {
namespace {

constexpr char kProtocol[] = "v4.channel.k8s.io";

// Streams of one session by their numbers; 0: not there.
struct Numbers {
  uint32_t error = 0, in = 0, out = 0, err = 0, resize = 0;
};

// What the two flows of a session share. Its owner outlives both.
struct Session {
  Session(Loop& loop, Upgraded connection, SessionClient& c)
      : spdy(loop, std::move(connection)), client(c), done(loop) {}

  void end(absl::Status status) {
    if (!done.is_set()) done.set(std::move(status));
  }

  SpdyConnection spdy;
  SessionClient& client;
  Numbers numbers;
  // What came on the error stream: its last word is the result.
  std::string verdict;
  // OK once the runtime has ended the session.
  OneShot<absl::Status> done;
};

Co<absl::Status> open_streams(Session& session, SessionSides sides, Instant deadline) {
  std::vector<SpdyHeaders> streams;
  std::vector<uint32_t*> places;
  const auto add = [&](bool wanted, const char* type, uint32_t& place) {
    if (!wanted) return;
    streams.push_back({{"streamtype", type}});
    places.push_back(&place);
  };
  add(true, "error", session.numbers.error);
  add(sides.stdin, "stdin", session.numbers.in);
  add(sides.stdout, "stdout", session.numbers.out);
  add(sides.stderr && !sides.tty, "stderr", session.numbers.err);
  add(sides.tty, "resize", session.numbers.resize);
  absl::StatusOr<std::vector<uint32_t>> numbers = co_await session.spdy.open(std::move(streams), deadline);
  if (!numbers.ok()) co_return numbers.status();
  for (std::size_t i = 0; i < places.size(); ++i) *places[i] = numbers->at(i);
  co_return absl::OkStatus();
}

Co<absl::Status> pass_on(Session& session, SessionInput input) {
  const Numbers& to = session.numbers;
  switch (input.kind) {
    case SessionInput::Kind::kStdin:
      if (to.in == 0 || input.bytes.empty()) co_return absl::OkStatus();
      co_return co_await session.spdy.send(to.in, std::move(input.bytes), false);
    case SessionInput::Kind::kStdinEnd:
      if (to.in == 0) co_return absl::OkStatus();
      co_return co_await session.spdy.send(to.in, "", true);
    case SessionInput::Kind::kResize: {
      if (to.resize == 0) co_return absl::OkStatus();
      std::string size = fmt::format("{{\"Width\":{},\"Height\":{}}}\n", input.width, input.height);
      co_return co_await session.spdy.send(to.resize, std::move(size), false);
    }
  }
  std::abort();  // not one of the enumerators: memory is broken
}

// From the client to the runtime. A stdin that the runtime no longer takes is no error: the command may have ended.
Co<void> carry_input(Session& session) {
  bool writable = true;
  while (true) {
    absl::StatusOr<SessionInput> input = co_await session.client.next();
    if (co_await is_stopping()) co_return;
    if (!input.ok()) {
      session.end(absl::UnavailableError(fmt::format("the client is gone: {}", text_of(input.status()))));
      co_return;
    }
    if (writable) writable = (co_await pass_on(session, std::move(*input))).ok();
  }
}

// From the runtime to the client, until the runtime ends the connection.
Co<absl::Status> carry_output(Session& session) {
  while (true) {
    absl::StatusOr<std::optional<SpdyFrame>> frame = co_await session.spdy.next();
    if (!frame.ok()) co_return frame.status();
    if (!*frame) co_return absl::OkStatus();
    const uint32_t stream = (*frame)->stream;
    const bool ends = (*frame)->fin() || (*frame)->type == SpdyFrame::Type::kRstStream;
    if ((*frame)->type == SpdyFrame::Type::kData && !(*frame)->payload.empty()) {
      if (stream == session.numbers.error) {
        session.verdict += (*frame)->payload;
        if (session.verdict.size() > limits::kStreamVerdictBytes) {
          co_return absl::ResourceExhaustedError("the runtime's last word is too long");
        }
      }
      absl::Status written;
      if (stream == session.numbers.out) written = co_await session.client.write_stdout(std::move((*frame)->payload));
      if (stream == session.numbers.err) written = co_await session.client.write_stderr(std::move((*frame)->payload));
      if (!written.ok()) co_return absl::UnavailableError(fmt::format("the client is gone: {}", text_of(written)));
    }
    // The server writes its verdict last, after all output.
    if (ends && stream == session.numbers.error) co_return absl::OkStatus();
  }
}

Co<void> output_flow(Session& session) {
  absl::Status status = co_await carry_output(session);
  session.end(std::move(status));
}

// The session's verdict, empty where the runtime gave none.
Co<absl::StatusOr<std::string>> run_session(Loop& loop, Net& net, std::string url, SessionSides sides,
                                            SessionClient& client, Instant deadline) {
  absl::StatusOr<Upgraded> connection = co_await upgrade(net, std::move(url), {kProtocol}, deadline);
  if (!connection.ok()) co_return connection.status();
  Session session(loop, std::move(*connection), client);
  const absl::Status opened = co_await open_streams(session, sides, deadline);
  if (!opened.ok()) co_return opened;

  Scope flows(loop);
  flows.spawn("session input", carry_input(session));
  flows.spawn("session output", output_flow(session));
  const std::optional<absl::Status> ended = co_await session.done.take(Instant::max());
  co_await flows.close();
  if (!ended) co_return absl::CancelledError("the session was cut");
  if (!ended->ok() && session.verdict.empty()) co_return *ended;
  co_return session.verdict;
}

}  // namespace

Co<absl::StatusOr<int32_t>> run_exec(Loop& loop, Net& net, std::string url, SessionSides sides, SessionClient& client,
                                     Instant deadline) {
  const absl::StatusOr<std::string> verdict = co_await run_session(loop, net, std::move(url), sides, client, deadline);
  if (!verdict.ok()) co_return verdict.status();
  if (verdict->empty()) co_return absl::UnavailableError("the runtime ended the session without an exit code");
  co_return exit_code_of(*verdict);
}

Co<absl::Status> run_attach(Loop& loop, Net& net, std::string url, SessionSides sides, SessionClient& client,
                            Instant deadline) {
  const absl::StatusOr<std::string> verdict = co_await run_session(loop, net, std::move(url), sides, client, deadline);
  if (!verdict.ok()) co_return verdict.status();
  if (verdict->empty()) co_return absl::OkStatus();
  co_return exit_code_of(*verdict).status();
}

}  // namespace podwright::cri
