#include "agent/config/flags.h"

#include <absl/strings/numbers.h>
#include <absl/strings/str_join.h>
#include <absl/strings/str_split.h>
#include <fmt/format.h>

#include <nlohmann/json.hpp>

namespace podwright::config {
namespace {

using Json = nlohmann::json;

// Turns the flags that mirror a field into a patch; what is wrong is collected.
class Patch {
 public:
  void apply(const AgentFlag& flag, const std::vector<std::string>& values) {
    flag_ = "--" + flag.spec.name;
    const std::string& last = values.back();
    switch (flag.form) {
      case FlagForm::kOwn: return;
      case FlagForm::kYesNo: return put(flag.path, *parse_bool(last));
      case FlagForm::kText: return put(flag.path, last);
      case FlagForm::kInteger: return integer(flag.path, last);
      case FlagForm::kDuration:
        if (!parse_duration(last)) return wrong(fmt::format("must be a duration such as 1m30s, got \"{}\"", last));
        return put(flag.path, last);
      case FlagForm::kList: return list(flag.path, values);
      case FlagForm::kMap: return map(flag.path, values, '=');
      case FlagForm::kThresholds: return map(flag.path, values, '<');
      case FlagForm::kTaints: return taints(flag.path, values);
      case FlagForm::kReservedMemory: return reserved_memory(flag.path, values);
      case FlagForm::kHeaders: return headers(flag.path, values);
      case FlagForm::kGates: return gates(flag.path, values);
      case FlagForm::kVmodule: return vmodule(flag.path, values);
    }
  }

  AgentFlags finish(ParsedFlags parsed) {
    return {std::move(parsed), patch_.dump(-1, ' ', false, Json::error_handler_t::replace), std::move(replaced_)};
  }
  const std::vector<std::string>& problems() const { return problems_; }

 private:
  void wrong(const std::string& what) { problems_.push_back(fmt::format("{}: {}", flag_, what)); }

  void put(const std::string& path, Json value) {
    Json* at = &patch_;
    for (const absl::string_view key : absl::StrSplit(path, '.')) at = &(*at)[std::string(key)];
    *at = std::move(value);
  }

  void integer(const std::string& path, const std::string& text) {
    int64_t number = 0;
    if (!absl::SimpleAtoi(text, &number)) return wrong(fmt::format("must be a whole number, got \"{}\"", text));
    put(path, number);
  }

  static std::vector<std::string> items(const std::vector<std::string>& values, char by) {
    std::vector<std::string> all;
    for (const std::string& value : values) {
      for (const absl::string_view item : absl::StrSplit(value, by, absl::SkipEmpty())) all.emplace_back(item);
    }
    return all;
  }

  void list(const std::string& path, const std::vector<std::string>& values) {
    Json all = Json::array();
    for (std::string& item : items(values, ',')) all.push_back(std::move(item));
    put(path, std::move(all));
  }

  // Splits "key<by>value"; nothing, and told, where there is no such character.
  std::optional<std::pair<std::string, std::string>> pair(const std::string& item, char by) {
    const auto at = item.find(by);
    if (at == std::string::npos || at == 0) {
      wrong(fmt::format("must be a list of key{}value, got \"{}\"", by, item));
      return std::nullopt;
    }
    const auto trim = [](std::string_view text) {
      while (text.starts_with(' ')) text.remove_prefix(1);
      while (text.ends_with(' ')) text.remove_suffix(1);
      return std::string(text);
    };
    return std::pair(trim(std::string_view(item).substr(0, at)), trim(std::string_view(item).substr(at + 1)));
  }

  void map(const std::string& path, const std::vector<std::string>& values, char by) {
    Json all = Json::object();
    for (const std::string& item : items(values, ',')) {
      if (auto entry = pair(item, by)) all[entry->first] = entry->second;
    }
    replaced_.push_back(path);
    put(path, std::move(all));
  }

  void gates(const std::string& path, const std::vector<std::string>& values) {
    Json all = Json::object();
    for (const std::string& item : items(values, ',')) {
      const auto entry = pair(item, '=');
      if (!entry) continue;
      const auto on = parse_bool(entry->second);
      if (!on) {
        wrong(fmt::format("{} must be true or false, got \"{}\"", entry->first, entry->second));
        continue;
      }
      all[entry->first] = *on;
    }
    put(path, std::move(all));
  }

  void taints(const std::string& path, const std::vector<std::string>& values) {
    Json all = Json::array();
    for (const std::string& item : items(values, ',')) {
      const auto colon = item.rfind(':');
      if (colon == std::string::npos || colon == 0) {
        wrong(fmt::format("must be a list of key=value:Effect, got \"{}\"", item));
        continue;
      }
      const std::string left = item.substr(0, colon);
      const auto equals = left.find('=');
      Json taint = {{"key", left.substr(0, equals)}, {"effect", item.substr(colon + 1)}};
      if (equals != std::string::npos) taint["value"] = left.substr(equals + 1);
      all.push_back(std::move(taint));
    }
    put(path, std::move(all));
  }

