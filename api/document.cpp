#include "api/document.h"

#include <algorithm>
#include <cstdlib>

#include "api/yaml_scalar.h"
#include "base/limits.h"
#include "base/status/annotate.h"

namespace podwright::api {

Node::Node() = default;
Node::~Node() = default;
Node::Node(const Node&) = default;
Node::Node(Node&&) noexcept = default;
Node& Node::operator=(const Node&) = default;
Node& Node::operator=(Node&&) noexcept = default;

const Node* Node::find(std::string_view key) const {
  for (auto member = members.rbegin(); member != members.rend(); ++member) {
    if (member->first == key) return &member->second;
  }
  return nullptr;
}

std::string_view name_of(Node::Kind kind) {
  switch (kind) {
    case Node::Kind::kNull: return "null";
    case Node::Kind::kBool: return "a boolean";
    case Node::Kind::kNumber: return "a number";
    case Node::Kind::kString: return "a string";
    case Node::Kind::kList: return "a list";
    case Node::Kind::kMap: return "an object";
  }
  std::abort();  // not one of the enumerators: memory is broken
}

std::string valid_utf8(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  for (std::size_t i = 0; i < text.size();) {
    const auto c = static_cast<unsigned char>(text[i]);
    std::size_t length = c < 0x80                ? 1
                         : c >= 0xC2 && c < 0xE0 ? 2
                         : c >= 0xE0 && c < 0xF0 ? 3
                         : c >= 0xF0 && c < 0xF5 ? 4
                                                 : 0;
    bool good = length > 0 && i + length <= text.size();
    uint32_t point = length == 1 ? c : length == 2 ? c & 0x1F : length == 3 ? c & 0x0F : c & 0x07;
    for (std::size_t k = 1; good && k < length; ++k) {
      const auto next = static_cast<unsigned char>(text[i + k]);
      good = (next & 0xC0) == 0x80;
      point = (point << 6) | (next & 0x3F);
    }
    if (good && length == 3 && (point < 0x800 || (point >= 0xD800 && point < 0xE000))) good = false;
    if (good && length == 4 && (point < 0x10000 || point > 0x10FFFF)) good = false;
    if (good) {
      out.append(text.substr(i, length));
      i += length;
    } else {
      out += "\xEF\xBF\xBD";
      ++i;
    }
  }
  return out;
}

void append_json_string(std::string& out, std::string_view text) {
  out += '"';
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    switch (c) {
      case '"': out += "\\\""; break;
      case '\\': out += "\\\\"; break;
      case '\n': out += "\\n"; break;
      case '\r': out += "\\r"; break;
      case '\t': out += "\\t"; break;
      case '<': out += "\\u003c"; break;
      case '>': out += "\\u003e"; break;
      case '&': out += "\\u0026"; break;
      default:
        if (static_cast<unsigned char>(c) < 0x20) {
          out += fmt::format("\\u{:04x}", static_cast<unsigned char>(c));
        } else if (c == '\xE2' && i + 2 < text.size() && text[i + 1] == '\x80' &&
                   (text[i + 2] == '\xA8' || text[i + 2] == '\xA9')) {
          out += text[i + 2] == '\xA8' ? "\\u2028" : "\\u2029";
          i += 2;
        } else {
          out += c;
        }
    }
  }
  out += '"';
}

