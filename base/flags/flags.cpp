#include "base/flags/flags.h"

#include <absl/strings/str_join.h>
#include <fmt/format.h>

#include <algorithm>

namespace podwright {
namespace {

const FlagSpec* find_name(const std::vector<FlagSpec>& specs, std::string_view name) {
  for (const FlagSpec& spec : specs) {
    if (spec.name == name) return &spec;
  }
  return nullptr;
}

const FlagSpec* find_letter(const std::vector<FlagSpec>& specs, char letter) {
  for (const FlagSpec& spec : specs) {
    if (spec.letter == letter) return &spec;
  }
  return nullptr;
}

// One pass over the arguments; what is wrong is collected.
class Reader {
 public:
  Reader(const std::vector<FlagSpec>& specs, const std::vector<std::string>& args) : specs_(specs), args_(args) {}

  absl::StatusOr<ParsedFlags> read(ParseFlagsOptions options) {
    for (; at_ < args_.size(); ++at_) {
      const std::string& arg = args_[at_];
      if (arg == "--") {
        found_.has_rest = true;
        found_.rest.assign(args_.begin() + static_cast<std::ptrdiff_t>(at_) + 1, args_.end());
        break;
      }
      if (arg.starts_with("--")) {
        long_flag(arg.substr(2));
      } else if (arg.size() > 1 && arg[0] == '-') {
        letters(arg.substr(1));
      } else if (options.stop_at_first_word) {
        found_.words.assign(args_.begin() + static_cast<std::ptrdiff_t>(at_), args_.end());
        break;
      } else {
        found_.words.push_back(arg);
      }
    }
    if (!problems_.empty()) return absl::InvalidArgumentError(absl::StrJoin(problems_, "\n"));
    return std::move(found_);
  }

 private:
  void long_flag(const std::string& text) {
    const auto equals = text.find('=');
    std::string name = text.substr(0, equals);
    std::replace(name.begin(), name.end(), '_', '-');
    const FlagSpec* spec = find_name(specs_, name);
    if (spec == nullptr) {
      std::vector<std::string> known;
      for (const FlagSpec& each : specs_) known.push_back(each.name);
      const std::string near = nearest_name(name, known);
      problems_.push_back(near.empty() ? fmt::format("unknown flag: --{}", name)
                                       : fmt::format("unknown flag: --{} (did you mean --{}?)", name, near));
      // What follows is taken as its value unless it looks like a flag, so that one mistake is told once.
      if (equals == std::string::npos && at_ + 1 < args_.size() && !args_[at_ + 1].starts_with("-")) ++at_;
      return;
    }
    if (equals != std::string::npos) return keep(*spec, "--" + name, text.substr(equals + 1));
    take_value(*spec, "--" + name);
  }

  // -v4, -v 4, -v=4, -it: several yes/no letters, or one with its value behind it.
  void letters(const std::string& text) {
    for (std::size_t i = 0; i < text.size(); ++i) {
      const std::string shown = std::string("-") + text[i];
      const FlagSpec* spec = find_letter(specs_, text[i]);
      if (spec == nullptr) {
        problems_.push_back(fmt::format("unknown flag: {}", shown));
        return;
      }
      if (i + 1 < text.size() && text[i + 1] == '=') return keep(*spec, shown, text.substr(i + 2));
      if (spec->yes_no) {
        keep(*spec, shown, "true");
        continue;
      }
      if (i + 1 < text.size()) return keep(*spec, shown, text.substr(i + 1));
      return take_value(*spec, shown);
    }
  }

  void take_value(const FlagSpec& spec, const std::string& shown) {
    if (spec.yes_no) return keep(spec, shown, "true");
    if (at_ + 1 >= args_.size()) {
      problems_.push_back(fmt::format("flag needs a value: {}", shown));
      return;
    }
    keep(spec, shown, args_[++at_]);
  }

