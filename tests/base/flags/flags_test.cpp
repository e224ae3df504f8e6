#include "base/flags/flags.h"

#include <doctest/doctest.h>

using namespace podwright;
using Strings = std::vector<std::string>;

namespace {

const std::vector<FlagSpec> kSpecs = {
    {.name = "config", .value_name = "FILE", .help = "The configuration.", .group = "Files"},
    {.name = "v", .letter = 'v', .value_name = "LEVEL", .help = "Verbosity.", .group = "Log"},
    {.name = "stdin", .letter = 'i', .yes_no = true},
    {.name = "tty", .letter = 't', .yes_no = true},
    {.name = "node-labels"},
};

}  // namespace

TEST_CASE("flags are read in every form that pflag knows") {
  struct Row {
    Strings args;
    std::vector<std::pair<std::string, std::string>> given;
    Strings words;
  };
  const std::vector<Row> rows = {
      {{"--config=a"}, {{"config", "a"}}, {}},
      {{"--config", "a"}, {{"config", "a"}}, {}},
      {{"--config="}, {{"config", ""}}, {}},
      {{"--config=", "word"}, {{"config", ""}}, {"word"}},
      {{"--config=a=b"}, {{"config", "a=b"}}, {}},
      {{"-v4"}, {{"v", "4"}}, {}},
      {{"-v", "4"}, {{"v", "4"}}, {}},
      {{"-v=4"}, {{"v", "4"}}, {}},
      {{"--v=4"}, {{"v", "4"}}, {}},
      {{"-it"}, {{"stdin", "true"}, {"tty", "true"}}, {}},
      {{"--tty", "false"}, {{"tty", "true"}}, {"false"}},
      {{"--tty=false"}, {{"tty", "false"}}, {}},
      {{"--node_labels", "a=b"}, {{"node-labels", "a=b"}}, {}},
      {{"one", "-t", "two", "-"}, {{"tty", "true"}}, {"one", "two", "-"}},
  };

  for (const Row& row : rows) {
    const auto parsed = parse_flags(kSpecs, row.args);
    REQUIRE(parsed.ok());
    CHECK(parsed->given == row.given);
    CHECK(parsed->words == row.words);
  }
}

TEST_CASE("what stands after -- is not read") {
  const auto parsed = parse_flags(kSpecs, {"exec", "pod", "--", "ls", "-v"});

  REQUIRE(parsed.ok());
  CHECK(parsed->words == Strings{"exec", "pod"});
  CHECK(parsed->has_rest);
  CHECK(parsed->rest == Strings{"ls", "-v"});
}

TEST_CASE("a subcommand ends the flags in front of it where that is asked for") {
  const auto parsed = parse_flags(kSpecs, {"-v", "2", "get", "--wide"}, {.stop_at_first_word = true});

  REQUIRE(parsed.ok());
  CHECK(parsed->value("v") == "2");
  CHECK(parsed->words == Strings{"get", "--wide"});
}

TEST_CASE("all that is wrong is told at once, an unknown flag with the nearest name") {
  const auto parsed = parse_flags(kSpecs, {"--confg", "x", "--tty=maybe", "-q", "--nothing-like-it", "--config"});

  CHECK(parsed.status().message() ==
        "unknown flag: --confg (did you mean --config?)\n--tty: must be true or false, got \"maybe\"\n"
        "unknown flag: -q\nunknown flag: --nothing-like-it\nflag needs a value: --config");
}

TEST_CASE("the help stands in groups and leaves out flags without a text") {
  CHECK(flags_help(kSpecs) ==
        "Files:\n      --config FILE             The configuration.\n\nLog:\n  -v LEVEL                      "
        "Verbosity.\n");
}
