// A document of JSON or YAML as one small tree, parsed within bounds (bytes, depth, nodes, expansion of aliases). YAML
// scalars are resolved by the rules of YAML 1.1 as the reference reads them: `yes` is true, 0777 is octal, 1e3 is 1000.
// Duplicate keys are kept in order; the codec decides what they mean.
#pragma once

#include <absl/status/statusor.h>

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace podwright::api {

struct Member;

struct Node {
  enum class Kind { kNull, kBool, kNumber, kString, kList, kMap };

  Kind kind = Kind::kNull;
  // Of a scalar: "true", a number as JSON writes it, or the string.
  std::string text;
  int line = 0;  // from 1; 0 where it is not known
  std::vector<Node> items;
  std::vector<Member> members;

  Node();
  ~Node();
  Node(const Node&);
  Node(Node&&) noexcept;
  Node& operator=(const Node&);
  Node& operator=(Node&&) noexcept;

  bool is_map() const { return kind == Kind::kMap; }
  // The last member of that key; null where there is none.
  const Node* find(std::string_view key) const;
};

// A key and its value.
struct Member {
  std::string first;
  Node second;
};

// "a string", "a number", ...
std::string_view name_of(Node::Kind kind);

// All documents of a text; an empty one (only comments) is left out. JSON where the text begins with '{' or '[' and
// parses as such, YAML otherwise. InvalidArgument with line and cause; ResourceExhausted where a bound is exceeded.
absl::StatusOr<std::vector<Node>> parse_documents(std::string_view text);
// The first document alone, as the reference reads it.
absl::StatusOr<Node> parse_document(std::string_view text);
absl::StatusOr<std::vector<Node>> parse_yaml(std::string_view text);
absl::StatusOr<Node> parse_json(std::string_view text);

// JSON with keys in their order, or sorted (canonical).
std::string to_json(const Node& node, bool sorted = false);
// YAML, keys sorted.
std::string to_yaml(const Node& node);

// A JSON string literal, escaped as the reference does (<, >, & and the line separators too).
void append_json_string(std::string& out, std::string_view text);

// Replaces what is not UTF-8 by U+FFFD.
std::string valid_utf8(std::string_view text);

}  // namespace podwright::api
