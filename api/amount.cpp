#include "api/amount.h"

#include <cctype>
#include <limits>

namespace podwright::api {
namespace {

constexpr __int128 kMost = (static_cast<__int128>(1) << 126) - 1;
// More digits than any sane quantity has; the rest of a longer text cannot be held exactly anyway.
constexpr int kMostDigits = 36;
constexpr int kMostExponent = 60;

__int128 times(__int128 value, __int128 factor) {
  __int128 product = 0;
  if (__builtin_mul_overflow(value, factor, &product)) return value < 0 ? -kMost : kMost;
  return product > kMost ? kMost : product < -kMost ? -kMost : product;
}

struct Suffix {
  bool binary = false;
  int exponent = 0;  // of 10, or of 2
};

std::optional<Suffix> suffix_of(std::string_view text) {
  struct Row {
    std::string_view text;
    Suffix suffix;
  };
  static constexpr Row kRows[] = {{"", {false, 0}},   {"n", {false, -9}}, {"u", {false, -6}}, {"m", {false, -3}},
                                  {"k", {false, 3}},  {"M", {false, 6}},  {"G", {false, 9}},  {"T", {false, 12}},
                                  {"P", {false, 15}}, {"E", {false, 18}}, {"Ki", {true, 10}}, {"Mi", {true, 20}},
                                  {"Gi", {true, 30}}, {"Ti", {true, 40}}, {"Pi", {true, 50}}, {"Ei", {true, 60}}};
  for (const auto& row : kRows) {
    if (row.text == text) return row.suffix;
  }
  if (text.size() < 2 || (text[0] != 'e' && text[0] != 'E')) return std::nullopt;
  std::size_t at = 1;
  const bool negative = text[at] == '-';
  if (text[at] == '-' || text[at] == '+') ++at;
  if (at == text.size()) return std::nullopt;
  int exponent = 0;
  for (; at < text.size(); ++at) {
    if (std::isdigit(static_cast<unsigned char>(text[at])) == 0) return std::nullopt;
    exponent = std::min(exponent * 10 + (text[at] - '0'), kMostExponent);
  }
  return Suffix{false, negative ? -exponent : exponent};
}

// value / 10^digits of a value that is not negative, rounded up.
__int128 shift_down(__int128 value, int digits) {
  bool rest = false;
  for (; digits > 0 && value != 0; --digits) {
    rest = rest || value % 10 != 0;
    value /= 10;
  }
  return rest ? value + 1 : value;
}

int64_t saturate(__int128 value) {
  if (value > std::numeric_limits<int64_t>::max()) return std::numeric_limits<int64_t>::max();
  if (value < std::numeric_limits<int64_t>::min()) return std::numeric_limits<int64_t>::min();
  return static_cast<int64_t>(value);
}

__int128 divide_up(__int128 value, __int128 by) {
  const __int128 quotient = value / by;
  return value % by > 0 ? quotient + 1 : value % by < 0 ? quotient - 1 : quotient;
}

}  // namespace

std::optional<__int128> nanos_of(std::string_view text) {
  bool negative = false;
  std::size_t at = 0;
  if (!text.empty() && (text[0] == '+' || text[0] == '-')) {
    negative = text[0] == '-';
    at = 1;
  }
  if (text.empty()) return std::nullopt;
  __int128 mantissa = 0;
  int fraction = 0;
  int digits = 0;
  bool point = false;
  bool cut = false;
  bool huge = false;
  for (; at < text.size(); ++at) {
    const char c = text[at];
    if (c == '.') {
      if (point) return std::nullopt;
      point = true;
      continue;
    }
    if (std::isdigit(static_cast<unsigned char>(c)) == 0) break;
    if (digits >= kMostDigits) {
      // Beyond what can be held: saturated below, once the rest was seen to be a quantity's.
      if (point) {
        cut = cut || c != '0';
      } else {
        huge = true;
      }
      continue;
    }
    if (mantissa != 0 || c != '0') ++digits;
    mantissa = mantissa * 10 + (c - '0');
    if (point) ++fraction;
  }
  const auto suffix = suffix_of(text.substr(at));
  if (!suffix) return std::nullopt;
  // nanos = mantissa * 10^-fraction * factor * 10^9
  int tens = 9 - fraction;
  __int128 value = mantissa;
  if (huge) value = kMost;
  if (suffix->binary) {
    value = times(value, static_cast<__int128>(1) << suffix->exponent);
  } else {
    tens += suffix->exponent;
  }
  for (; tens > 0; --tens) value = times(value, 10);
  if (tens < 0) value = shift_down(value, -tens);
  if (cut && value != kMost) value += 1;
  if (suffix->binary) {
    const __int128 cap = static_cast<__int128>(std::numeric_limits<int64_t>::max()) * 1'000'000'000;
    if (value > cap) value = cap;
  }
  return negative ? -value : value;
}

int64_t units_of(std::string_view text) {
  const auto nanos = nanos_of(text);
  return nanos ? saturate(divide_up(*nanos, 1'000'000'000)) : 0;
}

int64_t milli_of(std::string_view text) {
  const auto nanos = nanos_of(text);
  return nanos ? saturate(divide_up(*nanos, 1'000'000)) : 0;
}

int64_t units_of(const Quantity& quantity) {
  return units_of(quantity.string());
}
int64_t milli_of(const Quantity& quantity) {
  return milli_of(quantity.string());
}

}  // namespace podwright::api
