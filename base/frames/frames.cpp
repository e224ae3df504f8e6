#include "base/frames/frames.h"

#include "base/limits.h"
#include "base/status/annotate.h"

namespace podwright {
namespace {

constexpr std::size_t kHead = 5;

}  // namespace

std::string to_frame(StreamChannel channel, std::string_view payload) {
  const auto size = static_cast<uint32_t>(payload.size());
  std::string frame;
  frame.reserve(kHead + payload.size());
  frame += static_cast<char>(channel);
  for (const int shift : {24, 16, 8, 0}) frame += static_cast<char>(size >> shift & 0xff);
  frame += payload;
  return frame;
}

absl::StatusOr<std::optional<Frame>> FrameReader::next() {
  if (pending_.size() < kHead) return std::nullopt;
  uint32_t size = 0;
  for (std::size_t i = 1; i < kHead; ++i) size = size << 8 | static_cast<unsigned char>(pending_[i]);
  const auto channel = static_cast<unsigned char>(pending_[0]);
  if (channel > static_cast<unsigned char>(StreamChannel::kResize)) {
    return make_status(absl::StatusCode::kInvalidArgument, "stream frame of unknown channel {}", channel);
  }
  if (size > limits::kStreamFrameBytes) {
    return make_status(absl::StatusCode::kInvalidArgument, "stream frame of {} bytes, at most {} are taken", size,
                       limits::kStreamFrameBytes);
  }
  if (pending_.size() < kHead + size) return std::nullopt;
  Frame frame{static_cast<StreamChannel>(channel), pending_.substr(kHead, size)};
  pending_.erase(0, kHead + size);
  return frame;
}

}  // namespace podwright
