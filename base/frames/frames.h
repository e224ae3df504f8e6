// The frames of an exec or attach session on the local socket, between the command line and the agent, after the
// upgrade to kStreamProtocol: one byte of channel, four bytes of length (big end first), the payload. Pure.
//
//   client -> agent   stdin (an empty one ends it), resize {"Width":80,"Height":24}
//   agent -> client   stdout, stderr, and one result as the last: {"exitCode":0} or {"error":"..."}
#pragma once

#include <absl/status/statusor.h>

#include <optional>
#include <string>
#include <string_view>

namespace podwright {

inline constexpr char kStreamProtocol[] = "podwright-stream.v1";
// For port-forward: the bytes of one connection, without frames.
inline constexpr char kPortProtocol[] = "podwright-port.v1";

enum class StreamChannel : uint8_t { kStdin = 0, kStdout = 1, kStderr = 2, kResult = 3, kResize = 4 };

struct Frame {
  StreamChannel channel = StreamChannel::kStdin;
  std::string payload;
};

std::string to_frame(StreamChannel channel, std::string_view payload);

// Takes bytes as they come and gives whole frames.
class FrameReader {
 public:
  void feed(std::string_view bytes) { pending_ += bytes; }
  // Nothing: more bytes are needed. InvalidArgument for a channel that is none or a frame beyond the bound; the stream
  // is of no use then.
  absl::StatusOr<std::optional<Frame>> next();

 private:
  std::string pending_;
};

}  // namespace podwright
