#include "api/base64.h"

#include <cstdint>

namespace podwright::api {
namespace {

constexpr char kAlphabet[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

int value_of(char c) {
  if (c >= 'A' && c <= 'Z') return c - 'A';
  if (c >= 'a' && c <= 'z') return c - 'a' + 26;
  if (c >= '0' && c <= '9') return c - '0' + 52;
  if (c == '+') return 62;
  if (c == '/') return 63;
  return -1;
}

}  // namespace

absl::StatusOr<std::string> base64_decode(std::string_view text) {
  std::string bytes;
  uint32_t bits = 0;
  int have = 0;
  int padding = 0;
  for (const char c : text) {
    if (c == '\n' || c == '\r') continue;
    if (c == '=') {
      ++padding;
      ++have;
      bits <<= 6;
    } else {
      const int value = value_of(c);
      if (value < 0 || padding > 0) return absl::InvalidArgumentError("illegal base64 data");
      bits = (bits << 6) | static_cast<uint32_t>(value);
      ++have;
    }
    if (have < 4) continue;
    if (padding > 2) return absl::InvalidArgumentError("illegal base64 data");
    bytes += static_cast<char>(bits >> 16);
    if (padding < 2) bytes += static_cast<char>(bits >> 8);
    if (padding < 1) bytes += static_cast<char>(bits);
    bits = 0;
    have = 0;
  }
  if (have != 0) return absl::InvalidArgumentError("illegal base64 data: not a multiple of four characters");
  return bytes;
}

std::string base64_encode(std::string_view bytes) {
  std::string text;
  for (std::size_t i = 0; i < bytes.size(); i += 3) {
    const std::size_t left = bytes.size() - i;
    uint32_t bits = static_cast<uint32_t>(static_cast<unsigned char>(bytes[i])) << 16;
    if (left > 1) bits |= static_cast<uint32_t>(static_cast<unsigned char>(bytes[i + 1])) << 8;
    if (left > 2) bits |= static_cast<unsigned char>(bytes[i + 2]);
    text += kAlphabet[bits >> 18];
    text += kAlphabet[(bits >> 12) & 63];
    text += left > 1 ? kAlphabet[(bits >> 6) & 63] : '=';
    text += left > 2 ? kAlphabet[bits & 63] : '=';
  }
  return text;
}

}  // namespace podwright::api
