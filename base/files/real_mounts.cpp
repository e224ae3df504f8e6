// RealTree's mounts.
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>

#include "base/files/beneath.h"
#include "base/files/descriptor.h"
#include "base/files/real_tree.h"
#include "base/limits.h"
#include "base/status/annotate.h"

namespace podwright {
namespace {

absl::Status failed(std::string_view call, const std::string& path) {
  return errno_status(errno, fmt::format("{} {}", call, path));
}

bool climbs(const std::string& sub_path) {
  const std::vector<std::string> parts = path_parts(sub_path);
  return std::find(parts.begin(), parts.end(), "..") != parts.end();
}

// The place where a mount goes, made as a file or directory where nothing is there; errno where not ok().
Descriptor open_target(const std::string& target, bool directory) {
  const Descriptor parent(
      retry_on_signal([&] { return ::open(parent_path(target).c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC); }));
  if (!parent.ok()) return Descriptor();
  const std::string name = file_name(target);
  if (directory) {
    if (::mkdirat(parent.get(), name.c_str(), 0750) != 0 && errno != EEXIST) return Descriptor();
  } else {
    const Descriptor made(retry_on_signal([&] {
      return ::openat(parent.get(), name.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0640);
    }));
    if (!made.ok() && errno != EEXIST) return Descriptor();
  }
  Descriptor place(
      retry_on_signal([&] { return ::openat(parent.get(), name.c_str(), O_PATH | O_NOFOLLOW | O_CLOEXEC); }));
  struct stat seen {};
  if (!place.ok() || ::fstat(place.get(), &seen) != 0) return Descriptor();
  if (S_ISLNK(seen.st_mode)) {
    errno = ELOOP;
    return Descriptor();
  }
  if (S_ISDIR(seen.st_mode) != directory) {
    errno = ENOTDIR;
    return Descriptor();
  }
  return place;
}

}  // namespace

absl::StatusOr<FsStat> RealTree::fs_stat(const std::string& path) {
  struct statvfs seen {};
  if (retry_on_signal([&] { return ::statvfs(path.c_str(), &seen); }) != 0) return failed("statfs", path);
  return FsStat{.capacity_bytes = seen.f_blocks * seen.f_frsize,
                .available_bytes = seen.f_bavail * seen.f_frsize,
                .inodes = seen.f_files,
                .inodes_free = seen.f_ffree,
                .free_bytes = seen.f_bfree * seen.f_frsize};
}

absl::StatusOr<std::vector<MountEntry>> RealTree::mounts() {
  const auto text = read("/proc/self/mountinfo", limits::kMountInfoBytes);
  if (!text.ok()) return text.status();
  return parse_mountinfo(*text);
}

absl::StatusOr<bool> RealTree::is_mountpoint(const std::string& path) {
  struct statx seen {};
  if (::statx(AT_FDCWD, path.c_str(), AT_SYMLINK_NOFOLLOW | AT_NO_AUTOMOUNT, STATX_TYPE, &seen) != 0) {
    return failed("statx", path);
  }
  // Known since Linux 5.8; 5.15 is the least that the agent runs on.
  return (seen.stx_attributes & STATX_ATTR_MOUNT_ROOT) != 0;
}

absl::Status RealTree::mount(const std::string& source, const std::string& target, const std::string& fs_type,
                             uint64_t flags, const std::string& data) {
  const Descriptor place(retry_on_signal([&] { return ::open(target.c_str(), O_PATH | O_NOFOLLOW | O_CLOEXEC); }));
  struct stat seen {};
  if (!place.ok() || ::fstat(place.get(), &seen) != 0) return failed("mount", target);
  if (S_ISLNK(seen.st_mode)) return errno_status(ELOOP, fmt::format("mount {}", target));
  if (::mount(source.c_str(), place.proc_path().c_str(), fs_type.c_str(), flags, data.c_str()) != 0) {
    return failed("mount", target);
  }
  return absl::OkStatus();
}

absl::Status RealTree::unmount(const std::string& target, bool lazily) {
  if (::umount2(target.c_str(), UMOUNT_NOFOLLOW | (lazily ? MNT_DETACH : 0)) != 0) return failed("umount", target);
  return absl::OkStatus();
}

absl::Status RealTree::bind_beneath(const std::string& root, const std::string& sub_path, const std::string& target,
                                    mode_t mode, bool readonly) {
  const std::string path = join_path(root, sub_path);
  if (sub_path.starts_with('/') || climbs(sub_path)) {
    return make_status(absl::StatusCode::kInvalidArgument, "bind {}: the path leaves {}", sub_path, root);
  }
  const Descriptor base(retry_on_signal([&] { return ::open(root.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC); }));
  if (!base.ok()) return failed("open", root);
  const Descriptor source = open_or_make_beneath(base.get(), sub_path, mode);
  struct stat seen {};
  if (!source.ok() || ::fstat(source.get(), &seen) != 0) return failed("open", path);

  const Descriptor place = open_target(target, S_ISDIR(seen.st_mode));
  if (!place.ok()) return failed(fmt::format("bind {} to", path), target);
  const Descriptor tree(
      ::open_tree(source.get(), "", OPEN_TREE_CLONE | static_cast<unsigned>(OPEN_TREE_CLOEXEC) | AT_EMPTY_PATH));
  if (!tree.ok()) return failed("open_tree", path);
  if (readonly) {
    mount_attr attributes{};
    attributes.attr_set = MOUNT_ATTR_RDONLY;
    if (::mount_setattr(tree.get(), "", AT_EMPTY_PATH, &attributes, sizeof(attributes)) != 0) {
      return failed("make read-only", path);
    }
  }
  if (::move_mount(tree.get(), "", place.get(), "", MOVE_MOUNT_F_EMPTY_PATH | MOVE_MOUNT_T_EMPTY_PATH) != 0) {
    return failed(fmt::format("bind {} to", path), target);
  }
  return absl::OkStatus();
}

}  // namespace podwright
