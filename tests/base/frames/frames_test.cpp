#include "base/frames/frames.h"

#include <doctest/doctest.h>

#include "base/limits.h"

using namespace podwright;

TEST_CASE("frames come out whole, however their bytes came") {
  const std::string wire = to_frame(StreamChannel::kStdout, "hello") + to_frame(StreamChannel::kStdin, "") +
                           to_frame(StreamChannel::kStderr, std::string(300, 'x'));
  FrameReader reader;
  std::vector<Frame> frames;

  for (const char byte : wire) {
    reader.feed(std::string_view(&byte, 1));
    while (true) {
      auto frame = reader.next();
      REQUIRE(frame.ok());
      if (!*frame) break;
      frames.push_back(**frame);
    }
  }

  REQUIRE(frames.size() == 3);
  CHECK(frames[0].channel == StreamChannel::kStdout);
  CHECK(frames[0].payload == "hello");
  CHECK(frames[1].payload.empty());
  CHECK(frames[2].payload == std::string(300, 'x'));
}

TEST_CASE("an unknown channel and a frame beyond the bound are refused") {
  FrameReader channel;
  channel.feed(std::string("\x09\0\0\0\0", 5));
  CHECK(channel.next().status().message() == "stream frame of unknown channel 9");

  FrameReader size;
  size.feed(std::string("\x01\x7f\0\0\0", 5));
  CHECK(absl::IsInvalidArgument(size.next().status()));
  static_assert(limits::kStreamFrameBytes < 0x7f000000);
}