  void reserved_memory(const std::string& path, const std::vector<std::string>& values) {
    Json all = Json::array();
    for (const std::string& node : items(values, ';')) {
      const auto colon = node.find(':');
      int32_t number = 0;
      if (colon == std::string::npos || !absl::SimpleAtoi(node.substr(0, colon), &number)) {
        wrong(fmt::format("must be NODE:memory=AMOUNT,..., got \"{}\"", node));
        continue;
      }
      Json limits = Json::object();
      for (const std::string& item : items({node.substr(colon + 1)}, ',')) {
        if (auto entry = pair(item, '=')) limits[entry->first] = entry->second;
      }
      all.push_back({{"numaNode", number}, {"limits", std::move(limits)}});
    }
    put(path, std::move(all));
  }

  void headers(const std::string& path, const std::vector<std::string>& values) {
    Json all = Json::object();
    for (const std::string& item : items(values, ',')) {
      if (auto entry = pair(item, ':')) all[entry->first].push_back(entry->second);
    }
    replaced_.push_back(path);
    put(path, std::move(all));
  }

  void vmodule(const std::string& path, const std::vector<std::string>& values) {
    Json all = Json::array();
    for (const std::string& item : items(values, ',')) {
      const auto entry = pair(item, '=');
      int32_t level = 0;
      if (!entry) continue;
      if (!absl::SimpleAtoi(entry->second, &level)) {
        wrong(fmt::format("{} needs a level, got \"{}\"", entry->first, entry->second));
        continue;
      }
      all.push_back({{"filePattern", entry->first}, {"verbosity", level}});
    }
    put(path, std::move(all));
  }

  std::string flag_;
  Json patch_ = Json::object();
  std::vector<std::string> replaced_;
  std::vector<std::string> problems_;
};

// --version alone or with a value (raw) is upstream's; as a yes/no flag it would refuse "raw".
std::vector<std::string> plain_version(std::vector<std::string> args) {
  for (std::string& arg : args) {
    if (arg == "--version=raw") arg = "--version";
  }
  return args;
}

}  // namespace

absl::StatusOr<AgentFlags> read_agent_flags(const std::vector<std::string>& args) {
  std::vector<FlagSpec> specs;
  for (const AgentFlag& flag : agent_flags()) specs.push_back(flag.spec);
  auto parsed = parse_flags(specs, plain_version(args));
  if (!parsed.ok()) return parsed.status();

  Patch patch;
  for (const AgentFlag& flag : agent_flags()) {
    const std::vector<std::string> values = parsed->values(flag.spec.name);
    if (!values.empty()) patch.apply(flag, values);
  }
  std::vector<std::string> problems = patch.problems();
  for (const std::string& word : parsed->words) problems.push_back(fmt::format("unknown command: {}", word));
  for (const std::string& word : parsed->rest) problems.push_back(fmt::format("unknown command: {}", word));
  if (!problems.empty()) return absl::InvalidArgumentError(absl::StrJoin(problems, "\n"));
  return patch.finish(*std::move(parsed));
}

std::string agent_help() {
  std::vector<FlagSpec> specs;
  for (const AgentFlag& flag : agent_flags()) specs.push_back(flag.spec);
  return flags_help(specs) +
         "\nEvery other flag of the kubelet that mirrors a field of its configuration file is accepted and wins over\n"
         "the file (--max-pods, --eviction-hard ...). podwright.yaml(5) lists the fields.\n";
}

std::optional<Duration> parse_duration(std::string_view text) {
  const bool negative = text.starts_with('-');
  if (negative || text.starts_with('+')) text.remove_prefix(1);
  if (text == "0") return Duration(0);
  if (text.empty()) return std::nullopt;
  __int128 total = 0;
  while (!text.empty()) {
    // The number as whole and fraction, both exact.
    __int128 whole = 0, fraction = 0, scale = 1;
    std::size_t digits = 0, at = 0;
    for (bool behind_point = false; at < text.size(); ++at) {
      const char c = text[at];
      if (c == '.' && !behind_point) {
        behind_point = true;
      } else if (c >= '0' && c <= '9') {
        ++digits;
        if (!behind_point) {
          whole = std::min<__int128>(whole * 10 + (c - '0'), __int128{1} << 80);
        } else if (scale < 1'000'000'000'000'000'000) {
          fraction = fraction * 10 + (c - '0');
          scale *= 10;
        }
      } else {
        break;
      }
    }
    if (digits == 0) return std::nullopt;
    text.remove_prefix(at);
    int64_t unit = 0;
    for (const auto& [name, ns] : {std::pair<std::string_view, int64_t>{"ns", 1},
                                   {"us", 1'000},
                                   {"\u00b5s", 1'000},
                                   {"\u03bcs", 1'000},
                                   {"ms", 1'000'000},
                                   {"s", 1'000'000'000},
                                   {"m", 60'000'000'000},
                                   {"h", 3'600'000'000'000}}) {
      if (!text.starts_with(name)) continue;
      unit = ns;
      text.remove_prefix(name.size());
      break;
    }
    if (unit == 0) return std::nullopt;
    total += whole * unit + fraction * unit / scale;
    if (total > std::numeric_limits<int64_t>::max()) return std::nullopt;
  }
  return Duration(static_cast<int64_t>(negative ? -total : total));
}

}  // namespace podwright::config
