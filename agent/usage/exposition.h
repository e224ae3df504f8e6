// Writes metrics as text (Prometheus exposition 0.0.4), family by family, straight from a snapshot: some ninety series
// for each container are not kept anywhere. See base/metrics for what is counted in the agent itself.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/time/time.h"

namespace podwright::usage {

// A label set as text, made once for many samples: `a="1",b="2"`.
std::string labels_text(const std::vector<std::pair<std::string_view, std::string_view>>& labels);

class Exposition {
 public:
  enum class Type { kCounter, kGauge };

  // All samples that follow belong to it; it is written with its first one.
  void family(std::string_view name, Type type, std::string_view help);
  // `labels` and `more` are texts of labels_text(), either may be empty. A zero time writes none.
  void sample(std::string_view labels, std::string_view more, double value, WallTime time = {});

  std::string take() && { return std::move(text_); }

 private:
  std::string text_;
  std::string name_;
  std::string head_;  // of the family; empty once written
};

}  // namespace podwright::usage
