#include "agent/cli/table.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>

namespace podwright::cli {
namespace {

// What a terminal shows as one column each; enough for names and times.
std::size_t width_of(std::string_view text) {
  return static_cast<std::size_t>(
      std::count_if(text.begin(), text.end(), [](char c) { return (static_cast<unsigned char>(c) & 0xc0) != 0x80; }));
}

}  // namespace

void Table::keep_widths(std::vector<std::size_t>& widths) const {
  for (const auto& row : rows_) {
    if (widths.size() < row.size()) widths.resize(row.size());
    for (std::size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], width_of(row[i]));
  }
}

std::string Table::text(bool with_header) const {
  std::vector<std::size_t> widths;
  keep_widths(widths);
  return text(with_header, widths);
}

std::string Table::text(bool with_header, const std::vector<std::size_t>& widths) const {
  std::string out;
  for (std::size_t r = with_header ? 0 : 1; r < rows_.size(); ++r) {
    const auto& row = rows_[r];
    for (std::size_t i = 0; i < row.size(); ++i) {
      out += row[i];
      if (i + 1 < row.size()) out.append(widths[i] - width_of(row[i]) + 3, ' ');
    }
    out += '\n';
  }
  return out;
}

std::string human_duration(Duration age) {
  const int64_t seconds = std::chrono::duration_cast<std::chrono::seconds>(age).count();
  if (seconds < -1) return "<invalid>";
  if (seconds < 0) return "0s";
  const auto two = [](int64_t big, const char* big_unit, int64_t small, const char* small_unit) {
    return small == 0 ? fmt::format("{}{}", big, big_unit) : fmt::format("{}{}{}{}", big, big_unit, small, small_unit);
  };
  if (seconds < 120) return fmt::format("{}s", seconds);
  const int64_t minutes = seconds / 60;
  if (minutes < 10) return two(minutes, "m", seconds % 60, "s");
  if (minutes < 180) return fmt::format("{}m", minutes);
  const int64_t hours = minutes / 60;
  if (hours < 8) return two(hours, "h", minutes % 60, "m");
  if (hours < 48) return fmt::format("{}h", hours);
  const int64_t days = hours / 24;
  if (hours < 192) return two(days, "d", hours % 24, "h");
  if (days < 365 * 2) return fmt::format("{}d", days);
  if (days < 365 * 8) return two(days / 365, "y", days % 365, "d");
  return fmt::format("{}y", days / 365);
}

bool is_zero(const meta::Time& time) {
  return !time.has_seconds();
}

WallTime to_wall(const meta::Time& time) {
  return WallTime(std::chrono::seconds(time.seconds()) + Duration(time.nanos()));
}

std::string age_of(const meta::Time& from, WallTime now) {
  return is_zero(from) ? "<unknown>" : human_duration(now - to_wall(from));
}

std::string age_of(WallTime from, WallTime now) {
  return from == WallTime{} ? "<unknown>" : human_duration(now - from);
}

}  // namespace podwright::cli
