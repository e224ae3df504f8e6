// SpdyConnection: the client's side of one SPDY connection to a streaming server. One flow reads; any flow of the loop
// may write, one after the other.
#pragma once

#include <absl/status/statusor.h>

#include <deque>
#include <memory>
#include <optional>
#include <string>

#include "base/co/bell.h"
#include "base/net/net.h"
#include "cri/streaming/spdy.h"
#include "cri/streaming/upgrade.h"

namespace podwright::cri {

class SpdyConnection {
 public:
  SpdyConnection(Loop& loop, Upgraded connection);

  // Opens streams, in this order, and waits until the server has taken each: it drops what is sent before that. The
  // answer has their numbers. Before the first next() only.
  Co<absl::StatusOr<std::vector<uint32_t>>> open(std::vector<SpdyHeaders> streams, Instant deadline);

  // Sends bytes, and with `fin` the end of our side of the stream. Waits for as long as the peer does not read.
  Co<absl::Status> send(uint32_t stream, std::string bytes, bool fin);

  // What came next: data, a stream's end (fin, or kRstStream), or nothing where the connection ended. Pings are
  // answered on the way.
  Co<absl::StatusOr<std::optional<SpdyFrame>>> next(Instant deadline = Instant::max());

 private:
  Co<absl::StatusOr<std::optional<SpdyFrame>>> next_frame(Instant deadline);
  Co<absl::Status> write(std::string bytes);

  std::unique_ptr<Stream> stream_;
  SpdyFrameReader frames_;
  SpdyHeaderWriter headers_out_;
  SpdyHeaderReader headers_in_;
  // Data that came while streams were still being opened.
  std::deque<SpdyFrame> early_;
  uint32_t next_stream_ = 1;  // a client's have odd numbers
  Slots writing_;
};

}  // namespace podwright::cri
