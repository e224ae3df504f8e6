#include "api/quantity.h"

#include <doctest/doctest.h>

#include "api/amount.h"
#include "tests/api/vectors.h"

using namespace podwright;
using namespace podwright::api;

namespace {

// The token as a codec hands it on: without quotes and without white space around it.
std::string bare(std::string token) {
  if (token.size() >= 2 && token.front() == '"') token = token.substr(1, token.size() - 2);
  token.erase(0, token.find_first_not_of(' ') == std::string::npos ? 0 : token.find_first_not_of(' '));
  token.erase(token.find_last_not_of(' ') + 1);
  return token;
}

}  // namespace

TEST_CASE("quantities have the value and the canonical text that the reference gives them") {
  int checked = 0;
  for (const auto& row : vector_rows("quantity-vectors.tsv")) {
    if (row[0] == "null") continue;  // the codec's: a null is no text
    const std::string text = bare(row[0]);
    CAPTURE(row[0]);
    const auto canonical = canonical_quantity(text);
    CHECK(canonical.ok() == (row[1] == "ok"));
    CHECK(nanos_of(text).has_value() == (row[1] == "ok"));
    ++checked;
    if (row[1] != "ok" || !canonical.ok()) continue;
    CHECK(*canonical == row[3]);
    // An empty cell: beyond what the reference's 64 bits hold.
    if (!row[4].empty()) CHECK(std::to_string(units_of(text)) == row[4]);
    if (!row[5].empty()) CHECK(std::to_string(milli_of(text)) == row[5]);
  }
  CHECK(checked > 150);
}

TEST_CASE("a canonical text is its own canonical text, and has the same value") {
  for (const auto& row : vector_rows("quantity-vectors.tsv")) {
    if (row[1] != "ok" || row[0] == "null") continue;
    const auto once = canonical_quantity(bare(row[0]));
    REQUIRE(once.ok());
    CAPTURE(*once);
    const auto twice = canonical_quantity(*once);
    REQUIRE(twice.ok());
    CHECK(*twice == *once);
  }
}

TEST_CASE("absurd quantities end in an answer") {
  CHECK(canonical_quantity("1e999999999999999999999999").ok());
  CHECK(*canonical_quantity("1e-999999999999999999999999") == "1e-9");
  CHECK(canonical_quantity(std::string(100000, '9')).ok());
  CHECK(*canonical_quantity("-" + std::string(100000, '9') + "Ki") == "-9223372036854775807");
  CHECK_FALSE(canonical_quantity("").ok());
  CHECK_FALSE(canonical_quantity(std::string(100, '9') + "x").ok());
  CHECK_FALSE(canonical_quantity(std::string_view("1\0", 2)).ok());
}
