// MemoryTree's mounts, its faults and the power cut.
#include <sys/mount.h>

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

void set_option(std::vector<std::string>* options, bool read_only) {
  std::erase(*options, "ro");
  std::erase(*options, "rw");
  options->insert(options->begin(), read_only ? "ro" : "rw");
}

std::vector<std::string> options_of(uint64_t flags, const std::string& data) {
  std::vector<std::string> options;
  set_option(&options, (flags & MS_RDONLY) != 0);
  if ((flags & MS_NOSUID) != 0) options.emplace_back("nosuid");
  if ((flags & MS_NODEV) != 0) options.emplace_back("nodev");
  if ((flags & MS_NOEXEC) != 0) options.emplace_back("noexec");
  for (std::size_t begin = 0; begin < data.size();) {
    const std::size_t end = std::min(data.find(',', begin), data.size());
    if (end > begin) options.push_back(data.substr(begin, end - begin));
    begin = end + 1;
  }
  return options;
}

// A part of `sub_path` that names the parent: refused before anything is looked up.
bool climbs(const std::string& sub_path) {
  const std::string padded = "/" + sub_path + "/";
  return padded.find("/../") != std::string::npos;
}

}  // namespace

// --- mounts ------------------------------------------------------------------------------------------------------

absl::StatusOr<FsStat> MemoryTree::fs_stat(const std::string& path) {
  const std::scoped_lock lock(mutex_);
  Found found;
  if (const int error = find(path, true, Access::kLook, &found); error != 0) return failed(error, "statfs", path);
  const std::pair<std::string, FsStat>* best = nullptr;
  for (const auto& known : fs_stats_) {
    if (is_within(path, known.first) && (best == nullptr || known.first.size() > best->first.size())) best = &known;
  }
  if (best != nullptr) return best->second;
  return FsStat{
      .capacity_bytes = 100ULL << 30, .available_bytes = 80ULL << 30, .inodes = 6'000'000, .inodes_free = 5'000'000};
}

absl::StatusOr<std::vector<MountEntry>> MemoryTree::mounts() {
  const std::scoped_lock lock(mutex_);
  std::vector<MountEntry> entries;
  for (const MountPtr& mount : mounts_) entries.push_back(mount->entry);
  return entries;
}

absl::StatusOr<bool> MemoryTree::is_mountpoint(const std::string& path) {
  const std::scoped_lock lock(mutex_);
  Found found;
  if (const int error = find(path, false, Access::kLook, &found); error != 0) return failed(error, "statx", path);
  return found.spot().node == found.spot().mount->root;
}

int MemoryTree::mount_at(const Found& target, NodePtr root, MountEntry entry, bool read_only) {
  const bool onto_directory = target.node().is(FileType::kDirectory);
  if (onto_directory != root->is(FileType::kDirectory)) return ENOTDIR;
  auto mount = std::make_shared<Mount>();
  mount->entry = std::move(entry);
  mount->entry.mountpoint = target.path();
  mount->parent = target.spot().mount;
  mount->covered = target.spot().node;
  mount->root = std::move(root);
  mount->read_only = read_only;
  ++mount->covered->mounts_on;
  mounts_.push_back(std::move(mount));
  return 0;
}

