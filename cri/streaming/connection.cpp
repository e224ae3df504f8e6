#include "cri/streaming/connection.h"

#include <algorithm>

#include "base/status/annotate.h"

namespace podwright::cri {
namespace {

constexpr std::size_t kReadAtOnce = 64 << 10;
constexpr std::size_t kWriteAtOnce = 32 << 10;
// A server that has not taken every stream sends nothing but its refusals.
constexpr std::size_t kEarlyFrames = 64;

}  // namespace

SpdyConnection::SpdyConnection(Loop& loop, Upgraded connection)
    : stream_(std::move(connection.stream)), writing_(loop, 1) {
  frames_.feed(connection.rest);
}

Co<absl::Status> SpdyConnection::write(std::string bytes) {
  const auto turn = co_await writing_.acquire(Instant::max());
  if (!turn.ok()) co_return turn.status();
  co_return co_await stream_->write_all(std::move(bytes), Instant::max());
}

Co<absl::StatusOr<std::optional<SpdyFrame>>> SpdyConnection::next_frame(Instant deadline) {
  while (true) {
    absl::StatusOr<std::optional<SpdyFrame>> frame = frames_.next();
    if (!frame.ok()) co_return frame.status();
    if (!*frame) {
      absl::StatusOr<std::string> more = co_await stream_->read_some(kReadAtOnce, deadline);
      if (!more.ok()) co_return more.status();
      if (more->empty()) co_return std::nullopt;
      frames_.feed(*more);
      continue;
    }
    switch ((*frame)->type) {
      case SpdyFrame::Type::kPing: {
        std::string pong = spdy_ping((*frame)->payload);
        const absl::Status sent = co_await write(std::move(pong));
        if (!sent.ok()) co_return sent;
        break;
      }
      case SpdyFrame::Type::kGoAway: co_return std::nullopt;
      case SpdyFrame::Type::kData:
      case SpdyFrame::Type::kRstStream: co_return frame;
      case SpdyFrame::Type::kSynReply:
      case SpdyFrame::Type::kHeaders: {
        // Read for the sake of the compression state, which goes on.
        const auto headers = headers_in_.read((*frame)->payload);
        if (!headers.ok()) co_return headers.status();
        co_return frame;
      }
      case SpdyFrame::Type::kSynStream: co_return absl::InvalidArgumentError("the server opened a stream");
      case SpdyFrame::Type::kSettings:
      case SpdyFrame::Type::kWindowUpdate: break;
    }
  }
}

Co<absl::StatusOr<std::vector<uint32_t>>> SpdyConnection::open(std::vector<SpdyHeaders> streams, Instant deadline) {
  std::vector<uint32_t> numbers;
  std::string out;
  for (const auto& headers : streams) {
    numbers.push_back(next_stream_);
    out += spdy_syn_stream(next_stream_, headers_out_.write(headers));
    next_stream_ += 2;
  }
  const absl::Status sent = co_await stream_->write_all(std::move(out), deadline);
  if (!sent.ok()) co_return annotate(sent, "open streams");
  std::vector<uint32_t> missing = numbers;
  while (!missing.empty()) {
    absl::StatusOr<std::optional<SpdyFrame>> frame = co_await next_frame(deadline);
    if (!frame.ok()) co_return annotate(frame.status(), "open streams");
    if (!*frame) co_return absl::UnavailableError("open streams: the streaming server closed the connection");
    if ((*frame)->type == SpdyFrame::Type::kRstStream) {
      co_return absl::UnavailableError("open streams: the streaming server refused one");
    }
    if ((*frame)->type == SpdyFrame::Type::kSynReply) std::erase(missing, (*frame)->stream);
    if ((*frame)->type != SpdyFrame::Type::kData) continue;
    if (early_.size() >= kEarlyFrames) co_return absl::ResourceExhaustedError("open streams: data came too early");
    early_.push_back(std::move(**frame));
  }
  co_return numbers;
}

Co<absl::Status> SpdyConnection::send(uint32_t stream, std::string bytes, bool fin) {
  std::size_t at = 0;
  do {
    const std::string_view piece = std::string_view(bytes).substr(at, kWriteAtOnce);
    at += piece.size();
    std::string frame = spdy_data(stream, piece, fin && at == bytes.size());
    const absl::Status sent = co_await write(std::move(frame));
    if (!sent.ok()) co_return sent;
  } while (at < bytes.size());
  co_return absl::OkStatus();
}

Co<absl::StatusOr<std::optional<SpdyFrame>>> SpdyConnection::next(Instant deadline) {
  if (!early_.empty()) {
    SpdyFrame frame = std::move(early_.front());
    early_.pop_front();
    co_return std::optional<SpdyFrame>(std::move(frame));
  }
  while (true) {
    absl::StatusOr<std::optional<SpdyFrame>> frame = co_await next_frame(deadline);
    if (!frame.ok() || !*frame) co_return frame;
    if ((*frame)->type == SpdyFrame::Type::kData || (*frame)->type == SpdyFrame::Type::kRstStream) co_return frame;
  }
}

}  // namespace podwright::cri
