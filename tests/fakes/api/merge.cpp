#include "tests/fakes/api/merge.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace podwright::kube {
namespace {

using api::Member;
using api::Node;
using Kind = Node::Kind;

// Lists that are merged, by the key of their entries; empty: entries are scalars. By name alone, which is not ambiguous
// among the kinds that the fake keeps.
std::optional<std::string> merge_key(const std::string& field) {
  static const std::map<std::string, std::string> keys = {
      {"conditions", "type"},
      {"addresses", "type"},
      {"hostIPs", "ip"},
      {"podIPs", "ip"},
      {"ownerReferences", "uid"},
      {"finalizers", ""},
      {"podCIDRs", ""},
      {"resourceClaimStatuses", "name"},
      {"containers", "name"},
      {"initContainers", "name"},
      {"ephemeralContainers", "name"},
      {"volumes", "name"},
      {"env", "name"},
      {"imagePullSecrets", "name"},
      {"secrets", "name"},
      {"drivers", "name"},
  };
  const auto found = keys.find(field);
  if (found == keys.end()) return std::nullopt;
  return found->second;
}

Node* find_member(Node& map, const std::string& key) {
  for (Member& member : map.members) {
    if (member.first == key) return &member.second;
  }
  return nullptr;
}

void erase_member(Node& map, const std::string& key) {
  std::erase_if(map.members, [&key](const Member& member) { return member.first == key; });
}

void set_member(Node& map, const std::string& key, Node value) {
  if (Node* there = find_member(map, key)) {
    *there = std::move(value);
  } else {
    map.members.push_back({key, std::move(value)});
  }
}

std::string text_at(const Node& map, const std::string& key) {
  const Node* found = map.find(key);
  return found == nullptr ? "" : found->text;
}

Node without_directives(Node node) {
  std::erase_if(node.members, [](const Member& member) { return member.first.starts_with("$"); });
  for (Member& member : node.members) member.second = without_directives(std::move(member.second));
  for (Node& item : node.items) item = without_directives(std::move(item));
  return node;
}

Node merge_scalars(Node original, const Node& patch) {
  std::set<std::string> there;
  for (const Node& item : original.items) there.insert(item.text);
  for (const Node& item : patch.items) {
    if (there.insert(item.text).second) original.items.push_back(item);
  }
  return original;
}

Node merge_entries(Node original, const Node& patch, const std::string& key) {
  const bool replaces = std::any_of(patch.items.begin(), patch.items.end(), [&key](const Node& item) {
    return text_at(item, "$patch") == "replace" && item.find(key) == nullptr;
  });
  if (replaces) original.items.clear();
  for (const Node& item : patch.items) {
    const std::string directive = text_at(item, "$patch");
    if (directive == "replace" && item.find(key) == nullptr) continue;
    const std::string name = text_at(item, key);
    const auto place = std::find_if(original.items.begin(), original.items.end(),
                                    [&](const Node& one) { return text_at(one, key) == name; });
    if (directive == "delete") {
      if (place != original.items.end()) original.items.erase(place);
    } else if (directive == "replace" || place == original.items.end()) {
      Node plain = without_directives(item);
      if (place == original.items.end()) {
        original.items.push_back(std::move(plain));
      } else {
        *place = std::move(plain);
      }
    } else {
      *place = strategic_merge_patch(*place, item);
    }
  }
  return original;
}

void order_entries(Node& list, const Node& order, const std::string& key) {
  std::map<std::string, std::size_t> rank;
  for (std::size_t i = 0; i < order.items.size(); ++i) {
    rank[key.empty() ? order.items[i].text : text_at(order.items[i], key)] = i;
  }
  const auto rank_of = [&](const Node& item) {
    const auto found = rank.find(key.empty() ? item.text : text_at(item, key));
    return found == rank.end() ? rank.size() : found->second;
  };
  std::stable_sort(list.items.begin(), list.items.end(),
                   [&](const Node& a, const Node& b) { return rank_of(a) < rank_of(b); });
}

}  // namespace

Node merge_patch(const Node& original, const Node& patch) {
  if (!patch.is_map()) return patch;
  Node merged = original.is_map() ? original : Node();
  merged.kind = Kind::kMap;
  for (const Member& member : patch.members) {
    if (member.second.kind == Kind::kNull) {
      erase_member(merged, member.first);
      continue;
    }
    const Node* before = merged.find(member.first);
    set_member(merged, member.first, merge_patch(before == nullptr ? Node() : *before, member.second));
  }
  return merged;
}

Node strategic_merge_patch(const Node& original, const Node& patch) {
  if (!patch.is_map()) return patch;
  if (text_at(patch, "$patch") == "replace") return without_directives(patch);
  Node merged = original.is_map() ? original : Node();
  merged.kind = Kind::kMap;
  for (const Member& member : patch.members) {
    const std::string& key = member.first;
    const Node& value = member.second;
    if (key.starts_with("$")) continue;
    if (value.kind == Kind::kNull || (value.is_map() && text_at(value, "$patch") == "delete")) {
      erase_member(merged, key);
      continue;
    }
    const Node before = merged.find(key) == nullptr ? Node() : *merged.find(key);
    const auto by = merge_key(key);
    if (value.kind == Kind::kList && by) {
      Node list = before.kind == Kind::kList ? before : Node();
      list.kind = Kind::kList;
      set_member(merged, key, by->empty() ? merge_scalars(std::move(list), value) : merge_entries(list, value, *by));
    } else {
      set_member(merged, key, strategic_merge_patch(before, value));
    }
  }
  constexpr std::string_view kDelete = "$deleteFromPrimitiveList/";
  constexpr std::string_view kOrder = "$setElementOrder/";
  for (const Member& member : patch.members) {
    if (member.first.starts_with(kDelete)) {
      Node* list = find_member(merged, member.first.substr(kDelete.size()));
      for (const Node& gone : member.second.items) {
        if (list != nullptr) std::erase_if(list->items, [&gone](const Node& one) { return one.text == gone.text; });
      }
    } else if (member.first.starts_with(kOrder)) {
      const std::string field = member.first.substr(kOrder.size());
      Node* list = find_member(merged, field);
      if (list != nullptr) order_entries(*list, member.second, merge_key(field).value_or(""));
    } else if (member.first == "$retainKeys") {
      std::set<std::string> kept;
      for (const Node& key : member.second.items) kept.insert(key.text);
      std::erase_if(merged.members, [&kept](const Member& one) { return !kept.contains(one.first); });
    }
  }
  return merged;
}

}  // namespace podwright::kube