  void keep(const FlagSpec& spec, const std::string& shown, std::string value) {
    if (spec.yes_no && !parse_bool(value)) {
      problems_.push_back(fmt::format("{}: must be true or false, got \"{}\"", shown, value));
      return;
    }
    found_.given.emplace_back(spec.name, std::move(value));
  }

  const std::vector<FlagSpec>& specs_;
  const std::vector<std::string>& args_;
  std::size_t at_ = 0;
  ParsedFlags found_;
  std::vector<std::string> problems_;
};

std::size_t edits(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) row[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    std::size_t diagonal = row[0];
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t above = row[j];
      row[j] = std::min({row[j] + 1, row[j - 1] + 1, diagonal + (a[i - 1] == b[j - 1] ? 0 : 1)});
      diagonal = above;
    }
  }
  return row[b.size()];
}

}  // namespace

bool ParsedFlags::has(std::string_view name) const {
  return value(name).has_value();
}

std::optional<std::string> ParsedFlags::value(std::string_view name) const {
  for (auto it = given.rbegin(); it != given.rend(); ++it) {
    if (it->first == name) return it->second;
  }
  return std::nullopt;
}

std::vector<std::string> ParsedFlags::values(std::string_view name) const {
  std::vector<std::string> all;
  for (const auto& [each, value] : given) {
    if (each == name) all.push_back(value);
  }
  return all;
}

bool ParsedFlags::is_set(std::string_view name) const {
  const auto text = value(name);
  return text && parse_bool(*text).value_or(false);
}

absl::StatusOr<ParsedFlags> parse_flags(const std::vector<FlagSpec>& specs, const std::vector<std::string>& args,
                                        ParseFlagsOptions options) {
  return Reader(specs, args).read(options);
}

std::optional<bool> parse_bool(std::string_view text) {
  for (const char* yes : {"1", "t", "T", "TRUE", "true", "True"}) {
    if (text == yes) return true;
  }
  for (const char* no : {"0", "f", "F", "FALSE", "false", "False"}) {
    if (text == no) return false;
  }
  return std::nullopt;
}

std::string flags_help(const std::vector<FlagSpec>& specs) {
  constexpr std::size_t kColumn = 32, kWidth = 100;
  std::vector<std::string> groups;
  for (const FlagSpec& spec : specs) {
    if (!spec.help.empty() && std::find(groups.begin(), groups.end(), spec.group) == groups.end()) {
      groups.push_back(spec.group);
    }
  }
  std::string out;
  for (const std::string& group : groups) {
    out += fmt::format("{}{}:\n", out.empty() ? "" : "\n", group);
    for (const FlagSpec& spec : specs) {
      if (spec.help.empty() || spec.group != group) continue;
      std::string left = spec.letter != 0 ? fmt::format("  -{}", spec.letter) : "     ";
      if (spec.name.size() > 1) left += fmt::format("{}--{}", spec.letter != 0 ? ", " : " ", spec.name);
      if (!spec.value_name.empty()) left += " " + spec.value_name;
      std::string line = fmt::format("{:<{}}", left, kColumn);
      if (left.size() >= kColumn) line = left + "\n" + std::string(kColumn, ' ');
      std::size_t used = kColumn;
      for (std::string_view rest = spec.help; !rest.empty();) {
        const auto space = rest.find(' ');
        const std::string_view word = rest.substr(0, space);
        if (used > kColumn && used + 1 + word.size() > kWidth) {
          line += "\n" + std::string(kColumn, ' ');
          used = kColumn;
        }
        if (used > kColumn) line += ' ', ++used;
        line += word;
        used += word.size();
        rest = space == std::string_view::npos ? std::string_view() : rest.substr(space + 1);
      }
      out += line + "\n";
    }
  }
  return out;
}

std::string nearest_name(std::string_view name, const std::vector<std::string>& known) {
  std::string best;
  std::size_t fewest = name.size() / 3 + 1;
  for (const std::string& each : known) {
    const std::size_t n = edits(name, each);
    if (n < fewest) {
      fewest = n;
      best = each;
    }
  }
  return best;
}

}  // namespace podwright
