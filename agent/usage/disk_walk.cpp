#include "agent/usage/disk_walk.h"

#include "base/limits.h"

namespace podwright::usage {

bool DiskWalk::step(Tree& tree, std::size_t entries) {
  for (std::size_t i = 0; i < entries && !pending_.empty() && inodes_.size() < most_; ++i) {
    const std::string path = std::move(pending_.back());
    pending_.pop_back();
    look_at(tree, path);
  }
  return pending_.empty() || inodes_.size() >= most_;
}

void DiskWalk::look_at(Tree& tree, const std::string& path) {
  const auto info = tree.info(path);
  if (!info.ok()) return;
  if (!device_) device_ = info->device;
  if (info->device != *device_ || !inodes_.insert(info->inode).second) return;
  bytes_ += info->allocated_bytes;
  if (info->type != FileType::kDirectory) return;
  const auto children = tree.list(path);
  if (!children.ok()) return;
  for (const DirectoryEntry& child : *children) pending_.push_back(join_path(path, child.name));
}

std::optional<DiskUsage> read_logs(Tree& tree, const std::string& directory, WallTime at) {
  const auto entries = tree.list(directory);
  if (!entries.ok()) return std::nullopt;
  DiskUsage used{.bytes = 0, .inodes = 1, .at = at};  // the directory itself is one
  for (const DirectoryEntry& entry : *entries) {
    if (used.inodes > limits::kLogFilesOfContainer) break;
    if (entry.type != FileType::kFile) continue;
    const auto info = tree.info(join_path(directory, entry.name));
    if (!info.ok()) continue;
    used.bytes += info->allocated_bytes;
    ++used.inodes;
  }
  return used;
}

}  // namespace podwright::usage
