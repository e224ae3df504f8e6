// Tables and ages in kubectl's manner. Pure.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "api/types.h"
#include "base/time/time.h"

namespace podwright::cli {

// Columns padded to their widest cell and three spaces; the last one is not padded.
class Table {
 public:
  explicit Table(std::vector<std::string> header) { rows_.push_back(std::move(header)); }
  void add(std::vector<std::string> row) { rows_.push_back(std::move(row)); }
  bool has_rows() const { return rows_.size() > 1; }
  std::string text(bool with_header = true) const;

  // For a table that grows while it is watched: no column becomes narrower than this row set made it.
  void keep_widths(std::vector<std::size_t>& widths) const;
  std::string text(bool with_header, const std::vector<std::size_t>& widths) const;

 private:
  std::vector<std::vector<std::string>> rows_;
};

// "5s", "2m10s", "3h", "4d1h". Source: k8s.io/apimachinery/pkg/util/duration, HumanDuration.
std::string human_duration(Duration age);
// The age of `from` at `now`; "<unknown>" for a time that is not set.
std::string age_of(const meta::Time& from, WallTime now);
std::string age_of(WallTime from, WallTime now);
bool is_zero(const meta::Time& time);
WallTime to_wall(const meta::Time& time);

}  // namespace podwright::cli
