#include "api/validation_report.h"

#include <algorithm>
#include <limits>

namespace podwright::api {
namespace {

std::string quoted(std::string_view text) {
  return fmt::format("{:?}", text);
}

}  // namespace

void Report::add(const Path& path, std::string_view what, std::string_view detail) {
  errors_.push_back({path.text(), detail.empty() ? std::string(what) : fmt::format("{}: {}", what, detail)});
}

void Report::required(const Path& path, std::string_view detail) {
  add(path, "Required value", detail);
}
void Report::invalid(const Path& path, std::string_view value, std::string_view detail) {
  add(path, "Invalid value: " + quoted(value), detail);
}
void Report::invalid(const Path& path, int64_t value, std::string_view detail) {
  add(path, fmt::format("Invalid value: {}", value), detail);
}
void Report::duplicate(const Path& path, std::string_view value) {
  add(path, "Duplicate value: " + quoted(value), "");
}
void Report::not_found(const Path& path, std::string_view value) {
  add(path, "Not found: " + quoted(value), "");
}
void Report::forbidden(const Path& path, std::string_view detail) {
  add(path, "Forbidden", detail);
}
void Report::too_long(const Path& path, std::size_t most_bytes) {
  add(path, "Too long", fmt::format("may not be more than {} bytes", most_bytes));
}
void Report::too_many(const Path& path, int count, int most) {
  add(path, fmt::format("Too many: {}", count), fmt::format("must have at most {} items", most));
}

void Report::faults(const Path& path, std::string_view value, const Faults& faults) {
  for (const auto& fault : faults) invalid(path, value, fault);
}

void Report::name(const Path& path, std::string_view value, Faults (*faults_of)(std::string_view)) {
  if (value.empty()) return required(path);
  faults(path, value, faults_of(value));
}

void Report::one_of(const Path& path, std::string_view value, const std::vector<std::string_view>& supported) {
  if (std::find(supported.begin(), supported.end(), value) != supported.end()) return;
  if (value.empty()) return required(path);
  std::string list;
  for (const auto& one : supported) list += (list.empty() ? "" : ", ") + quoted(one);
  add(path, "Unsupported value: " + quoted(value), "supported values: " + list);
}

void Report::not_negative(const Path& path, int64_t value) {
  if (value < 0) invalid(path, value, "must be greater than or equal to 0");
}

void Report::id(const Path& path, int64_t value) {
  if (value < 0 || value > std::numeric_limits<int32_t>::max()) {
    invalid(path, value, "must be between 0 and 2147483647, inclusive");
  }
}

void Report::port(const Path& path, int64_t value) {
  if (value < 1 || value > 65535) invalid(path, value, "must be between 1 and 65535, inclusive");
}

}  // namespace podwright::api
