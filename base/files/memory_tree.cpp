// The tree's core: walking, nodes, and the calls on files and directories.
#include "base/files/memory_tree.h"

#include <cerrno>
#include <climits>

#include "base/files/memory_nodes.h"
#include "base/status/annotate.h"

namespace podwright {

using memory_tree::Found;
using memory_tree::is_within;
using memory_tree::Mount;
using memory_tree::Node;
using memory_tree::Spot;

namespace {

// Source: the kernel's MAXSYMLINKS.
constexpr int kMostLinks = 40;
// Changes of the disk that a power cut may still undo.
constexpr std::size_t kMostChanges = 4096;

std::vector<std::string> parts_of(std::string_view path) {
  std::vector<std::string> parts;
  parts.reserve(12);
  while (!path.empty()) {
    const std::size_t slash = std::min(path.find('/'), path.size());
    if (slash > 0) parts.emplace_back(path.substr(0, slash));
    path.remove_prefix(std::min(slash + 1, path.size()));
  }
  return parts;
}

absl::Status failed(int error_number, std::string_view call, const std::string& path) {
  return errno_status(error_number, fmt::format("{} {}", call, path));
}

FileInfo info_of(const Node& node) {
  FileInfo info = node.info;
  info.size = node.is(FileType::kDirectory) ? 4096 : node.content.size();
  info.allocated_bytes = (info.size + 4095) / 4096 * 4096;
  return info;
}

}  // namespace

MemoryTree::MemoryTree(Loop& loop, uint64_t seed) : loop_(&loop), rng_(seed) {
  root_ = new_node(FileType::kDirectory, 0755, nullptr);
  root_->info.device = next_device_++;
  auto disk = std::make_shared<Mount>();
  disk->entry = {.mountpoint = "/", .source = "/dev/disk", .fs_type = "ext4", .options = {"rw"}, .shared = true};
  disk->root = root_;
  mounts_.push_back(disk);
}

MemoryTree::~MemoryTree() = default;

void MemoryTree::attach(Loop& loop) {
  const std::scoped_lock lock(mutex_);
  loop_ = &loop;
}

// --- walking -----------------------------------------------------------------------------------------------------

Spot MemoryTree::enter(MountPtr mount, NodePtr node) const {
  for (bool entered = node->mounts_on > 0; entered;) {
    entered = false;
    for (const MountPtr& other : mounts_) {
      if (other->parent != mount || other->covered != node) continue;
      mount = other;
      node = other->root;
      entered = true;
      break;
    }
  }
  return {std::move(mount), std::move(node)};
}

int MemoryTree::walk(const std::string& path, bool follow_last, Found* found, const Found* beneath) const {
  if (path.size() >= PATH_MAX) return ENAMETOOLONG;
  if (beneath == nullptr && !path.starts_with('/')) return EINVAL;  // the agent's paths are absolute
  if (beneath != nullptr && path.starts_with('/')) return EXDEV;
  Found at;
  at.trail.reserve(12);
  if (beneath != nullptr) {
    at = *beneath;
  } else {
    at.trail.push_back(enter(mounts_.front(), root_));
  }
  const std::size_t floor = at.trail.size();
  std::vector<std::string> rest = parts_of(path);
  std::reverse(rest.begin(), rest.end());  // the next part is the last
  int links = 0;
  while (!rest.empty()) {
    std::string name = std::move(rest.back());
    rest.pop_back();
    if (!at.node().is(FileType::kDirectory)) return ENOTDIR;
    if (name == ".") continue;
    if (name == "..") {
      if (at.trail.size() == floor && beneath != nullptr) return EXDEV;
      if (at.trail.size() > 1) {
        at.trail.pop_back();
        at.names.pop_back();
      }
      continue;
    }
    if (name.size() > NAME_MAX) return ENAMETOOLONG;
    const auto child = at.node().children.find(name);
    if (child == at.node().children.end()) {
      if (!rest.empty()) return ENOENT;
      at.name = name;
      at.missing = true;
      break;
    }
    if (child->second->is(FileType::kSymlink) && (follow_last || !rest.empty())) {
      if (++links > kMostLinks) return ELOOP;
      const std::string& target = child->second->content;
      if (target.starts_with('/')) {
        if (beneath != nullptr) return EXDEV;
        at.trail.resize(1);
        at.names.clear();
      }
      const std::vector<std::string> more = parts_of(target);
      rest.insert(rest.end(), more.rbegin(), more.rend());
      continue;
    }
    at.trail.push_back(enter(at.spot().mount, child->second));
    at.names.push_back(std::move(name));
  }
  *found = std::move(at);
  return 0;
}

int MemoryTree::find(const std::string& path, bool follow_last, Access access, Found* found) {
  if (const int error = fault(path, access); error != 0) return error;
  if (const int error = walk(path, follow_last, found); error != 0) return error;
  if (found->missing) return ENOENT;
  if (access != Access::kLook && found->spot().mount->read_only) return EROFS;
  return 0;
}

bool MemoryTree::is_busy(const Node& node) const {
  return node.mounts_on > 0;
}

// --- nodes -------------------------------------------------------------------------------------------------------

MemoryTree::NodePtr MemoryTree::new_node(FileType type, mode_t mode, const NodePtr& directory) {
  auto node = std::make_shared<Node>();
  node->info.type = type;
  node->info.mode = mode & 07777;
  node->info.inode = next_inode_++;
  node->info.device = directory ? directory->info.device : 0;
  node->info.modified = loop_->clock().wall();
  return node;
}

void MemoryTree::set_child(const NodePtr& directory, const std::string& name, NodePtr child) {
  NodePtr before;
  const auto old = directory->children.find(name);
  if (old != directory->children.end()) before = old->second;
  if (directory->info.device == root_->info.device) {
    journal_.push_back({next_call_, directory, name, before});
    forget_oldest_changes();
  }
  directory->info.modified = loop_->clock().wall();
  if (child) {
    directory->children[name] = std::move(child);
  } else if (old != directory->children.end()) {
    directory->children.erase(old);
  }
}

void MemoryTree::forget_oldest_changes() {
  if (journal_.size() <= kMostChanges) return;
  const uint64_t call = journal_[kMostChanges / 2].call;
  std::erase_if(journal_, [call](const Change& change) { return change.call < call; });
}

void MemoryTree::add_special_files(const NodePtr& directory) {
  for (const SpecialFs::File& file : directory->special->new_directory(directory->special_path)) {
    NodePtr node = new_node(FileType::kFile, file.mode, directory);
    node->content = file.content;
    node->special = directory->special;
    node->special_path = join_path(directory->special_path, file.name);
    directory->children[file.name] = std::move(node);
  }
}

void MemoryTree::tell(const NodePtr& node, TreeEvent::Kind kind, const std::string& name) {
  std::erase_if(node->watches, [](const auto& watch) { return watch.expired(); });
  for (const std::weak_ptr<memory_tree::WatchState>& watch : node->watches) {
    loop_->post([watch, event = TreeEvent{kind, name}] {
      if (const auto alive = watch.lock()) alive->sink(event);
    });
  }
}

absl::Status MemoryTree::make_node(const std::string& path, FileType type, mode_t mode) {
  const std::scoped_lock lock(mutex_);
  Found found;
  if (const int error = walk(path, false, &found); error != 0) return failed(error, "mknod", path);
  if (!found.missing) return failed(EEXIST, "mknod", path);
  ++next_call_;
  set_child(found.spot().node, found.name, new_node(type, mode, found.spot().node));
  tell(found.spot().node, TreeEvent::Kind::kCreated, found.name);
  return absl::OkStatus();
}

// --- files -------------------------------------------------------------------------------------------------------

absl::StatusOr<std::string> MemoryTree::content_of(const Node& node, std::size_t limit, const std::string& path,
                                                   bool tail) const {
  if (!node.is(FileType::kFile)) {
    return make_status(absl::StatusCode::kFailedPrecondition, "read {}: not a regular file", path);
  }
  std::string content = node.content;
  if (node.special) content = node.special->read(node.special_path).value_or(std::move(content));
  if (content.size() <= limit) return content;
  if (tail) return content.substr(content.size() - limit);
  return make_status(absl::StatusCode::kResourceExhausted, "read {}: longer than {} bytes", path, limit);
}

absl::StatusOr<std::string> MemoryTree::read(const std::string& path, std::size_t limit) {
  const std::scoped_lock lock(mutex_);
  Found found;
  if (const int error = find(path, true, Access::kLook, &found); error != 0) return failed(error, "open", path);
  return content_of(found.node(), limit, path, false);
}

absl::StatusOr<std::string> MemoryTree::read_tail(const std::string& path, std::size_t limit) {
  const std::scoped_lock lock(mutex_);
  Found found;
  if (const int error = find(path, true, Access::kLook, &found); error != 0) return failed(error, "open", path);
  return content_of(found.node(), limit, path, true);
}

absl::Status MemoryTree::write(const std::string& path, std::string_view content, mode_t mode) {
  const std::scoped_lock lock(mutex_);
  Found found;
  int error = fault(path, Access::kGrow);
  if (error == 0) error = walk(path, false, &found);
  if (error == 0 && found.spot().mount->read_only) error = EROFS;
  if (error == 0 && !found.missing && found.node().is(FileType::kSymlink)) error = ELOOP;
  if (error == 0 && !found.missing && found.node().is(FileType::kDirectory)) error = EISDIR;
  if (error != 0) return failed(error, "open", path);
  const NodePtr directory = found.parent().node;
  if (!found.missing && !found.node().is(FileType::kFile)) {
    return make_status(absl::StatusCode::kFailedPrecondition, "write {}: not a regular file", path);
  }
  if (found.missing && directory->special) return failed(EACCES, "open", path);
  if (found.missing) {
    ++next_call_;
    set_child(directory, found.name, new_node(FileType::kFile, mode, directory));
    tell(directory, TreeEvent::Kind::kCreated, found.name);
  }
  const NodePtr node = found.missing ? directory->children.at(found.name) : found.spot().node;
  if (node->special) {
    error = node->special->write(node->special_path, content, &node->content);
    if (error != 0) return failed(error, "write", path);
  } else {
    if (node->info.device == root_->info.device) unsynced_.try_emplace(node->info.inode, Unsynced{node, node->content});
    node->content = content;
  }
  node->info.modified = loop_->clock().wall();
  tell(directory, TreeEvent::Kind::kWritten, found.last_name());
  tell(node, TreeEvent::Kind::kWritten, "");
  return absl::OkStatus();
}

absl::Status MemoryTree::replace(const std::string& path, std::string_view content, mode_t mode) {
  const std::scoped_lock lock(mutex_);
  Found found;
  int error = fault(path, Access::kGrow);
  if (error == 0) error = walk(path, false, &found);
  if (error == 0 && (found.parent().mount->read_only)) error = EROFS;
  if (error == 0 && found.parent().node->special) error = EACCES;
  if (error == 0 && !found.missing && found.node().is(FileType::kDirectory)) error = EISDIR;
  if (error == 0 && !found.missing && is_busy(*found.parent().node->children.at(found.last_name()))) error = EBUSY;
  if (error != 0) return failed(error, "replace", path);
  const NodePtr directory = found.parent().node;
  const std::string name = found.last_name();
  const NodePtr node = new_node(FileType::kFile, mode, directory);
  node->content = content;
  const std::string temporary = fmt::format(".{}.tmp-{:08x}", name, next_temporary_++);
  tell(directory, TreeEvent::Kind::kCreated, temporary);
  tell(directory, TreeEvent::Kind::kWritten, temporary);
  ++next_call_;
  if (!found.missing) tell(found.spot().node, TreeEvent::Kind::kDeleted, "");
  set_child(directory, name, node);
  if (directory->info.device == root_->info.device) journal_.clear();
  tell(directory, TreeEvent::Kind::kMovedOut, temporary);
  tell(directory, TreeEvent::Kind::kMovedIn, name);
  return absl::OkStatus();
}

absl::StatusOr<FileInfo> MemoryTree::info(const std::string& path) {
  const std::scoped_lock lock(mutex_);
  Found found;
  if (const int error = find(path, false, Access::kLook, &found); error != 0) return failed(error, "lstat", path);
  return info_of(found.node());
}

absl::StatusOr<FileInfo> MemoryTree::info_followed(const std::string& path) {
  const std::scoped_lock lock(mutex_);
  Found found;
  if (const int error = find(path, true, Access::kLook, &found); error != 0) return failed(error, "stat", path);
  return info_of(found.node());
}

absl::Status MemoryTree::set_mode(const std::string& path, mode_t mode) {
  const std::scoped_lock lock(mutex_);
  Found found;
  int error = find(path, false, Access::kChange, &found);
  if (error == 0 && found.node().is(FileType::kSymlink)) error = ELOOP;
  if (error != 0) return failed(error, "chmod", path);
  found.node().info.mode = mode & 07777;
  tell(found.parent().node, TreeEvent::Kind::kAttributes, found.last_name());
  tell(found.spot().node, TreeEvent::Kind::kAttributes, "");
  return absl::OkStatus();
}

absl::Status MemoryTree::set_owner(const std::string& path, uid_t uid, gid_t gid) {
  const std::scoped_lock lock(mutex_);
  Found found;
  if (const int error = find(path, false, Access::kChange, &found); error != 0) return failed(error, "lchown", path);
  if (uid != static_cast<uid_t>(-1)) found.node().info.uid = uid;
  if (gid != static_cast<gid_t>(-1)) found.node().info.gid = gid;
  tell(found.parent().node, TreeEvent::Kind::kAttributes, found.last_name());
  tell(found.spot().node, TreeEvent::Kind::kAttributes, "");
  return absl::OkStatus();
}

absl::StatusOr<std::string> MemoryTree::read_beneath(const std::string& root, const std::string& sub_path,
                                                     std::size_t limit) {
  const std::scoped_lock lock(mutex_);
  Found base;
  Found found;
  const std::string path = join_path(root, sub_path);
  int error = fault(path, Access::kLook);
  if (error == 0) error = find(root, true, Access::kLook, &base);
  if (error == 0) error = walk(sub_path, true, &found, &base);
  if (error == 0 && found.missing) error = ENOENT;
  if (error != 0) return failed(error, "open", path);
  return content_of(found.node(), limit, path, false);
}

absl::StatusOr<std::unique_ptr<TreeWatch>> MemoryTree::watch(const std::string& path, Sink<TreeEvent> sink) {
  const std::scoped_lock lock(mutex_);
  Found found;
  if (const int error = find(path, true, Access::kLook, &found); error != 0) return failed(error, "watch", path);

  struct Watch final : TreeWatch {
    explicit Watch(std::shared_ptr<memory_tree::WatchState> s) : state(std::move(s)) { ++*state->count; }
    ~Watch() override { --*state->count; }
    std::shared_ptr<memory_tree::WatchState> state;
  };
  auto state = std::make_shared<memory_tree::WatchState>();
  state->sink = std::move(sink);
  state->count = watch_count_;
  found.node().watches.push_back(state);
  return std::make_unique<Watch>(std::move(state));
}

std::size_t MemoryTree::watches() const {
  return *watch_count_;
}

}  // namespace podwright
