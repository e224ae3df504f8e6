#include "cri/streaming/spdy.h"

#include <algorithm>
#include <cstdlib>

#include "base/limits.h"
#include "base/status/annotate.h"
#include "cri/streaming/dictionary.h"

namespace podwright::cri {
namespace {

constexpr std::size_t kFrameHeader = 8;
constexpr uint16_t kVersion = 3;

uint32_t number_at(std::string_view bytes, std::size_t at) {
  uint32_t number = 0;
  for (std::size_t i = 0; i < 4; ++i) number = (number << 8) | static_cast<uint8_t>(bytes[at + i]);
  return number;
}

void add_number(std::string& to, uint32_t number) {
  for (int shift = 24; shift >= 0; shift -= 8) to += static_cast<char>(number >> shift & 0xff);
}

const Bytef* bytes_of(std::string_view text) {
  return reinterpret_cast<const Bytef*>(text.data());
}

std::string control(SpdyFrame::Type type, uint8_t flags, std::string_view payload) {
  std::string frame;
  add_number(frame, 0x80000000U | uint32_t{kVersion} << 16 | static_cast<uint32_t>(type));
  add_number(frame, uint32_t{flags} << 24 | static_cast<uint32_t>(payload.size()));
  frame += payload;
  return frame;
}

bool has_stream(SpdyFrame::Type type) {
  switch (type) {
    case SpdyFrame::Type::kData:
    case SpdyFrame::Type::kSynStream:
    case SpdyFrame::Type::kSynReply:
    case SpdyFrame::Type::kRstStream:
    case SpdyFrame::Type::kHeaders:
    case SpdyFrame::Type::kWindowUpdate: return true;
    case SpdyFrame::Type::kSettings:
    case SpdyFrame::Type::kPing:
    case SpdyFrame::Type::kGoAway: return false;
  }
  return false;  // a type that we do not know: its reader ignores it
}

absl::StatusOr<SpdyHeaders> parse_block(std::string_view text) {
  const absl::Status bad = absl::InvalidArgumentError("a SPDY header block is cut off");
  if (text.size() < 4) return bad;
  const uint32_t count = number_at(text, 0);
  text.remove_prefix(4);
  SpdyHeaders headers;
  for (uint32_t i = 0; i < count; ++i) {
    std::string part[2];
    for (auto& one : part) {
      if (text.size() < 4) return bad;
      const uint32_t length = number_at(text, 0);
      text.remove_prefix(4);
      if (length > text.size()) return bad;
      one = text.substr(0, length);
      text.remove_prefix(length);
    }
    headers.emplace_back(std::move(part[0]), std::move(part[1]));
  }
  return headers;
}

}  // namespace

absl::StatusOr<std::optional<SpdyFrame>> SpdyFrameReader::next() {
  if (buffer_.size() < kFrameHeader) return std::nullopt;
  const uint32_t first = number_at(buffer_, 0);
  const uint32_t second = number_at(buffer_, 4);
  const std::size_t length = second & 0xffffff;
  if (length > limits::kSpdyFrameBytes) {
    return make_status(absl::StatusCode::kResourceExhausted, "a SPDY frame of {} bytes", length);
  }
  if (buffer_.size() < kFrameHeader + length) return std::nullopt;
  SpdyFrame frame;
  frame.flags = static_cast<uint8_t>(second >> 24);
  frame.payload = buffer_.substr(kFrameHeader, length);
  buffer_.erase(0, kFrameHeader + length);
  if ((first & 0x80000000U) == 0) {
    frame.stream = first;
    return frame;
  }
  if ((first >> 16 & 0x7fff) != kVersion || (first & 0xffff) == 0) {
    return absl::InvalidArgumentError("the peer does not speak SPDY/3");
  }
  frame.type = static_cast<SpdyFrame::Type>(first & 0xffff);
  if (has_stream(frame.type)) {
    if (frame.payload.size() < 4) return absl::InvalidArgumentError("a SPDY frame names no stream");
    frame.stream = number_at(frame.payload, 0) & 0x7fffffff;
    frame.payload.erase(0, 4);
  }
  return frame;
}

SpdyHeaderWriter::SpdyHeaderWriter() {
  if (deflateInit(&zlib_, Z_DEFAULT_COMPRESSION) != Z_OK) std::abort();  // no memory
  const std::string& dictionary = spdy_dictionary();
  (void)deflateSetDictionary(&zlib_, bytes_of(dictionary), static_cast<uInt>(dictionary.size()));
}

SpdyHeaderWriter::~SpdyHeaderWriter() {
  (void)deflateEnd(&zlib_);
}

std::string SpdyHeaderWriter::write(const SpdyHeaders& headers) {
  std::string plain;
  add_number(plain, static_cast<uint32_t>(headers.size()));
  for (const auto& [name, value] : headers) {
    add_number(plain, static_cast<uint32_t>(name.size()));
    plain += name;
    add_number(plain, static_cast<uint32_t>(value.size()));
    plain += value;
  }
  std::string block;
  zlib_.next_in = const_cast<Bytef*>(bytes_of(plain));
  zlib_.avail_in = static_cast<uInt>(plain.size());
  do {
    char out[4096];
    zlib_.next_out = reinterpret_cast<Bytef*>(out);
    zlib_.avail_out = sizeof(out);
    (void)deflate(&zlib_, Z_SYNC_FLUSH);
    block.append(out, sizeof(out) - zlib_.avail_out);
  } while (zlib_.avail_out == 0);
  return block;
}

SpdyHeaderReader::SpdyHeaderReader() {
  if (inflateInit(&zlib_) != Z_OK) std::abort();  // no memory
}

SpdyHeaderReader::~SpdyHeaderReader() {
  (void)inflateEnd(&zlib_);
}

absl::StatusOr<SpdyHeaders> SpdyHeaderReader::read(std::string_view block) {
  std::string plain;
  zlib_.next_in = const_cast<Bytef*>(bytes_of(block));
  zlib_.avail_in = static_cast<uInt>(block.size());
  while (true) {
    char out[4096];
    zlib_.next_out = reinterpret_cast<Bytef*>(out);
    zlib_.avail_out = sizeof(out);
    const int result = inflate(&zlib_, Z_SYNC_FLUSH);
    if (result == Z_NEED_DICT) {
      const std::string& dictionary = spdy_dictionary();
      if (inflateSetDictionary(&zlib_, bytes_of(dictionary), static_cast<uInt>(dictionary.size())) != Z_OK) {
        return absl::InvalidArgumentError("a SPDY header block asks for another dictionary");
      }
      continue;
    }
    if (result != Z_OK && result != Z_BUF_ERROR) {
      return absl::InvalidArgumentError("a SPDY header block cannot be uncompressed");
    }
    plain.append(out, sizeof(out) - zlib_.avail_out);
    if (plain.size() > limits::kSpdyHeaderBytes) {
      return absl::ResourceExhaustedError("a SPDY header block is too large");
    }
    if (zlib_.avail_out != 0) break;
  }
  return parse_block(plain);
}

std::string spdy_syn_stream(uint32_t stream, std::string_view block) {
  std::string payload;
  add_number(payload, stream);
  add_number(payload, 0);           // belongs to no other stream
  payload += std::string(2, '\0');  // priority and slot
  payload += block;
  return control(SpdyFrame::Type::kSynStream, 0, payload);
}

std::string spdy_syn_reply(uint32_t stream, std::string_view block) {
  std::string payload;
  add_number(payload, stream);
  payload += block;
  return control(SpdyFrame::Type::kSynReply, 0, payload);
}

std::string spdy_data(uint32_t stream, std::string_view bytes, bool fin) {
  std::string frame;
  add_number(frame, stream);
  add_number(frame, uint32_t{fin ? SpdyFrame::kFin : uint8_t{0}} << 24 | static_cast<uint32_t>(bytes.size()));
  frame += bytes;
  return frame;
}

std::string spdy_reset(uint32_t stream, uint32_t status) {
  std::string payload;
  add_number(payload, stream);
  add_number(payload, status);
  return control(SpdyFrame::Type::kRstStream, 0, payload);
}

std::string spdy_ping(std::string_view id) {
  return control(SpdyFrame::Type::kPing, 0, id);
}

}  // namespace podwright::cri
