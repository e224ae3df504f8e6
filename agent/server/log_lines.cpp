#include "agent/server/log_lines.h"

#include <chrono>

namespace podwright::server {
namespace {

// Takes the text up to the next space off `rest`; nothing where there is none.
std::optional<std::string_view> take_word(std::string_view& rest) {
  const auto space = rest.find(' ');
  if (space == std::string_view::npos || space == 0) return std::nullopt;
  const std::string_view word = rest.substr(0, space);
  rest.remove_prefix(space + 1);
  return word;
}

// Exactly `count` digits off the front.
std::optional<int> take_digits(std::string_view& rest, std::size_t count) {
  if (rest.size() < count) return std::nullopt;
  int number = 0;
  for (std::size_t i = 0; i < count; ++i) {
    if (rest[i] < '0' || rest[i] > '9') return std::nullopt;
    number = number * 10 + (rest[i] - '0');
  }
  rest.remove_prefix(count);
  return number;
}

bool take_char(std::string_view& rest, char c) {
  if (!rest.starts_with(c)) return false;
  rest.remove_prefix(1);
  return true;
}

}  // namespace

std::optional<CriLogLine> parse_cri_line(std::string_view line) {
  std::string_view rest = line;
  CriLogLine parsed;
  const auto time = take_word(rest);
  const auto stream = take_word(rest);
  if (!time || !stream || (*stream != "stdout" && *stream != "stderr")) return std::nullopt;
  // The tag may be the last word of the line, where the text is empty.
  const auto space = rest.find(' ');
  std::string_view tags = rest.substr(0, space);
  rest = space == std::string_view::npos ? std::string_view() : rest.substr(space + 1);
  const std::string_view tag = tags.substr(0, tags.find(':'));
  if (tag != "P" && tag != "F") return std::nullopt;
  parsed.time = *time;
  parsed.is_stderr = *stream == "stderr";
  parsed.partial = tag == "P";
  parsed.text = rest;
  return parsed;
}

std::optional<WallTime> parse_rfc3339(std::string_view text) {
  std::string_view rest = text;
  const auto year = take_digits(rest, 4);
  if (!year || !take_char(rest, '-')) return std::nullopt;
  const auto month = take_digits(rest, 2);
  if (!month || !take_char(rest, '-')) return std::nullopt;
  const auto day = take_digits(rest, 2);
  if (!day || !take_char(rest, 'T')) return std::nullopt;
  const auto hour = take_digits(rest, 2);
  if (!hour || !take_char(rest, ':')) return std::nullopt;
  const auto minute = take_digits(rest, 2);
  if (!minute || !take_char(rest, ':')) return std::nullopt;
  const auto second = take_digits(rest, 2);
  if (!second || *hour > 23 || *minute > 59 || *second > 59) return std::nullopt;
  int64_t nanos = 0;
  if (take_char(rest, '.')) {
    int64_t unit = 100'000'000;
    std::size_t digits = 0;
    for (; !rest.empty() && rest[0] >= '0' && rest[0] <= '9'; rest.remove_prefix(1), unit /= 10, ++digits) {
      nanos += unit * (rest[0] - '0');
    }
    if (digits == 0) return std::nullopt;
  }
  std::chrono::minutes offset{0};
  if (!take_char(rest, 'Z')) {
    const bool east = rest.starts_with('+');
    if (!east && !rest.starts_with('-')) return std::nullopt;
    rest.remove_prefix(1);
    const auto hours = take_digits(rest, 2);
    if (!hours || !take_char(rest, ':')) return std::nullopt;
    const auto minutes = take_digits(rest, 2);
    if (!minutes || *hours > 23 || *minutes > 59) return std::nullopt;
    offset = std::chrono::hours(*hours) + std::chrono::minutes(*minutes);
    if (!east) offset = -offset;
  }
  if (!rest.empty()) return std::nullopt;
  const std::chrono::year_month_day date{std::chrono::year(*year), std::chrono::month(static_cast<unsigned>(*month)),
                                         std::chrono::day(static_cast<unsigned>(*day))};
  // Beyond these years nanoseconds of 64 bits do not reach.
  if (!date.ok() || *year < 1678 || *year > 2261) return std::nullopt;
  return WallTime(std::chrono::sys_days(date)) + std::chrono::hours(*hour) + std::chrono::minutes(*minute) +
         std::chrono::seconds(*second) + std::chrono::nanoseconds(nanos) - offset;
}

void LogLinePrinter::print(std::string_view line, std::string& out) {
  const auto parsed = parse_cri_line(line);
  if (!parsed) {
    if (options_.since) return;
    out += line;
    out += '\n';
    return;
  }
  Open& open = parsed->is_stderr ? err_ : out_;
  if (!open.goes_on) {
    open.left_out = false;
    if (options_.since) {
      const auto at = parse_rfc3339(parsed->time);
      open.left_out = at && *at < *options_.since;
    }
    if (!open.left_out && options_.timestamps) {
      out += parsed->time;
      out += ' ';
    }
  }
  last_time_ = parsed->time;
  open.goes_on = parsed->partial;
  if (open.left_out) return;
  out += parsed->text;
  if (!parsed->partial) out += '\n';
}

}  // namespace podwright::server
