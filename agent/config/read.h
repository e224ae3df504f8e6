// From the merged documents to a Config, and the rules its values must keep.
#pragma once

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "agent/config/config.h"
#include "agent/config/flags.h"
#include "agent/config/load.h"
#include "podwright/config.pb.h"

namespace podwright::config {

// Collects what is wrong: "field: must be ..., got ...".
class Problems {
 public:
  explicit Problems(std::vector<std::string>* into) : into_(into) {}

  template <class... Args>
  void add(std::string_view field, fmt::format_string<Args...> text, Args&&... args) {
    into_->push_back(fmt::format("{}: {}", field, fmt::format(text, std::forward<Args>(args)...)));
  }

  // The value; `low`, with a problem, where it is outside.
  int64_t in_range(std::string_view field, int64_t value, int64_t low, int64_t high);
  void one_of(std::string_view field, const std::string& value, const Strings& allowed);
  void ip(std::string_view field, const std::string& value);
  // Amounts of resources, none below 0.
  void quantities(std::string_view field, const StringMap& values);

 private:
  std::vector<std::string>* into_;
};

// Copies every field, checking each by itself.
void read_kubelet(const KubeletConfiguration& from, Config* config, Problems& problems);
void read_podwright(const PodwrightConfiguration& from, Config* config, Problems& problems);
// The flags that mirror no field.
void read_own_flags(const ParsedFlags& flags, const Host& host, Config* config, Problems& problems);

// What concerns several fields, or the host. Source: pkg/kubelet/apis/config/validation, release 1.36.
void check_together(const KubeletConfiguration& from, const Config& config, Problems& problems);

// One line for each field that is set, differs from the default and has no effect in this release. `said` is what files
// and flags say.
std::vector<std::string> without_effect(const nlohmann::json& said, const Config& config);

}  // namespace podwright::config