absl::Status MemoryTree::mount(const std::string& source, const std::string& target, const std::string& fs_type,
                               uint64_t flags, const std::string& data) {
  const std::scoped_lock lock(mutex_);
  Found at;
  int error = fault(target, Access::kChange);
  if (error == 0) error = walk(target, false, &at);
  if (error == 0 && at.missing) error = ENOENT;
  if (error == 0 && at.node().is(FileType::kSymlink)) error = ELOOP;
  if (error != 0) return failed(error, "mount", target);
  Mount& existing = *at.spot().mount;
  const bool is_root = at.spot().node == existing.root;
  if ((flags & (MS_SHARED | MS_PRIVATE | MS_SLAVE | MS_UNBINDABLE)) != 0) {
    if (!is_root) return failed(EINVAL, "mount", target);
    existing.entry.shared = (flags & MS_SHARED) != 0;
    return absl::OkStatus();
  }
  if ((flags & MS_REMOUNT) != 0) {
    if (!is_root) return failed(EINVAL, "mount", target);
    existing.read_only = (flags & MS_RDONLY) != 0;
    set_option(&existing.entry.options, existing.read_only);
    return absl::OkStatus();
  }
  if ((flags & MS_BIND) != 0) {
    Found from;
    error = find(source, true, Access::kLook, &from);
    if (error == 0) {
      MountEntry entry = from.spot().mount->entry;
      error = mount_at(at, from.spot().node, std::move(entry), from.spot().mount->read_only);
    }
  } else {
    const NodePtr root = new_node(FileType::kDirectory, 0755, nullptr);
    root->info.device = next_device_++;
    if (fs_type == "tmpfs") root->info.mode = 01777;
    error = mount_at(at, root, {.source = source, .fs_type = fs_type, .options = options_of(flags, data)},
                     (flags & MS_RDONLY) != 0);
  }
  return error == 0 ? absl::OkStatus() : failed(error, "mount", target);
}

absl::Status MemoryTree::mount_special(const std::string& target, const std::string& fs_type,
                                       std::shared_ptr<SpecialFs> fs, std::vector<std::string> options) {
  const std::scoped_lock lock(mutex_);
  Found at;
  int error = walk(target, true, &at);
  if (error == 0 && at.missing) error = ENOENT;
  if (error != 0) return failed(error, "mount", target);
  const NodePtr root = new_node(FileType::kDirectory, 0755, nullptr);
  root->info.device = next_device_++;
  root->special = std::move(fs);
  root->special_path = "/";
  add_special_files(root);
  error = mount_at(at, root, {.source = fs_type, .fs_type = fs_type, .options = std::move(options)}, false);
  return error == 0 ? absl::OkStatus() : failed(error, "mount", target);
}

absl::Status MemoryTree::unmount(const std::string& target, bool lazily) {
  const std::scoped_lock lock(mutex_);
  Found at;
  if (const int error = find(target, false, Access::kLook, &at); error != 0) return failed(error, "umount", target);
  const MountPtr mount = at.spot().mount;
  if (at.spot().node != mount->root || !mount->parent) return failed(EINVAL, "umount", target);
  std::vector<MountPtr> gone{mount};
  for (std::size_t i = 0; i < gone.size(); ++i) {
    for (const MountPtr& other : mounts_) {
      if (other->parent == gone[i]) gone.push_back(other);
    }
  }
  if (gone.size() > 1 && !lazily) return failed(EBUSY, "umount", target);
  for (const MountPtr& each : gone) {
    --each->covered->mounts_on;
    std::erase(mounts_, each);
  }
  return absl::OkStatus();
}

int MemoryTree::bind_target(const std::string& target, bool directory, Found* found) {
  int error = fault(target, Access::kChange);
  if (error == 0) error = walk(target, false, found);
  if (error != 0) return error;
  if (!found->missing) {
    if (found->node().is(FileType::kSymlink)) return ELOOP;
    return found->node().is(FileType::kDirectory) == directory ? 0 : ENOTDIR;
  }
  if (directory) return make_child_directory(*found, 0750, found);
  if (found->spot().mount->read_only) return EROFS;
  ++next_call_;
  set_child(found->spot().node, found->name, new_node(FileType::kFile, 0640, found->spot().node));
  tell(found->spot().node, TreeEvent::Kind::kCreated, found->name);
  return walk(target, false, found);
}

