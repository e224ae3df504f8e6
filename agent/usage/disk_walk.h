// What a directory takes on disk, found by walking it in pieces, so that a volume of a million files takes no thread
// for long. Nothing that is mounted below is entered, no link is followed, and a file with several names counts once.
#pragma once

#include <string>
#include <unordered_set>
#include <vector>

#include "agent/usage/snapshot.h"
#include "base/files/tree.h"
#include "base/limits.h"

namespace podwright::usage {

class DiskWalk {
 public:
  // `most` files are looked at in all.
  explicit DiskWalk(std::string path, std::size_t most = limits::kDiskWalkEntries)
      : pending_{std::move(path)}, most_(most) {}

  // Looks at about `entries` more; true once all was seen (or the bound of a whole walk is met). What goes while it
  // walks is left out.
  bool step(Tree& tree, std::size_t entries);

  uint64_t bytes() const { return bytes_; }
  uint64_t inodes() const { return inodes_.size(); }

 private:
  void look_at(Tree& tree, const std::string& path);

  // Paths to look at, the next one last.
  std::vector<std::string> pending_;
  std::size_t most_;
  std::unordered_set<uint64_t> inodes_;
  std::optional<uint64_t> device_;
  uint64_t bytes_ = 0;
};

// The sizes of the log files of one container: few, and all in one directory.
std::optional<DiskUsage> read_logs(Tree& tree, const std::string& directory, WallTime at);

}  // namespace podwright::usage
