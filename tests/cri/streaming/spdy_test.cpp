#include "cri/streaming/spdy.h"

#include <doctest/doctest.h>

#include "base/limits.h"
#include "cri/streaming/dictionary.h"
#include "cri/streaming/session.h"
#include "cri/streaming/upgrade.h"

using namespace podwright;
using namespace podwright::cri;

TEST_CASE("the dictionary is the protocol's") {
  const std::string& all = spdy_dictionary();

  CHECK(all.size() == 1423);
  CHECK(adler32(adler32(0, nullptr, 0), reinterpret_cast<const Bytef*>(all.data()), static_cast<uInt>(all.size())) ==
        0xe3c6a7c2U);
}

TEST_CASE("header blocks survive the way, one after the other in one compression") {
  SpdyHeaderWriter writer;
  SpdyHeaderReader reader;
  const SpdyHeaders first = {{"streamtype", "stdin"}};
  const SpdyHeaders second = {{"streamtype", "stdout"}, {"port", "80"}, {"empty", ""}};

  for (const auto& headers : {first, second, first}) {
    const auto got = reader.read(writer.write(headers));

    REQUIRE_MESSAGE(got.ok(), got.status().ToString());
    CHECK(*got == headers);
  }
}

TEST_CASE("a header block of more than kSpdyHeaderBytes, or that is no block, is refused") {
  SpdyHeaderWriter writer;
  SpdyHeaderReader reader;
  const std::string bomb = writer.write({{"a", std::string(limits::kSpdyHeaderBytes * 4, 'a')}});
  CHECK(bomb.size() < limits::kSpdyHeaderBytes);
  CHECK(absl::IsResourceExhausted(reader.read(bomb).status()));

  SpdyHeaderReader fresh;
  CHECK(absl::IsInvalidArgument(fresh.read("not compressed at all").status()));
}

TEST_CASE("frames come whole, however the bytes were cut") {
  const std::string bytes =
      spdy_data(1, "hello", false) + spdy_ping(std::string("\0\0\0\7", 4)) + spdy_data(3, "", true) + spdy_reset(5, 1);
  SpdyFrameReader reader;
  std::vector<SpdyFrame> frames;

  for (const char byte : bytes) {
    reader.feed(std::string_view(&byte, 1));
    auto next = reader.next();
    REQUIRE(next.ok());
    if (*next) frames.push_back(std::move(**next));
  }

  REQUIRE(frames.size() == 4);
  CHECK(frames[0].type == SpdyFrame::Type::kData);
  CHECK(frames[0].stream == 1);
  CHECK(frames[0].payload == "hello");
  CHECK_FALSE(frames[0].fin());
  CHECK(frames[1].type == SpdyFrame::Type::kPing);
  CHECK(frames[1].payload == std::string("\0\0\0\7", 4));
  CHECK(frames[2].fin());
  CHECK(frames[3].type == SpdyFrame::Type::kRstStream);
  CHECK(frames[3].stream == 5);
}

TEST_CASE("a frame beyond kSpdyFrameBytes, of another version or without its stream is refused") {
  SpdyFrameReader large;
  large.feed(std::string("\0\0\0\1\0\xff\xff\xff", 8));
  CHECK(absl::IsResourceExhausted(large.next().status()));

  SpdyFrameReader other;
  other.feed(std::string("\x80\2\0\1\0\0\0\0", 8));
  CHECK(absl::IsInvalidArgument(other.next().status()));

  SpdyFrameReader nameless;
  nameless.feed(std::string("\x80\3\0\3\0\0\0\0", 8));
  CHECK(absl::IsInvalidArgument(nameless.next().status()));
}

TEST_CASE("the exit code is what the last word says") {
  CHECK(exit_code_of(R"({"metadata":{},"status":"Success"})").value() == 0);
  CHECK(exit_code_of(R"({"metadata":{},"status":"Failure","message":"command terminated","reason":"NonZeroExitCode",)"
                     R"("details":{"causes":[{"reason":"ExitCode","message":"42"}]}})")
            .value() == 42);
  const auto other = exit_code_of(R"({"status":"Failure","message":"no such program","reason":"InternalError"})");
  CHECK(other.status() == absl::UnknownError("no such program"));
  for (const char* bad :
       {"", "[]", "{", "3", R"({"status":7})", R"({"reason":"NonZeroExitCode","details":{"causes":[1]}})",
        R"({"reason":"NonZeroExitCode","details":{"causes":[{"reason":"ExitCode","message":"4x"}]}})"}) {
    CHECK_FALSE(exit_code_of(bad).ok());
  }
}

TEST_CASE("a streaming URL leads to an address and a target") {
  const auto plain = parse_streaming_url("http://127.0.0.1:40321/exec/abc?x=1");
  REQUIRE(plain.ok());
  CHECK(plain->endpoint.host == "127.0.0.1");
  CHECK(plain->endpoint.port == 40321);
  CHECK(plain->host == "127.0.0.1:40321");
  CHECK(plain->target == "/exec/abc?x=1");
  CHECK(parse_streaming_url("http://[::1]:80").value().endpoint.host == "::1");
  CHECK(parse_streaming_url("http://[::1]/x").value().endpoint.port == 80);

  CHECK(absl::IsUnimplemented(parse_streaming_url("https://127.0.0.1:1/exec/abc").status()));
  for (const char* bad : {"", "/exec/abc", "http://", "http://:80/", "http://a:0/", "http://a:70000/", "http://a:x/",
                          "http://a/b c", "http://a/\r\nHost: b"}) {
    CHECK_MESSAGE(absl::IsInvalidArgument(parse_streaming_url(bad).status()), bad);
  }
}
