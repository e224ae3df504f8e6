#include "api/document.h"

#include <doctest/doctest.h>

#include "base/limits.h"
#include "tests/api/vectors.h"

using namespace podwright;
using namespace podwright::api;

TEST_CASE("YAML is read as the reference reads it") {
  const auto rows = vector_rows("yaml-vectors.tsv");
  REQUIRE(rows.size() > 50);
  for (const auto& row : rows) {
    CAPTURE(row[0]);
    const auto parsed = parse_document(with_breaks(row[0]));
    if (row[1] == "error") {
      CHECK_FALSE(parsed.ok());
      continue;
    }
    REQUIRE(parsed.ok());
    CHECK(to_json(*parsed, true) == row[2]);
  }
}

TEST_CASE("several documents of one text are all given") {
  const auto parsed = parse_documents("a: 1\n---\n# nothing\n---\nb: 2\n");
  REQUIRE(parsed.ok());
  REQUIRE(parsed->size() == 2);
  CHECK(to_json((*parsed)[1]) == "{\"b\":2}");
}

TEST_CASE("an error names its line") {
  const auto parsed = parse_documents("a: 1\nb: [1, 2\nc: 3\n");
  REQUIRE_FALSE(parsed.ok());
  CHECK(std::string(parsed.status().message()).find("line ") == 0);
}

TEST_CASE("what exceeds a bound is refused, not expanded") {
  std::string bomb = "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n";
  for (int i = 1; i < 10; ++i) {
    bomb +=
        fmt::format("a{0}: &a{0} [*a{1}, *a{1}, *a{1}, *a{1}, *a{1}, *a{1}, *a{1}, *a{1}, *a{1}, *a{1}]\n", i, i - 1);
  }
  CHECK(parse_documents(bomb).status().code() == absl::StatusCode::kResourceExhausted);

  const std::string deep(static_cast<std::size_t>(limits::kDocumentDepth) + 1, '[');
  CHECK_FALSE(parse_documents(deep).ok());
  CHECK_FALSE(parse_documents("x: " + deep).ok());

  std::string many;
  for (std::size_t i = 0; i <= limits::kDocuments; ++i) many += "---\na: 1\n";
  CHECK(parse_documents(many).status().code() == absl::StatusCode::kResourceExhausted);

  std::string wide = "[";
  for (std::size_t i = 0; i < limits::kDocumentNodes; ++i) wide += "1,";
  CHECK(parse_json(wide + "1]").status().code() == absl::StatusCode::kResourceExhausted);

  CHECK(parse_documents(std::string(limits::kDocumentBytes + 1, ' ')).status().code() ==
        absl::StatusCode::kResourceExhausted);
}

TEST_CASE("an alias to itself is an error") {
  CHECK_FALSE(parse_documents("a: &x [*x]\n").ok());
}

TEST_CASE("binary input is an error or a string, never a crash") {
  for (int seed = 0; seed < 200; ++seed) {
    std::string bytes;
    uint32_t state = static_cast<uint32_t>(seed) * 2654435761U + 1;
    for (int i = 0; i < 64; ++i) {
      state = state * 1664525U + 1013904223U;
      bytes += static_cast<char>(state >> 24);
    }
    (void)parse_documents(bytes);
  }
}

TEST_CASE("written YAML reads back as the same document") {
  const auto parsed = parse_document(
      R"({"a":"yes","b":"1","c":["x",{"d":"e: f"},[],{}],"g":{},"h":null,"i":1.5,"j":"multi\nline","k":"2001-01-01","l":""})");
  REQUIRE(parsed.ok());
  const auto again = parse_document(to_yaml(*parsed));
  REQUIRE(again.ok());
  CHECK(to_json(*again, true) == to_json(*parsed, true));
}
