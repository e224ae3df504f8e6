// SPDY/3.1 as runtimes' streaming servers speak it: frames and compressed header blocks, without I/O.
// Flow control is left to TCP: these servers (all built on one Go library, moby/spdystream) neither send nor heed
// WINDOW_UPDATE, so a window that we kept would stop a session after its first 64 KiB.
// Source: draft-mbelshe-httpbis-spdy-00 and the changes of 3.1.
#pragma once

#include <absl/status/statusor.h>
#include <zlib.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace podwright::cri {

using SpdyHeaders = std::vector<std::pair<std::string, std::string>>;

struct SpdyFrame {
  enum class Type : uint16_t {
    kData = 0,  // not on the wire: a data frame has no type
    kSynStream = 1,
    kSynReply = 2,
    kRstStream = 3,
    kSettings = 4,
    kPing = 6,
    kGoAway = 7,
    kHeaders = 8,
    kWindowUpdate = 9,
  };
  static constexpr uint8_t kFin = 1;

  Type type = Type::kData;
  uint8_t flags = 0;
  // Of every frame that belongs to a stream.
  uint32_t stream = 0;
  // The data, or what follows the stream's number; of the others everything.
  std::string payload;

  bool fin() const { return (flags & kFin) != 0; }
};

// Cuts what comes in into frames.
class SpdyFrameReader {
 public:
  void feed(std::string_view bytes) { buffer_ += bytes; }
  // The next whole frame; nothing where more bytes are needed. ResourceExhausted where a frame is longer than
  // limits::kSpdyFrameBytes, InvalidArgument where it is none.
  absl::StatusOr<std::optional<SpdyFrame>> next();

 private:
  std::string buffer_;
};

// One direction's header blocks: they share one compression state for the life of the connection, so they have to be
// made or read in the order of the wire, each once.
class SpdyHeaderWriter {
 public:
  SpdyHeaderWriter();
  ~SpdyHeaderWriter();
  SpdyHeaderWriter(const SpdyHeaderWriter&) = delete;
  SpdyHeaderWriter& operator=(const SpdyHeaderWriter&) = delete;
  std::string write(const SpdyHeaders& headers);

 private:
  z_stream zlib_{};
};

class SpdyHeaderReader {
 public:
  SpdyHeaderReader();
  ~SpdyHeaderReader();
  SpdyHeaderReader(const SpdyHeaderReader&) = delete;
  SpdyHeaderReader& operator=(const SpdyHeaderReader&) = delete;
  // ResourceExhausted where the block is larger than limits::kSpdyHeaderBytes; InvalidArgument where it is malformed.
  absl::StatusOr<SpdyHeaders> read(std::string_view block);

 private:
  z_stream zlib_{};
};

// `block` is a header block as SpdyHeaderWriter made it.
std::string spdy_syn_stream(uint32_t stream, std::string_view block);
std::string spdy_syn_reply(uint32_t stream, std::string_view block);
std::string spdy_data(uint32_t stream, std::string_view bytes, bool fin);
std::string spdy_reset(uint32_t stream, uint32_t status);
std::string spdy_ping(std::string_view id);

}  // namespace podwright::cri
