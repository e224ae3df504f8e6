// YAML through yaml-cpp's event interface. The library throws; nothing leaves this file.
#include <yaml-cpp/anchor.h>
#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/exceptions.h>
#include <yaml-cpp/mark.h>
#include <yaml-cpp/parser.h>

#include <map>
#include <sstream>

#include "api/base64.h"
#include "api/document.h"
#include "api/yaml_scalar.h"
#include "base/limits.h"
#include "base/status/annotate.h"

namespace podwright::api {
namespace {

// Thrown out of the library's event calls, caught below.
struct Refused {
  absl::Status status;
};

[[noreturn]] void refuse(absl::StatusCode code, int line, const std::string& what) {
  throw Refused{make_status(code, "line {}: {}", line, what)};
}

std::size_t count(const Node& node) {
  std::size_t nodes = 1;
  for (const auto& item : node.items) nodes += count(item);
  for (const auto& [key, value] : node.members) nodes += count(value);
  return nodes;
}

class Builder final : public YAML::EventHandler {
 public:
  void OnDocumentStart(const YAML::Mark& /*mark*/) override {
    root_ = Node();
    stack_.clear();
    anchors_.clear();
    open_anchors_.clear();
    has_content_ = false;
  }
  void OnDocumentEnd() override {}

  void OnNull(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    Node node;
    node.line = mark.line + 1;
    value(std::move(node), anchor, true);
  }

  void OnAlias(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    const auto found = anchors_.find(anchor);
    if (found == anchors_.end())
      refuse(absl::StatusCode::kInvalidArgument, mark.line + 1, "the alias refers to itself");
    add_nodes(count(found->second), mark.line + 1);
    Node copy = found->second;
    value(std::move(copy), YAML::NullAnchor, false);
  }

  void OnScalar(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                const std::string& text) override {
    const int line = mark.line + 1;
    Node node;
    if (tag == "?" || tag.empty()) {
      auto resolved = resolve_scalar(text);
      if (!resolved) refuse(absl::StatusCode::kInvalidArgument, line, text + " cannot be written in JSON");
      node = *std::move(resolved);
    } else if (tag.ends_with(":binary") || tag == "!!binary") {
      const auto bytes = base64_decode(text);
      if (!bytes.ok()) refuse(absl::StatusCode::kInvalidArgument, line, "the !!binary value is not base64");
      node.kind = Node::Kind::kString;
      node.text = valid_utf8(*bytes);
    } else {
      node.kind = Node::Kind::kString;
      node.text = valid_utf8(text);
    }
    node.line = line;
    value(std::move(node), anchor, true);
  }

  void OnSequenceStart(const YAML::Mark& mark, const std::string& /*tag*/, YAML::anchor_t anchor,
                       YAML::EmitterStyle::value /*style*/) override {
    open(Node::Kind::kList, mark.line + 1, anchor);
  }
  void OnSequenceEnd() override { close(); }
  void OnMapStart(const YAML::Mark& mark, const std::string& /*tag*/, YAML::anchor_t anchor,
                  YAML::EmitterStyle::value /*style*/) override {
    open(Node::Kind::kMap, mark.line + 1, anchor);
  }
  void OnMapEnd() override { close(); }

  bool has_content() const { return has_content_; }
  Node take() { return std::move(root_); }

 private:
  struct Open {
    Node node;
    YAML::anchor_t anchor = YAML::NullAnchor;
    // Of a map: the key that waits for its value.
    std::optional<std::string> key;
    bool merge = false;
    std::vector<Node> merges;
  };

  void add_nodes(std::size_t more, int line) {
    nodes_ += more;
    if (nodes_ > limits::kDocumentNodes) {
      refuse(absl::StatusCode::kResourceExhausted, line,
             fmt::format("the text has more than {} values (aliases expanded)", limits::kDocumentNodes));
    }
  }

  void open(Node::Kind kind, int line, YAML::anchor_t anchor) {
    if (stack_.size() >= static_cast<std::size_t>(limits::kDocumentDepth)) {
      refuse(absl::StatusCode::kResourceExhausted, line,
             fmt::format("nested more than {} levels deep", limits::kDocumentDepth));
    }
    if (expects_key()) refuse(absl::StatusCode::kInvalidArgument, line, "a list or object cannot be a key");
    Open next;
    next.node.kind = kind;
    next.node.line = line;
    next.anchor = anchor;
    stack_.push_back(std::move(next));
  }

