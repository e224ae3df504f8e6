#include "api/quantity.h"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <optional>

#include "api/amount.h"
#include "base/status/annotate.h"

namespace podwright::api {
namespace {

constexpr std::string_view kSigns = "+-";
constexpr std::string_view kDigits = "0123456789";
// Beyond it nothing can be told apart any more, and an int holds every sum.
constexpr int kMostExponent = 1'000'000;

// digits * 10^exponent; empty digits are zero.
struct Decimal {
  bool negative = false;
  std::string digits;
  int exponent = 0;
};

void drop_leading_zeros(std::string& digits) {
  digits.erase(0, std::min(digits.find_first_not_of('0'), digits.size()));
}

void increment(std::string& digits) {
  for (std::size_t at = digits.size(); at-- > 0;) {
    if (digits[at] != '9') {
      ++digits[at];
      return;
    }
    digits[at] = '0';
  }
  digits.insert(digits.begin(), '1');
}

// What is finer than a billionth is rounded away from zero.
void round_to_nano(Decimal& value) {
  if (value.exponent >= -9) return;
  const auto drop = static_cast<std::size_t>(-9 - value.exponent);
  const std::string lost = drop < value.digits.size() ? value.digits.substr(value.digits.size() - drop) : value.digits;
  value.digits.resize(drop < value.digits.size() ? value.digits.size() - drop : 0);
  if (lost.find_first_not_of('0') != std::string::npos) increment(value.digits);
  value.exponent = -9;
}

std::string_view decimal_suffix(int exponent) {
  switch (exponent) {
    case -9: return "n";
    case -6: return "u";
    case -3: return "m";
    case 3: return "k";
    case 6: return "M";
    case 9: return "G";
    case 12: return "T";
    case 15: return "P";
    case 18: return "E";
    default: return "";
  }
}

// A whole mantissa and an exponent that is a multiple of 3.
std::string format_decimal(Decimal value, bool as_exponent) {
  drop_leading_zeros(value.digits);
  round_to_nano(value);
  if (value.digits.empty()) return "0";
  while (value.digits.back() == '0') {
    value.digits.pop_back();
    ++value.exponent;
  }
  for (; value.exponent % 3 != 0; --value.exponent) value.digits += '0';
  const std::string sign = value.negative ? "-" : "";
  if (!as_exponent) return sign + value.digits + std::string(decimal_suffix(value.exponent));
  return value.exponent == 0 ? sign + value.digits : fmt::format("{}{}e{}", sign, value.digits, value.exponent);
}

std::string format_whole(__int128 value) {
  std::string digits;
  for (; value != 0; value /= 10) digits.insert(digits.begin(), static_cast<char>('0' + static_cast<int>(value % 10)));
  return digits;
}

std::string format_binary(__int128 nanos) {
  const bool negative = nanos < 0;
  constexpr __int128 kNanos = 1'000'000'000;
  nanos = std::min(negative ? -nanos : nanos, std::numeric_limits<int64_t>::max() * kNanos);
  if (nanos < 1024 * kNanos || nanos % kNanos != 0) return format_decimal({negative, format_whole(nanos), -9}, false);
  __int128 units = nanos / kNanos;
  static constexpr std::string_view kSuffixes[] = {"", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei"};
  std::size_t power = 0;
  for (; units % 1024 == 0 && power + 1 < std::size(kSuffixes); units /= 1024) ++power;
  return (negative ? "-" : "") + format_whole(units) + std::string(kSuffixes[power]);
}

// n, u, m, k, M, G, T, P, E, or an exponent; nothing for a suffix that is none.
std::optional<int> exponent_of(std::string_view suffix) {
  if (suffix.empty()) return 0;
  for (int exponent = -9; exponent <= 18; exponent += 3) {
    if (exponent != 0 && decimal_suffix(exponent) == suffix) return exponent;
  }
  if (suffix[0] != 'e' && suffix[0] != 'E') return std::nullopt;
  suffix.remove_prefix(1);
  const bool negative = suffix.starts_with('-');
  if (!suffix.empty() && kSigns.find(suffix[0]) != std::string_view::npos) suffix.remove_prefix(1);
  if (suffix.empty() || suffix.find_first_not_of(kDigits) != std::string_view::npos) return std::nullopt;
  int exponent = 0;
  for (const char c : suffix) exponent = std::min(exponent * 10 + (c - '0'), kMostExponent);
  return negative ? -exponent : exponent;
}

bool is_binary(std::string_view suffix) {
  return suffix.size() == 2 && suffix[1] == 'i' && std::string_view("KMGTPE").find(suffix[0]) != std::string_view::npos;
}

}  // namespace

absl::StatusOr<std::string> canonical_quantity(std::string_view text) {
  const auto nanos = nanos_of(text);
  const absl::Status refused =
      make_status(absl::StatusCode::kInvalidArgument, "{:?} is no quantity", std::string(text));
  if (!nanos) return refused;
  Decimal value;
  value.negative = text[0] == '-';
  if (kSigns.find(text[0]) != std::string_view::npos) text.remove_prefix(1);
  bool point = false;
  std::size_t at = 0;
  for (; at < text.size() && (text[at] == '.' || kDigits.find(text[at]) != std::string_view::npos); ++at) {
    if (text[at] == '.') {
      point = true;
      continue;
    }
    value.digits += text[at];
    if (point) --value.exponent;
  }
  const std::string_view suffix = text.substr(at);
  if (is_binary(suffix)) return format_binary(*nanos);
  const auto exponent = exponent_of(suffix);
  // Asked here too: nanos_of() reads no further than to the digit that makes a value too large for it.
  if (!exponent) return refused;
  value.exponent += *exponent;
  const bool as_exponent = suffix.size() > 1;
  return format_decimal(std::move(value), as_exponent);
}

}  // namespace podwright::api
