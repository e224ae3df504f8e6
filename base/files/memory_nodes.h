// The parts of MemoryTree: nodes, mounts and places. For base/files/memory_*.cpp only.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/files/memory_tree.h"

namespace podwright::memory_tree {

struct WatchState {
  Sink<TreeEvent> sink;
  std::shared_ptr<std::size_t> count;
};

struct Node {
  FileInfo info;        // size is kept by content
  std::string content;  // of a file; the target of a link
  std::map<std::string, std::shared_ptr<Node>, std::less<>> children;
  std::shared_ptr<SpecialFs> special;
  std::string special_path;  // from the root of the special file system
  std::vector<std::weak_ptr<WatchState>> watches;
  int mounts_on = 0;  // mounts that cover this node

  bool is(FileType type) const { return info.type == type; }
};

struct Mount {
  MountEntry entry;
  std::shared_ptr<Mount> parent;  // null for the disk's
  std::shared_ptr<Node> covered;  // what the mount hides, in the parent mount
  std::shared_ptr<Node> root;
  bool read_only = false;
};

// A node as seen through one mount.
struct Spot {
  std::shared_ptr<Mount> mount;
  std::shared_ptr<Node> node;
};

// What a walk found: the places from the root on, with their names. Where the last name is missing, `name` is it and
// the trail ends at the directory.
struct Found {
  std::vector<Spot> trail;
  std::vector<std::string> names;  // of trail[1..]
  std::string name;
  bool missing = false;

  const Spot& spot() const { return trail.back(); }
  Node& node() const { return *trail.back().node; }
  // The directory that holds the found or missing name.
  const Spot& parent() const { return missing || trail.size() == 1 ? trail.back() : trail[trail.size() - 2]; }
  const std::string& last_name() const { return missing || names.empty() ? name : names.back(); }
  std::string path() const {
    std::string text;
    for (const std::string& part : names) text += "/" + part;
    if (missing) text += "/" + name;
    return text.empty() ? "/" : text;
  }
};

// "/a" is in "/a" and in "/"; "/ab" is not in "/a".
inline bool is_within(const std::string& path, const std::string& prefix) {
  if (prefix == "/" || path == prefix) return true;
  return path.size() > prefix.size() && path.starts_with(prefix) && path[prefix.size()] == '/';
}

}  // namespace podwright::memory_tree
