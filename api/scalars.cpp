#include "api/scalars.h"

#include <fmt/format.h>

#include <array>
#include <charconv>
#include <limits>

#include "base/status/annotate.h"

namespace podwright::api {
namespace {

absl::Status bad_time(std::string_view text) {
  return make_status(absl::StatusCode::kInvalidArgument, "{:?} is not a time in RFC 3339 form (2006-01-02T15:04:05Z)",
                     text);
}

// Days since the epoch of a date in the proleptic Gregorian calendar. Source: H. Hinnant, chrono-compatible low-level
// date algorithms.
int64_t days_from_civil(int64_t year, int month, int day) {
  year -= month <= 2;
  const int64_t era = (year >= 0 ? year : year - 399) / 400;
  const auto year_of_era = static_cast<int64_t>(year - era * 400);
  const int64_t day_of_year = (153 * (month + (month > 2 ? -3 : 9)) + 2) / 5 + day - 1;
  return era * 146097 + year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year - 719468;
}

int days_in(int64_t year, int month) {
  static constexpr std::array<int, 12> kDays = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
  const bool leap = (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;
  return month == 2 && leap ? 29 : kDays[static_cast<std::size_t>(month - 1)];
}

// Reads fields of digits one after the other.
class Reader {
 public:
  explicit Reader(std::string_view text) : rest_(text) {}
  bool digits(int least, int most, int64_t* value) {
    int count = 0;
    int64_t number = 0;
    while (count < most && !rest_.empty() && rest_.front() >= '0' && rest_.front() <= '9') {
      number = number * 10 + (rest_.front() - '0');
      rest_.remove_prefix(1);
      ++count;
    }
    *value = number;
    return count >= least;
  }
  bool one(char c) {
    if (rest_.empty() || rest_.front() != c) return false;
    rest_.remove_prefix(1);
    return true;
  }
  std::string_view rest() const { return rest_; }

 private:
  std::string_view rest_;
};

struct Parsed {
  TimeParts time;
  int fraction_digits = 0;
};

absl::StatusOr<Parsed> parse(std::string_view text) {
  Reader in(text);
  int64_t year = 0, month = 0, day = 0, hour = 0, minute = 0, second = 0;
  const bool date =
      in.digits(4, 4, &year) && in.one('-') && in.digits(2, 2, &month) && in.one('-') && in.digits(2, 2, &day);
  if (!date || !in.one('T')) return bad_time(text);
  if (!in.digits(1, 2, &hour) || !in.one(':') || !in.digits(2, 2, &minute) || !in.one(':') ||
      !in.digits(2, 2, &second)) {
    return bad_time(text);
  }
  Parsed parsed;
  if (in.one('.') || in.one(',')) {
    int64_t scale = 100'000'000;
    int64_t digit = 0;
    while (in.digits(1, 1, &digit)) {
      parsed.time.nanos += static_cast<int32_t>(digit * scale);
      scale /= 10;
      ++parsed.fraction_digits;
    }
    if (parsed.fraction_digits == 0) return bad_time(text);
  }
  int64_t offset = 0;
  if (!in.one('Z')) {
    const bool west = in.one('-');
    if (!west && !in.one('+')) return bad_time(text);
    int64_t hours = 0, minutes = 0;
    if (!in.digits(2, 2, &hours) || !in.one(':') || !in.digits(2, 2, &minutes) || hours > 24 || minutes > 60) {
      return bad_time(text);
    }
    offset = (west ? -1 : 1) * (hours * 3600 + minutes * 60);
  }
  if (!in.rest().empty() || month < 1 || month > 12 || day < 1 || day > days_in(year, static_cast<int>(month)) ||
      hour > 23 || minute > 59 || second > 59) {
    return bad_time(text);
  }
  parsed.time.seconds = days_from_civil(year, static_cast<int>(month), static_cast<int>(day)) * 86400 + hour * 3600 +
                        minute * 60 + second - offset;
  return parsed;
}

std::string date_time(int64_t seconds) {
  int64_t days = seconds / 86400;
  int64_t rest = seconds % 86400;
  if (rest < 0) {
    rest += 86400;
    --days;
  }
  days += 719468;
  const int64_t era = (days >= 0 ? days : days - 146096) / 146097;
  const int64_t day_of_era = days - era * 146097;
  const int64_t year_of_era = (day_of_era - day_of_era / 1460 + day_of_era / 36524 - day_of_era / 146096) / 365;
  const int64_t day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
  const int64_t shifted = (5 * day_of_year + 2) / 153;
  const int64_t day = day_of_year - (153 * shifted + 2) / 5 + 1;
  const int64_t month = shifted < 10 ? shifted + 3 : shifted - 9;
  const int64_t year = year_of_era + era * 400 + (month <= 2 ? 1 : 0);
  return fmt::format("{:04}-{:02}-{:02}T{:02}:{:02}:{:02}", year, month, day, rest / 3600, rest / 60 % 60, rest % 60);
}

struct Unit {
  std::string_view name;
  int64_t nanos;
};
// Longer names first, so that "ms" is not read as "m".
constexpr Unit kUnits[] = {{"ns", 1},         {"us", 1000},         {"\xC2\xB5s", 1000},   {"\xCE\xBCs", 1000},
                           {"ms", 1'000'000}, {"s", 1'000'000'000}, {"m", 60'000'000'000}, {"h", 3'600'000'000'000}};

}  // namespace

absl::StatusOr<TimeParts> parse_time(std::string_view text) {
  const auto parsed = parse(text);
  if (!parsed.ok()) return parsed.status();
  return parsed->time;
}

absl::StatusOr<TimeParts> parse_micro_time(std::string_view text) {
  const auto parsed = parse(text);
  if (!parsed.ok()) return parsed.status();
  if (parsed->fraction_digits != 6) {
    return make_status(absl::StatusCode::kInvalidArgument, "{:?} is not a time with six digits of fraction", text);
  }
  return parsed->time;
}

std::string format_time(int64_t seconds) {
  return date_time(seconds) + "Z";
}

std::string format_micro_time(int64_t seconds, int32_t nanos) {
  return fmt::format("{}.{:06}Z", date_time(seconds), nanos / 1000);
}

absl::StatusOr<int64_t> parse_duration(std::string_view text) {
  const absl::Status bad =
      make_status(absl::StatusCode::kInvalidArgument, "{:?} is not a duration (such as \"1m30s\" or \"500ms\")", text);
  std::string_view rest = text;
  bool negative = false;
  if (!rest.empty() && (rest.front() == '+' || rest.front() == '-')) {
    negative = rest.front() == '-';
    rest.remove_prefix(1);
  }
  if (rest == "0") return 0;
  if (rest.empty()) return bad;
  __int128 total = 0;
  while (!rest.empty()) {
    __int128 whole = 0;
    int digits = 0;
    while (!rest.empty() && rest.front() >= '0' && rest.front() <= '9') {
      if (digits < 20) whole = whole * 10 + (rest.front() - '0');
      if (++digits > 19) return bad;
      rest.remove_prefix(1);
    }
    __int128 fraction = 0;
    __int128 scale = 1;
    if (!rest.empty() && rest.front() == '.') {
      rest.remove_prefix(1);
      while (!rest.empty() && rest.front() >= '0' && rest.front() <= '9') {
        if (scale < 1'000'000'000'000'000) {
          fraction = fraction * 10 + (rest.front() - '0');
          scale *= 10;
        }
        ++digits;
        rest.remove_prefix(1);
      }
    }
    if (digits == 0) return bad;
    const Unit* unit = nullptr;
    for (const auto& one : kUnits) {
      if (rest.starts_with(one.name) && (unit == nullptr || one.name.size() > unit->name.size())) unit = &one;
    }
    if (unit == nullptr) return bad;
    rest.remove_prefix(unit->name.size());
    total += whole * unit->nanos + fraction * unit->nanos / scale;
    if (total > static_cast<__int128>(std::numeric_limits<int64_t>::max()) + (negative ? 1 : 0)) return bad;
  }
  return static_cast<int64_t>(negative ? -total : total);
}

}  // namespace podwright::api
