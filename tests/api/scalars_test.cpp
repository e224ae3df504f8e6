#include "api/scalars.h"

#include <doctest/doctest.h>

#include "api/base64.h"
#include "api/codec.h"
#include "api/types.h"
#include "podwright/config.pb.h"
#include "tests/api/vectors.h"

using namespace podwright;
using namespace podwright::api;

namespace {

// The JSON of one field of a message after it was read from `json`; nothing where it was refused.
template <class Message>
std::optional<std::string> read_and_write(const std::string& key, const std::string& json) {
  const auto node = parse_json("{\"" + key + "\":" + json + "}");
  if (!node.ok()) return std::nullopt;
  Message message;
  if (!decode_or_error(*node, &message, {}, nullptr).ok()) return std::nullopt;
  const Node* written = nullptr;
  const Node all = encode(message);
  written = all.find(key);
  return written == nullptr ? std::string("absent") : to_json(*written);
}

}  // namespace

TEST_CASE("special scalars are read and written as the reference does") {
  int checked = 0;
  for (const auto& row : vector_rows("scalar-vectors.tsv")) {
    const std::string& kind = row[0];
    CAPTURE(kind);
    CAPTURE(row[1]);
    std::optional<std::string> written;
    if (kind == "int-or-string") {
      written = read_and_write<core::HTTPGetAction>("port", row[1]);
    } else if (kind == "time") {
      written = read_and_write<core::ContainerStateRunning>("startedAt", row[1]);
    } else if (kind == "microtime") {
      written = read_and_write<core::Event>("eventTime", row[1]);
    } else if (kind == "duration") {
      written = read_and_write<config::KubeletConfiguration>("syncFrequency", row[1]);
    } else {
      continue;
    }
    ++checked;
    if (row[2] == "error") {
      CHECK_FALSE(written.has_value());
    } else {
      REQUIRE(written.has_value());
      CHECK(*written == row[3]);
    }
  }
  CHECK(checked > 50);
}

TEST_CASE("base64 goes both ways and refuses what is not") {
  for (const char* text : {"", "a", "ab", "abc", "\xff\x00\x01zz"}) CHECK(*base64_decode(base64_encode(text)) == text);
  CHECK(*base64_decode("aG\nk=") == "hi");
  for (const char* bad : {"aGk", "_-8=", "aGk=x", "====", "a==="}) CHECK_FALSE(base64_decode(bad).ok());
}
