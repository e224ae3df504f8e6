#include "agent/usage/exposition.h"

#include <fmt/format.h>

#include <cmath>
#include <iterator>

namespace podwright::usage {
namespace {

void append_escaped(std::string_view value, std::string& into) {
  for (const char c : value) {
    if (c == '\\' || c == '"') into += '\\';
    if (c == '\n') {
      into += "\\n";
    } else {
      into += c;
    }
  }
}

}  // namespace

std::string labels_text(const std::vector<std::pair<std::string_view, std::string_view>>& labels) {
  std::string text;
  for (const auto& [name, value] : labels) {
    if (!text.empty()) text += ',';
    text += name;
    text += "=\"";
    append_escaped(value, text);
    text += '"';
  }
  return text;
}

void Exposition::family(std::string_view name, Type type, std::string_view help) {
  name_ = name;
  head_ = fmt::format("# HELP {0} {1}\n# TYPE {0} {2}\n", name, help, type == Type::kCounter ? "counter" : "gauge");
}

void Exposition::sample(std::string_view labels, std::string_view more, double value, WallTime time) {
  text_ += head_;
  head_.clear();
  text_ += name_;
  if (!labels.empty() || !more.empty()) {
    text_ += '{';
    text_ += labels;
    if (!labels.empty() && !more.empty()) text_ += ',';
    text_ += more;
    text_ += '}';
  }
  if (std::isinf(value)) {
    text_ += value > 0 ? " +Inf" : " -Inf";
  } else {
    fmt::format_to(std::back_inserter(text_), " {}", value);
  }
  if (time != WallTime()) {
    const auto ms = std::chrono::duration_cast<std::chrono::milliseconds>(time.time_since_epoch()).count();
    fmt::format_to(std::back_inserter(text_), " {}", ms);
  }
  text_ += '\n';
}

}  // namespace podwright::usage
