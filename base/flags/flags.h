// The command line as Kubernetes' programs read it (the grammar of Go's pflag): --name=value, --name value, -n value,
// -nvalue, -n=value; a yes/no flag is --name or --name=false and never takes the next word; flags and words mix; --
// ends the flags. CLI11 reads some of these otherwise (--name= takes the next word), and a node's existing command
// lines must mean the same here.
#pragma once

#include <absl/status/statusor.h>

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace podwright {

struct FlagSpec {
  std::string name;  // without the dashes
  char letter = 0;   // 0: none
  bool yes_no = false;
  std::string value_name;  // in the help: "FILE"
  std::string help;        // empty: not shown
  std::string group;       // the heading it stands under in the help
};

struct ParsedFlags {
  // In the order given; a yes/no flag without a value has "true".
  std::vector<std::pair<std::string, std::string>> given;
  std::vector<std::string> words;
  // What came after --, and whether it was there.
  std::vector<std::string> rest;
  bool has_rest = false;

  bool has(std::string_view name) const;
  // The last value given.
  std::optional<std::string> value(std::string_view name) const;
  std::vector<std::string> values(std::string_view name) const;
  // A yes/no flag's; false where it was not given. `text` must have been accepted by parse_flags.
  bool is_set(std::string_view name) const;
};

struct ParseFlagsOptions {
  // Everything from the first word on is words: for a subcommand and what follows it.
  bool stop_at_first_word = false;
};

// Underscores in a name count as dashes, as the kubelet's do. InvalidArgument tells all that is wrong, one line each,
// with the nearest known name for an unknown flag.
absl::StatusOr<ParsedFlags> parse_flags(const std::vector<FlagSpec>& specs, const std::vector<std::string>& args,
                                        ParseFlagsOptions options = {});

// Go's strconv.ParseBool: 1, t, T, TRUE, true, True and their opposites.
std::optional<bool> parse_bool(std::string_view text);

// The flags with a help text, by group in the order of their first appearance, wrapped at 100 columns.
std::string flags_help(const std::vector<FlagSpec>& specs);

// The known name that differs from `name` by the fewest edits, at most a third of its length; empty: none is near.
std::string nearest_name(std::string_view name, const std::vector<std::string>& known);

}  // namespace podwright