namespace {

void append_json(std::string& out, const Node& node, bool sorted) {
  switch (node.kind) {
    case Node::Kind::kNull: out += "null"; return;
    case Node::Kind::kBool:
    case Node::Kind::kNumber: out += node.text; return;
    case Node::Kind::kString: append_json_string(out, node.text); return;
    case Node::Kind::kList: {
      out += '[';
      for (std::size_t i = 0; i < node.items.size(); ++i) {
        if (i > 0) out += ',';
        append_json(out, node.items[i], sorted);
      }
      out += ']';
      return;
    }
    case Node::Kind::kMap: break;
  }
  // Of a key that stands twice the later value counts, at the place of the first.
  std::vector<const Member*> members;
  for (const auto& member : node.members) {
    const auto same =
        std::find_if(members.begin(), members.end(), [&member](auto* m) { return m->first == member.first; });
    if (same != members.end()) {
      *same = &member;
    } else {
      members.push_back(&member);
    }
  }
  if (sorted) {
    std::sort(members.begin(), members.end(), [](auto* a, auto* b) { return a->first < b->first; });
  }
  out += '{';
  bool first = true;
  for (const auto* member : members) {
    if (!std::exchange(first, false)) out += ',';
    append_json_string(out, member->first);
    out += ':';
    append_json(out, member->second, sorted);
  }
  out += '}';
}

// Whether a string can stand in YAML without quotes and still be that string.
bool is_plain(const std::string& text) {
  if (text.empty() || text.front() == ' ' || text.back() == ' ') return false;
  const auto resolved = resolve_scalar(text);
  if (!resolved || resolved->kind != Node::Kind::kString) return false;
  if (text.find_first_of("\n\r\t\"'\\") != std::string::npos) return false;
  if (std::string_view("-?:,[]{}#&*!|>%@`").find(text.front()) != std::string_view::npos) return false;
  if (text.find(": ") != std::string::npos || text.find(" #") != std::string::npos || text.back() == ':') return false;
  // A date would be read as one by other readers.
  return !(text.size() >= 8 && text[4] == '-' && text.find_first_not_of("0123456789-:TZ.+") == std::string::npos);
}

void append_yaml_scalar(std::string& out, const Node& node) {
  if (node.kind == Node::Kind::kNull) {
    out += "null";
  } else if (node.kind == Node::Kind::kString && !is_plain(node.text)) {
    std::string quoted;
    append_json_string(quoted, node.text);
    out += quoted;
  } else {
    out += node.text;
  }
}

void append_yaml(std::string& out, const Node& node, int indent) {
  const std::string pad(static_cast<std::size_t>(indent), ' ');
  if (node.kind == Node::Kind::kList) {
    for (const auto& item : node.items) {
      const bool nested =
          (item.is_map() && !item.members.empty()) || (item.kind == Node::Kind::kList && !item.items.empty());
      out += pad + "-";
      if (nested) {
        std::string inner;
        append_yaml(inner, item, indent + 2);
        // The first line goes behind the dash.
        out += " " + inner.substr(static_cast<std::size_t>(indent) + 2);
      } else {
        out += ' ';
        append_yaml(out, item, indent + 2);
      }
    }
    if (node.items.empty()) out += "[]\n";
    return;
  }
  if (node.is_map()) {
    if (node.members.empty()) {
      out += "{}\n";
      return;
    }
    std::vector<const Member*> members;
    for (const auto& member : node.members) members.push_back(&member);
    std::stable_sort(members.begin(), members.end(), [](auto* a, auto* b) { return a->first < b->first; });
    for (const auto* member : members) {
      out += pad;
      Node key;
      key.kind = Node::Kind::kString;
      key.text = member->first;
      append_yaml_scalar(out, key);
      out += ':';
      const Node& value = member->second;
      if (value.is_map() && !value.members.empty()) {
        out += '\n';
        append_yaml(out, value, indent + 2);
      } else if (value.kind == Node::Kind::kList && !value.items.empty()) {
        out += '\n';
        append_yaml(out, value, indent);
      } else {
        out += ' ';
        append_yaml(out, value, indent);
      }
    }
    return;
  }
  append_yaml_scalar(out, node);
  out += '\n';
}

}  // namespace

std::string to_json(const Node& node, bool sorted) {
  std::string out;
  append_json(out, node, sorted);
  return out;
}

std::string to_yaml(const Node& node) {
  std::string out;
  append_yaml(out, node, 0);
  return out;
}

absl::StatusOr<std::vector<Node>> parse_documents(std::string_view text) {
  if (text.size() > limits::kDocumentBytes) {
    return make_status(absl::StatusCode::kResourceExhausted, "the text has {} bytes, at most {} are read", text.size(),
                       limits::kDocumentBytes);
  }
  const auto first = text.find_first_not_of(" \t\r\n");
  if (first != std::string_view::npos && (text[first] == '{' || text[first] == '[')) {
    auto json = parse_json(text);
    if (json.ok()) {
      std::vector<Node> one;
      one.push_back(*std::move(json));
      return one;
    }
    // Flow-style YAML begins with a brace too; where that fails as well, the JSON error is the one to tell.
    auto yaml = parse_yaml(text);
    if (!yaml.ok()) return json.status();
    return yaml;
  }
  return parse_yaml(text);
}

absl::StatusOr<Node> parse_document(std::string_view text) {
  auto all = parse_documents(text);
  if (!all.ok()) return all.status();
  if (all->empty()) return Node();
  return std::move(all->front());
}

}  // namespace podwright::api
