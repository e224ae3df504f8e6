#include "api/yaml_scalar.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstdint>

namespace podwright::api {
namespace {

constexpr std::array<std::string_view, 12> kTrue = {"y",    "Y",    "yes", "Yes", "YES", "true",
                                                    "True", "TRUE", "on",  "On",  "ON",  ""};
constexpr std::array<std::string_view, 12> kFalse = {"n",     "N",     "no",  "No",  "NO",  "false",
                                                     "False", "FALSE", "off", "Off", "OFF", ""};

template <std::size_t N>
bool is_one_of(const std::array<std::string_view, N>& words, std::string_view text) {
  return !text.empty() && std::find(words.begin(), words.end(), text) != words.end();
}

std::optional<std::string> integer_of(std::string digits, bool negative, int base) {
  digits.erase(std::remove(digits.begin(), digits.end(), '_'), digits.end());
  if (digits.empty()) return std::nullopt;
  uint64_t value = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value, base);
  if (error != std::errc() || end != digits.data() + digits.size()) return std::nullopt;
  if (negative && value > (uint64_t{1} << 63)) return std::nullopt;
  return fmt::format("{}{}", negative && value != 0 ? "-" : "", value);
}

std::optional<std::string> any_integer(std::string_view text) {
  bool negative = false;
  if (!text.empty() && (text[0] == '+' || text[0] == '-')) {
    negative = text[0] == '-';
    text.remove_prefix(1);
  }
  if (text.empty() || text[0] < '0' || text[0] > '9') return std::nullopt;
  const std::string digits(text);
  if (text.starts_with("0x")) return integer_of(digits.substr(2), negative, 16);
  if (text.starts_with("0b")) return integer_of(digits.substr(2), negative, 2);
  if (text.starts_with("0o")) return integer_of(digits.substr(2), negative, 8);
  if (text.size() > 1 && text[0] == '0') {
    if (auto octal = integer_of(digits.substr(1), negative, 8)) return octal;
  }
  return integer_of(digits, negative, 10);
}

// [-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?
bool looks_like_float(std::string_view text) {
  std::size_t at = 0;
  if (at < text.size() && (text[at] == '+' || text[at] == '-')) ++at;
  std::size_t whole = 0;
  std::size_t fraction = 0;
  const auto is_digit = [&text](std::size_t i) { return i < text.size() && text[i] >= '0' && text[i] <= '9'; };
  while (is_digit(at)) ++at, ++whole;
  if (at < text.size() && text[at] == '.') {
    ++at;
    while (is_digit(at)) ++at, ++fraction;
  }
  if (whole + fraction == 0) return false;
  if (at < text.size() && (text[at] == 'e' || text[at] == 'E')) {
    ++at;
    if (at < text.size() && (text[at] == '+' || text[at] == '-')) ++at;
    if (!is_digit(at)) return false;
    while (is_digit(at)) ++at;
  }
  return at == text.size();
}

Node scalar(Node::Kind kind, std::string text) {
  Node node;
  node.kind = kind;
  node.text = std::move(text);
  return node;
}

}  // namespace

std::string float_text(double value) {
  if (value == 0) return "0";
  const double size = std::fabs(value);
  if (size < 1e-6 || size >= 1e21) {
    // Shortest digits with an exponent without padding: 1e+23, 1e-7.
    std::string text = fmt::format("{:e}", value);
    std::array<char, 64> buffer{};
    const auto result =
        std::to_chars(buffer.data(), buffer.data() + buffer.size(), value, std::chars_format::scientific);
    text.assign(buffer.data(), result.ptr);
    const auto e = text.find('e');
    if (e != std::string::npos && text.size() == e + 4 && text[e + 2] == '0' && text[e + 1] == '-')
      text.erase(e + 2, 1);
    return text;
  }
  std::array<char, 400> buffer{};
  const auto result = std::to_chars(buffer.data(), buffer.data() + buffer.size(), value, std::chars_format::fixed);
  std::string text(buffer.data(), result.ptr);
  // Go prints the shortest digits that read back, padded with zeros.
  std::array<char, 64> shortest{};
  const auto digits =
      std::to_chars(shortest.data(), shortest.data() + shortest.size(), value, std::chars_format::scientific);
  const std::string scientific(shortest.data(), digits.ptr);
  const auto e = scientific.find('e');
  int exponent = 0;
  const char* from = scientific.data() + e + 1;
  if (*from == '+') ++from;
  std::from_chars(from, scientific.data() + scientific.size(), exponent);
  std::string mantissa = scientific.substr(0, e);
  const bool negative = mantissa[0] == '-';
  if (negative) mantissa.erase(0, 1);
  mantissa.erase(std::remove(mantissa.begin(), mantissa.end(), '.'), mantissa.end());
  const int point = exponent + 1;
  if (point >= static_cast<int>(mantissa.size())) {
    text = mantissa + std::string(static_cast<std::size_t>(point) - mantissa.size(), '0');
    if (negative) text = "-" + text;
  }
  return text;
}

std::optional<Node> resolve_scalar(std::string_view text) {
  if (text.empty() || text == "~" || text == "null" || text == "Null" || text == "NULL") return Node();
  if (is_one_of(kTrue, text)) return scalar(Node::Kind::kBool, "true");
  if (is_one_of(kFalse, text)) return scalar(Node::Kind::kBool, "false");
  const char first = text.front();
  const bool numeric = (first >= '0' && first <= '9') || first == '+' || first == '-' || first == '.';
  if (!numeric) return scalar(Node::Kind::kString, std::string(text));
  if (auto integer = any_integer(text)) return scalar(Node::Kind::kNumber, *std::move(integer));
  std::string unsigned_text(text);
  if (first == '+' || first == '-') unsigned_text.erase(0, 1);
  for (const char* word : {".inf", ".Inf", ".INF", ".nan", ".NaN", ".NAN"}) {
    if (unsigned_text == word) return std::nullopt;
  }
  if (looks_like_float(text)) {
    double value = 0;
    const char* begin = text.data() + (first == '+' ? 1 : 0);
    const auto result = std::from_chars(begin, text.data() + text.size(), value);
    if (result.ec == std::errc()) return scalar(Node::Kind::kNumber, float_text(value));
    if (result.ec == std::errc::result_out_of_range) {
      // Too small is zero; too large stays a string.
      const bool tiny = text.find("e-") != std::string_view::npos || text.find("E-") != std::string_view::npos;
      if (tiny) return scalar(Node::Kind::kNumber, "0");
    }
  }
  return scalar(Node::Kind::kString, std::string(text));
}

}  // namespace podwright::api