  void close() {
    Open done = std::move(stack_.back());
    stack_.pop_back();
    // Merged members come first, so that the map's own win; of several merges the first wins.
    if (!done.merges.empty()) {
      std::vector<Member> members;
      const auto add = [&members](const Member& member) {
        for (const auto& have : members) {
          if (have.first == member.first) return;
        }
        members.push_back(member);
      };
      for (const auto& from : done.merges) {
        for (const auto& member : from.members) {
          bool own = false;
          for (const auto& mine : done.node.members) own = own || mine.first == member.first;
          if (!own) add(member);
        }
      }
      for (auto& member : done.node.members) members.push_back(std::move(member));
      done.node.members = std::move(members);
    }
    value(std::move(done.node), done.anchor, true);
  }

  bool expects_key() const { return !stack_.empty() && stack_.back().node.is_map() && !stack_.back().key; }

  void value(Node node, YAML::anchor_t anchor, bool counts) {
    has_content_ = true;
    if (counts) add_nodes(1, node.line);
    if (anchor != YAML::NullAnchor) anchors_[anchor] = node;
    if (stack_.empty()) {
      root_ = std::move(node);
      return;
    }
    Open& top = stack_.back();
    if (!top.node.is_map()) {
      top.node.items.push_back(std::move(node));
      return;
    }
    if (!top.key) {
      if (node.kind == Node::Kind::kNull) refuse(absl::StatusCode::kInvalidArgument, node.line, "null cannot be a key");
      if (!node.items.empty() || !node.members.empty()) {
        refuse(absl::StatusCode::kInvalidArgument, node.line, "a list or object cannot be a key");
      }
      top.merge = node.kind == Node::Kind::kString && node.text == "<<";
      top.key = std::move(node.text);
      return;
    }
    std::string key = std::move(*top.key);
    top.key.reset();
    if (!std::exchange(top.merge, false)) {
      top.node.members.push_back({std::move(key), std::move(node)});
      return;
    }
    if (node.is_map()) {
      top.merges.push_back(std::move(node));
    } else if (node.kind == Node::Kind::kList) {
      for (auto& item : node.items) {
        if (!item.is_map()) refuse(absl::StatusCode::kInvalidArgument, item.line, "<< merges objects only");
        top.merges.push_back(std::move(item));
      }
    } else {
      refuse(absl::StatusCode::kInvalidArgument, node.line, "<< merges objects only");
    }
  }

  Node root_;
  std::vector<Open> stack_;
  std::map<YAML::anchor_t, Node> anchors_;
  std::vector<YAML::anchor_t> open_anchors_;
  std::size_t nodes_ = 0;
  bool has_content_ = false;
};

}  // namespace

absl::StatusOr<std::vector<Node>> parse_yaml(std::string_view text) {
  if (text.size() > limits::kDocumentBytes) {
    return make_status(absl::StatusCode::kResourceExhausted, "the text has {} bytes, at most {} are read", text.size(),
                       limits::kDocumentBytes);
  }
  std::vector<Node> documents;
  try {
    std::istringstream stream{std::string(text)};
    YAML::Parser parser(stream);
    Builder builder;
    while (parser.HandleNextDocument(builder)) {
      if (!builder.has_content()) continue;
      Node node = builder.take();
      // `---` with nothing but comments behind it is no document.
      if (node.kind == Node::Kind::kNull) continue;
      documents.push_back(std::move(node));
      if (documents.size() > limits::kDocuments) {
        return make_status(absl::StatusCode::kResourceExhausted, "the text has more than {} documents",
                           limits::kDocuments);
      }
    }
  } catch (const Refused& refused) {
    return refused.status;
  } catch (const YAML::Exception& error) {
    return make_status(absl::StatusCode::kInvalidArgument, "line {}: {}", error.mark.line + 1, error.msg);
  } catch (const std::exception& error) {
    return make_status(absl::StatusCode::kInvalidArgument, "not YAML: {}", error.what());
  }
  return documents;
}

}  // namespace podwright::api
