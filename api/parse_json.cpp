// JSON through nlohmann's SAX interface. The library may throw; nothing leaves this file.
#include <iterator>
#include <nlohmann/json.hpp>

#include "api/document.h"
#include "base/limits.h"
#include "base/status/annotate.h"

namespace podwright::api {
namespace {

// An iterator that counts the lines it has passed, since SAX events have no place.
class LineCounter {
 public:
  using iterator_category = std::input_iterator_tag;
  using value_type = char;
  using difference_type = std::ptrdiff_t;
  using pointer = const char*;
  using reference = const char&;

  LineCounter(const char* at, int* line) : at_(at), line_(line) {}
  const char& operator*() const { return *at_; }
  LineCounter& operator++() {
    if (*at_ == '\n') ++*line_;
    ++at_;
    return *this;
  }
  LineCounter operator++(int) {
    LineCounter before = *this;
    ++*this;
    return before;
  }
  bool operator==(const LineCounter& other) const { return at_ == other.at_; }
  bool operator!=(const LineCounter& other) const { return at_ != other.at_; }

 private:
  const char* at_;
  int* line_;
};

class Builder {
 public:
  using json = nlohmann::json;
  explicit Builder(int* line) : line_(line) {}

  bool null() { return value(make(Node::Kind::kNull, "")); }
  bool boolean(bool v) { return value(make(Node::Kind::kBool, v ? "true" : "false")); }
  bool number_integer(json::number_integer_t v) { return value(make(Node::Kind::kNumber, fmt::format("{}", v))); }
  bool number_unsigned(json::number_unsigned_t v) { return value(make(Node::Kind::kNumber, fmt::format("{}", v))); }
  bool number_float(json::number_float_t /*v*/, const std::string& raw) {
    return value(make(Node::Kind::kNumber, raw));
  }
  bool string(std::string& v) { return value(make(Node::Kind::kString, std::move(v))); }
  bool binary(json::binary_t& /*v*/) { return false; }
  bool start_object(std::size_t /*size*/) { return open(Node::Kind::kMap); }
  bool end_object() { return close(); }
  bool start_array(std::size_t /*size*/) { return open(Node::Kind::kList); }
  bool end_array() { return close(); }
  bool key(std::string& k) {
    keys_.back() = std::move(k);
    return true;
  }
  bool parse_error(std::size_t /*position*/, const std::string& /*last*/, const nlohmann::detail::exception& error) {
    std::string what = error.what();
    // "[json.exception.parse_error.101] parse error at line 1, column 2: ..."
    const auto colon = what.find(": ");
    if (colon != std::string::npos) what = what.substr(colon + 2);
    fail(absl::StatusCode::kInvalidArgument, what);
    return false;
  }

  absl::Status status() const { return status_; }
  Node take() { return std::move(root_); }

 private:
  Node make(Node::Kind kind, std::string text) {
    Node node;
    node.kind = kind;
    node.text = std::move(text);
    node.line = *line_;
    return node;
  }

  void fail(absl::StatusCode code, const std::string& what) {
    if (status_.ok()) status_ = make_status(code, "line {}: {}", *line_, what);
  }

  bool open(Node::Kind kind) {
    if (stack_.size() >= static_cast<std::size_t>(limits::kDocumentDepth)) {
      fail(absl::StatusCode::kResourceExhausted,
           fmt::format("nested more than {} levels deep", limits::kDocumentDepth));
      return false;
    }
    stack_.push_back(make(kind, ""));
    keys_.emplace_back();
    return true;
  }

  bool close() {
    Node done = std::move(stack_.back());
    stack_.pop_back();
    keys_.pop_back();
    return value(std::move(done));
  }

  bool value(Node node) {
    if (++nodes_ > limits::kDocumentNodes) {
      fail(absl::StatusCode::kResourceExhausted, fmt::format("more than {} values", limits::kDocumentNodes));
      return false;
    }
    if (stack_.empty()) {
      root_ = std::move(node);
    } else if (stack_.back().is_map()) {
      stack_.back().members.push_back({std::move(keys_.back()), std::move(node)});
    } else {
      stack_.back().items.push_back(std::move(node));
    }
    return true;
  }

  int* line_;
  Node root_;
  std::vector<Node> stack_;
  std::vector<std::string> keys_;
  std::size_t nodes_ = 0;
  absl::Status status_;
};

bool is_hex(char c) {
  return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
}

// The code unit of "\uXXXX" at `i`, or nothing.
std::optional<unsigned> unit_at(const std::string& text, std::size_t i) {
  if (i + 6 > text.size() || text[i] != '\\' || text[i + 1] != 'u') return std::nullopt;
  for (std::size_t k = i + 2; k < i + 6; ++k) {
    if (!is_hex(text[k])) return std::nullopt;
  }
  return static_cast<unsigned>(std::stoul(text.substr(i + 2, 4), nullptr, 16));
}

// A surrogate without its partner becomes U+FFFD, as the reference reads it; the library refuses it.
void mend_surrogates(std::string& text) {
  for (std::size_t i = 0; i + 1 < text.size(); ++i) {
    if (text[i] != '\\') continue;
    const auto unit = unit_at(text, i);
    if (!unit) {
      ++i;
      continue;
    }
    if (*unit >= 0xD800 && *unit < 0xDC00) {
      const auto low = unit_at(text, i + 6);
      if (low && *low >= 0xDC00 && *low < 0xE000) {
        i += 11;
        continue;
      }
      text.replace(i + 2, 4, "fffd");
    } else if (*unit >= 0xDC00 && *unit < 0xE000) {
      text.replace(i + 2, 4, "fffd");
    }
    i += 5;
  }
}

}  // namespace

absl::StatusOr<Node> parse_json(std::string_view text) {
  if (text.size() > limits::kDocumentBytes) {
    return make_status(absl::StatusCode::kResourceExhausted, "the text has {} bytes, at most {} are read", text.size(),
                       limits::kDocumentBytes);
  }
  std::string clean = valid_utf8(text);
  mend_surrogates(clean);
  int line = 1;
  Builder builder(&line);
  try {
    const bool good = nlohmann::json::sax_parse(LineCounter(clean.data(), &line),
                                                LineCounter(clean.data() + clean.size(), &line), &builder);
    if (!good) {
      return builder.status().ok() ? absl::InvalidArgumentError("not JSON") : builder.status();
    }
  } catch (const std::exception& error) {
    return make_status(absl::StatusCode::kInvalidArgument, "not JSON: {}", error.what());
  }
  return builder.take();
}

}  // namespace podwright::api
