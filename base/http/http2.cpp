#include "base/http/http2.h"

#include "base/http/http2_session.h"
#include "base/status/annotate.h"

namespace podwright {

namespace {

// For the last words of a connection that is closed.
constexpr Duration kGoodbyeTime = 100ms;

absl::Status wait_error(Wait wait) {
  if (wait == Wait::kCancelled) return absl::CancelledError("HTTP/2: stopped");
  return absl::DeadlineExceededError("HTTP/2: i/o timeout");
}

}  // namespace

// Session is private to the connection, so that its stream reaches it by these two calls.
class OpenStream final : public Http2Stream {
 public:
  OpenStream(std::shared_ptr<Http2State> state, std::function<void(std::size_t)> consume, std::function<void()> drop)
      : state_(std::move(state)), consume_(std::move(consume)), drop_(std::move(drop)) {}
  ~OpenStream() override { drop_(); }

  Co<absl::Status> wait_for_headers(Instant deadline) override {
    const auto state = state_;
    while (!state->headed) {
      if (!state->error.ok()) co_return state->error;
      if (state->closed) co_return absl::UnavailableError("HTTP/2: the stream ended without an answer");
      const Wait wait = co_await state->changed.wait_until(deadline);
      if (wait != Wait::kRung) co_return wait_error(wait);
    }
    co_return absl::OkStatus();
  }

  Co<absl::StatusOr<std::string>> read_some(Instant deadline) override {
    const auto state = state_;
    while (state->body.empty()) {
      if (!state->error.ok()) co_return state->error;
      if (state->closed) co_return std::string();
      const Wait wait = co_await state->changed.wait_until(deadline);
      if (wait != Wait::kRung) co_return wait_error(wait);
    }
    std::string bytes = std::exchange(state->body, {});
    consume_(bytes.size());
    co_return bytes;
  }

  int status() const override { return state_->status; }
  const Headers& headers() const override { return state_->headers; }
  const Headers& trailers() const override { return state_->trailers; }

 private:
  std::shared_ptr<Http2State> state_;
  std::function<void(std::size_t)> consume_;
  std::function<void()> drop_;
};

Http2Connection::Http2Connection(Loop& loop, std::unique_ptr<Stream> stream)
    : session_(std::make_shared<Session>(loop, std::move(stream))), scope_(loop) {}
Http2Connection::~Http2Connection() = default;

void Http2Connection::start() {
  scope_.spawn("http2 read", session_->read_all());
  scope_.spawn("http2 write", session_->write_all());
}

absl::StatusOr<std::unique_ptr<Http2Stream>> Http2Connection::open(Http2Request request) {
  auto state = session_->open(std::move(request));
  if (!state.ok()) return state.status();
  const std::shared_ptr<Session> session = session_;
  const int32_t id = (*state)->id;
  return std::unique_ptr<Http2Stream>(std::make_unique<OpenStream>(
      *state, [session, id](std::size_t bytes) { session->consume(id, bytes); },
      [session, dropped = *state] { session->drop(dropped); }));
}

const absl::Status& Http2Connection::state() const {
  return session_->state;
}

Co<absl::Status> Http2Connection::ping(Instant deadline) {
  const auto session = session_;
  if (!session->state.ok()) co_return session->state;
  const uint64_t before = session->pongs;
  if (nghttp2_submit_ping(session->session, NGHTTP2_FLAG_NONE, nullptr) != 0) {
    co_return absl::UnavailableError("HTTP/2: cannot ping");
  }
  session->to_send.ring();
  while (session->pongs == before) {
    if (!session->state.ok()) co_return session->state;
    const Wait wait = co_await session->pinged.wait_until(deadline);
    if (wait != Wait::kRung) co_return wait_error(wait);
  }
  co_return absl::OkStatus();
}

Co<void> Http2Connection::close() {
  const auto session = session_;
  const bool was_well = session->state.ok();
  session->fail(absl::CancelledError("HTTP/2: the connection is closed"));
  co_await scope_.close();
  if (was_well && nghttp2_session_terminate_session(session->session, NGHTTP2_NO_ERROR) == 0) {
    std::string goodbye = session->take_outgoing();
    // Nothing depends on its arrival.
    (void)co_await session->stream->write_all(std::move(goodbye), after(session->loop.now(), kGoodbyeTime));
  }
}

}  // namespace podwright
