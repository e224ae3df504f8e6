// How the parts of the validation say what they found: where (Path) and what (Report). Internal to api/validation.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "api/validation.h"

namespace podwright::api {

// The place of a field: Path("spec") / "containers", then [0].
class Path {
 public:
  explicit Path(std::string text) : text_(std::move(text)) {}
  Path operator/(std::string_view child) const {
    return Path(text_.empty() ? std::string(child) : text_ + "." + std::string(child));
  }
  Path operator[](int index) const { return Path(text_ + "[" + std::to_string(index) + "]"); }
  // An entry of a map.
  Path at(std::string_view key) const { return Path(text_ + "[" + std::string(key) + "]"); }
  const std::string& text() const { return text_; }

 private:
  std::string text_;
};

// What is wrong with a name or another text; empty: nothing is.
using Faults = std::vector<std::string>;

// Collects the errors, in the form of apimachinery pkg/util/validation/field.
class Report {
 public:
  void required(const Path& path, std::string_view detail = "");
  void invalid(const Path& path, std::string_view value, std::string_view detail);
  void invalid(const Path& path, int64_t value, std::string_view detail);
  void duplicate(const Path& path, std::string_view value);
  void not_found(const Path& path, std::string_view value);
  void forbidden(const Path& path, std::string_view detail);
  void too_long(const Path& path, std::size_t most_bytes);
  void too_many(const Path& path, int count, int most);

  // One `invalid` for each fault.
  void faults(const Path& path, std::string_view value, const Faults& faults);
  // The same; an empty value is `required` instead.
  void name(const Path& path, std::string_view value, Faults (*faults_of)(std::string_view));
  // `unsupported` unless the value is one of those; `required` where it is empty and "" is none of them.
  void one_of(const Path& path, std::string_view value, const std::vector<std::string_view>& supported);
  void not_negative(const Path& path, int64_t value);
  // Ids of users and groups. Source: apimachinery IsValidUserID, 31 bits.
  void id(const Path& path, int64_t value);
  void port(const Path& path, int64_t value);

  std::vector<FieldError> take() { return std::move(errors_); }

 private:
  void add(const Path& path, std::string_view what, std::string_view detail);

  std::vector<FieldError> errors_;
};

}  // namespace podwright::api