absl::Status MemoryTree::bind_beneath(const std::string& root, const std::string& sub_path, const std::string& target,
                                      mode_t mode, bool readonly) {
  const std::scoped_lock lock(mutex_);
  const std::string path = join_path(root, sub_path);
  if (sub_path.starts_with('/') || climbs(sub_path)) {
    return make_status(absl::StatusCode::kInvalidArgument, "bind {}: the path leaves {}", sub_path, root);
  }
  Found base;
  Found source;
  int error = fault(path, Access::kLook);
  if (error == 0) error = find(root, true, Access::kLook, &base);
  if (error == 0 && !base.node().is(FileType::kDirectory)) error = ENOTDIR;
  if (error != 0) return failed(error, "open", root);
  for (std::size_t end = 0; error == 0 && end <= sub_path.size();) {
    end = std::min(sub_path.find('/', end), sub_path.size());
    error = walk(sub_path.substr(0, end), true, &source, &base);
    if (error == 0 && source.missing) {
      Found link;
      error = walk(sub_path.substr(0, end), false, &link, &base);
      if (error == 0 && !link.missing) error = EEXIST;
      if (error == 0) error = make_child_directory(source, mode, &source);
    }
    ++end;
  }
  if (error != 0) return failed(error, "open", path);
  Found at;
  error = bind_target(target, source.node().is(FileType::kDirectory), &at);
  if (error == 0) {
    MountEntry entry = source.spot().mount->entry;
    const bool read_only = readonly || source.spot().mount->read_only;
    set_option(&entry.options, read_only);
    error = mount_at(at, source.spot().node, std::move(entry), read_only);
  }
  return error == 0 ? absl::OkStatus() : failed(error, fmt::format("bind {} to", path), target);
}

// --- faults ------------------------------------------------------------------------------------------------------

int MemoryTree::fault(const std::string& path, Access access) {
  for (auto known = faults_.rbegin(); known != faults_.rend(); ++known) {
    if (!is_within(path, known->prefix) || known->times == 0) continue;
    switch (known->kind) {
      case Fault::Kind::kFull:
        if (access != Access::kGrow) continue;
        return ENOSPC;
      case Fault::Kind::kReadOnly:
        if (access == Access::kLook) continue;
        return EROFS;
      case Fault::Kind::kError:
        if (known->times > 0) --known->times;
        return known->error_number;
    }
  }
  return 0;
}

void MemoryTree::set_full(const std::string& prefix, bool full) {
  const std::scoped_lock lock(mutex_);
  std::erase_if(faults_,
                [&](const Fault& known) { return known.prefix == prefix && known.kind == Fault::Kind::kFull; });
  if (full) faults_.push_back({prefix, Fault::Kind::kFull});
}

void MemoryTree::set_read_only(const std::string& prefix, bool read_only) {
  const std::scoped_lock lock(mutex_);
  std::erase_if(faults_,
                [&](const Fault& known) { return known.prefix == prefix && known.kind == Fault::Kind::kReadOnly; });
  if (read_only) faults_.push_back({prefix, Fault::Kind::kReadOnly});
}

void MemoryTree::fail(const std::string& prefix, int error_number, int times) {
  const std::scoped_lock lock(mutex_);
  faults_.push_back({prefix, Fault::Kind::kError, error_number, times});
}

void MemoryTree::heal(const std::string& prefix) {
  const std::scoped_lock lock(mutex_);
  std::erase_if(faults_, [&](const Fault& known) { return known.prefix == prefix; });
}

void MemoryTree::set_fs_stat(const std::string& prefix, FsStat stat) {
  const std::scoped_lock lock(mutex_);
  std::erase_if(fs_stats_, [&](const auto& known) { return known.first == prefix; });
  fs_stats_.emplace_back(prefix, stat);
}

// --- the power cut -----------------------------------------------------------------------------------------------

void MemoryTree::power_cut() {
  const std::scoped_lock lock(mutex_);
  for (; mounts_.size() > 1; mounts_.pop_back()) --mounts_.back()->covered->mounts_on;
  if (!journal_.empty()) {
    // The first call that did not reach the disk; one past the last where all did.
    const uint64_t first = journal_.front().call;
    const uint64_t lost_from = first + rng_.below(journal_.back().call - first + 2);
    while (!journal_.empty() && journal_.back().call >= lost_from) {
      const Change& change = journal_.back();
      if (change.before) {
        change.directory->children[change.name] = change.before;
      } else {
        change.directory->children.erase(change.name);
      }
      journal_.pop_back();
    }
    journal_.clear();
  }
  for (auto& [inode, unsynced] : unsynced_) {
    std::string& content = unsynced.file->content;
    switch (rng_.below(4)) {
      case 0: content = unsynced.before; break;
      case 1: content.clear(); break;
      case 2: content.resize(rng_.below(content.size() + 1)); break;
      default: break;
    }
  }
  unsynced_.clear();
}

}  // namespace podwright
