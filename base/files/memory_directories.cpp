// MemoryTree's directories and links.
#include <cerrno>

#include "base/files/memory_nodes.h"
#include "base/files/memory_tree.h"
#include "base/status/annotate.h"

namespace podwright {

using memory_tree::Found;
using memory_tree::is_within;
using memory_tree::Mount;
using memory_tree::Node;

namespace {

absl::Status failed(int error_number, std::string_view call, const std::string& path) {
  return errno_status(error_number, fmt::format("{} {}", call, path));
}

}  // namespace

absl::StatusOr<std::vector<DirectoryEntry>> MemoryTree::list(const std::string& path) {
  const std::scoped_lock lock(mutex_);
  Found found;
  int error = find(path, true, Access::kLook, &found);
  if (error == 0 && !found.node().is(FileType::kDirectory)) error = ENOTDIR;
  if (error != 0) return failed(error, "open", path);
  std::vector<DirectoryEntry> entries;
  for (const auto& [name, child] : found.node().children) entries.push_back({name, child->info.type});
  return entries;
}

int MemoryTree::make_child_directory(const Found& missing, mode_t mode, Found* made) {
  if (missing.spot().mount->read_only) return EROFS;
  const NodePtr parent = missing.spot().node;
  const NodePtr node = new_node(FileType::kDirectory, mode, parent);
  ++next_call_;
  set_child(parent, missing.name, node);
  if (parent->special) {
    node->special = parent->special;
    node->special_path = join_path(parent->special_path, missing.name);
    add_special_files(node);
  }
  tell(parent, TreeEvent::Kind::kCreated, missing.name);
  Found next = missing;
  next.trail.push_back({missing.spot().mount, node});
  next.names.push_back(missing.name);
  next.name.clear();
  next.missing = false;
  *made = std::move(next);
  return 0;
}

absl::Status MemoryTree::make_directories(const std::string& path, mode_t mode) {
  const std::scoped_lock lock(mutex_);
  Found found;
  int error = fault(path, Access::kChange);
  if (error == 0 && !path.starts_with('/')) error = EINVAL;
  if (error != 0) return failed(error, "mkdir", path);
  for (std::size_t end = 0; end < path.size();) {
    end = std::min(path.find('/', end + 1), path.size());
    const std::string prefix = path.substr(0, end);
    if (prefix.back() == '/') continue;
    error = walk(prefix, true, &found);
    if (error == 0 && found.missing) {
      // A link to nothing is there, as far as mkdir is concerned.
      Found link;
      error = walk(prefix, false, &link);
      if (error == 0 && !link.missing) error = EEXIST;
      if (error == 0) error = fault(path, Access::kGrow);
      if (error == 0) error = make_child_directory(found, end == path.size() ? mode : 0755, &found);
    }
    if (error == 0 && !found.node().is(FileType::kDirectory)) error = ENOTDIR;
    if (error != 0) return failed(error, "mkdir", prefix);
  }
  // "/" itself is there, and its mode stays.
  if (!found.trail.empty()) found.node().info.mode = mode & 07777;
  return absl::OkStatus();
}

absl::Status MemoryTree::remove_file(const std::string& path) {
  const std::scoped_lock lock(mutex_);
  Found found;
  int error = find(path, false, Access::kChange, &found);
  if (error == 0 && found.node().is(FileType::kDirectory)) error = EISDIR;
  if (error == 0 && found.spot().node == found.spot().mount->root) error = EBUSY;
  if (error == 0 && is_busy(found.node())) error = EBUSY;
  if (error == 0 && found.node().special) error = EPERM;
  if (error != 0) return failed(error, "unlink", path);
  const NodePtr parent = found.parent().node;
  ++next_call_;
  const NodePtr node = found.spot().node;
  set_child(parent, found.last_name(), nullptr);
  tell(parent, TreeEvent::Kind::kDeleted, found.last_name());
  tell(node, TreeEvent::Kind::kDeleted, "");
  return absl::OkStatus();
}

absl::Status MemoryTree::remove_directory(const std::string& path) {
  const std::scoped_lock lock(mutex_);
  Found found;
  int error = find(path, false, Access::kChange, &found);
  if (error == 0 && !found.node().is(FileType::kDirectory)) error = ENOTDIR;
  if (error == 0 && found.spot().node == found.spot().mount->root) error = EBUSY;
  if (error == 0 && is_busy(found.node())) error = EBUSY;
  if (error == 0) {
    const bool holds_directory = std::any_of(found.node().children.begin(), found.node().children.end(),
                                             [](const auto& child) { return child.second->is(FileType::kDirectory); });
    if (found.node().special) {
      error = holds_directory ? EBUSY : found.node().special->remove_directory(found.node().special_path);
    } else if (!found.node().children.empty()) {
      error = ENOTEMPTY;
    }
  }
  if (error != 0) return failed(error, "rmdir", path);
  const NodePtr parent = found.parent().node;
  const NodePtr node = found.spot().node;
  ++next_call_;
  set_child(parent, found.last_name(), nullptr);
  tell(parent, TreeEvent::Kind::kDeleted, found.last_name());
  tell(node, TreeEvent::Kind::kDeleted, "");
  return absl::OkStatus();
}

int MemoryTree::remove_below(const MountPtr& mount, const NodePtr& directory) {
  int first = 0;
  std::vector<std::string> names;
  for (const auto& [name, child] : directory->children) names.push_back(name);
  for (const std::string& name : names) {
    const NodePtr child = directory->children.at(name);
    int error = 0;
    if (is_busy(*child)) {
      const bool here = enter(mount, child).mount != mount;
      error = here && child->is(FileType::kDirectory) ? EXDEV : EBUSY;
    } else if (child->is(FileType::kDirectory)) {
      error = remove_below(mount, child);
      if (error == 0 && child->special) error = child->special->remove_directory(child->special_path);
    } else if (child->special) {
      continue;
    }
    if (error == 0) {
      set_child(directory, name, nullptr);
      tell(directory, TreeEvent::Kind::kDeleted, name);
      tell(child, TreeEvent::Kind::kDeleted, "");
    } else if (first == 0) {
      first = error;
    }
  }
  return first;
}

absl::Status MemoryTree::remove_tree(const std::string& path) {
  const std::scoped_lock lock(mutex_);
  Found found;
  int error = find(path, false, Access::kChange, &found);
  if (error == ENOENT) return absl::OkStatus();
  if (error == 0 && found.spot().node == found.spot().mount->root) error = EXDEV;
  if (error == 0 && is_busy(found.node())) error = EBUSY;
  ++next_call_;
  if (error == 0 && found.node().is(FileType::kDirectory)) {
    error = remove_below(found.spot().mount, found.spot().node);
    if (error == 0 && found.node().special) error = found.node().special->remove_directory(found.node().special_path);
  }
  if (error == EXDEV || error == EBUSY) {
    return make_status(absl::StatusCode::kFailedPrecondition, "remove {}: something is mounted in it", path);
  }
  if (error != 0) return failed(error, "remove", path);
  const NodePtr parent = found.parent().node;
  const NodePtr node = found.spot().node;
  set_child(parent, found.last_name(), nullptr);
  tell(parent, TreeEvent::Kind::kDeleted, found.last_name());
  tell(node, TreeEvent::Kind::kDeleted, "");
  return absl::OkStatus();
}

absl::Status MemoryTree::rename(const std::string& from, const std::string& to) {
  const std::scoped_lock lock(mutex_);
  const std::string what = fmt::format("{} to {}", from, to);
  Found source;
  Found target;
  int error = find(from, false, Access::kChange, &source);
  if (error == 0) error = fault(to, Access::kChange);
  if (error == 0) error = walk(to, false, &target);
  if (error != 0) return failed(error, "rename", what);
  const NodePtr moved = source.spot().node;
  const bool moves_directory = moved->is(FileType::kDirectory);
  if (moved == source.spot().mount->root || is_busy(*moved)) return failed(EBUSY, "rename", what);
  if (source.spot().mount != target.parent().mount) return failed(EXDEV, "rename", what);
  if (moved->special) return failed(EPERM, "rename", what);
  if (moves_directory && is_within(target.path(), source.path()) && target.path() != source.path()) {
    return failed(EINVAL, "rename", what);
  }
  if (!target.missing) {
    if (target.spot().node == moved) return absl::OkStatus();
    const bool onto_directory = target.node().is(FileType::kDirectory);
    if (is_busy(target.node())) return failed(EBUSY, "rename", what);
    if (moves_directory && !onto_directory) return failed(ENOTDIR, "rename", what);
    if (!moves_directory && onto_directory) return failed(EISDIR, "rename", what);
    if (onto_directory && !target.node().children.empty()) return failed(ENOTEMPTY, "rename", what);
  }
  const NodePtr old_directory = source.parent().node;
  const NodePtr new_directory = target.parent().node;
  ++next_call_;
  if (!target.missing) tell(target.spot().node, TreeEvent::Kind::kDeleted, "");
  set_child(old_directory, source.last_name(), nullptr);
  set_child(new_directory, target.last_name(), moved);
  for (const MountPtr& mount : mounts_) {
    if (is_within(mount->entry.mountpoint, source.path())) {
      mount->entry.mountpoint = target.path() + mount->entry.mountpoint.substr(source.path().size());
    }
  }
  tell(old_directory, TreeEvent::Kind::kMovedOut, source.last_name());
  tell(new_directory, TreeEvent::Kind::kMovedIn, target.last_name());
  tell(moved, TreeEvent::Kind::kMovedOut, "");
  return absl::OkStatus();
}

absl::Status MemoryTree::make_symlink(const std::string& target, const std::string& path) {
  const std::scoped_lock lock(mutex_);
  Found found;
  int error = fault(path, Access::kGrow);
  if (error == 0) error = walk(path, false, &found);
  if (error == 0 && !found.missing) error = EEXIST;
  if (error == 0 && target.empty()) error = ENOENT;
  if (error == 0 && found.spot().mount->read_only) error = EROFS;
  if (error == 0 && found.node().special) error = EPERM;
  if (error != 0) return failed(error, "symlink", path);
  const NodePtr directory = found.spot().node;
  const NodePtr node = new_node(FileType::kSymlink, 0777, directory);
  node->content = target;
  ++next_call_;
  set_child(directory, found.name, node);
  tell(directory, TreeEvent::Kind::kCreated, found.name);
  return absl::OkStatus();
}

absl::StatusOr<std::string> MemoryTree::read_symlink(const std::string& path) {
  const std::scoped_lock lock(mutex_);
  Found found;
  int error = find(path, false, Access::kLook, &found);
  if (error == 0 && !found.node().is(FileType::kSymlink)) error = EINVAL;
  if (error != 0) return failed(error, "readlink", path);
  return found.node().content;
}

}  // namespace podwright
