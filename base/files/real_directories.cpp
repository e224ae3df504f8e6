// RealTree's directories and links.
#include <dirent.h>
#include <linux/fs.h>
#include <sys/stat.h>

#include <climits>

#include "base/files/beneath.h"
#include "base/files/descriptor.h"
#include "base/files/real_tree.h"
#include "base/status/annotate.h"

namespace podwright {
namespace {

absl::Status failed(std::string_view call, const std::string& path) {
  return errno_status(errno, fmt::format("{} {}", call, path));
}

FileType type_of(const dirent& entry, int directory) {
  unsigned char type = entry.d_type;
  if (type == DT_UNKNOWN) {
    struct stat seen {};
    if (::fstatat(directory, entry.d_name, &seen, AT_SYMLINK_NOFOLLOW) == 0) type = IFTODT(seen.st_mode);
  }
  switch (type) {
    case DT_DIR: return FileType::kDirectory;
    case DT_LNK: return FileType::kSymlink;
    case DT_SOCK: return FileType::kSocket;
    case DT_FIFO: return FileType::kFifo;
    case DT_CHR: return FileType::kCharDevice;
    case DT_BLK: return FileType::kBlockDevice;
    default: return FileType::kFile;
  }
}

// Zero or an errno. The descriptor is taken over.
int read_entries(Descriptor directory, std::vector<DirectoryEntry>* entries) {
  const int fd = directory.get();
  DIR* stream = ::fdopendir(fd);
  if (stream == nullptr) return errno;
  (void)directory.release();
  int error = 0;
  while (true) {
    errno = 0;
    const dirent* entry = ::readdir(stream);
    if (entry == nullptr) {
      error = errno;
      break;
    }
    const std::string_view name = entry->d_name;
    if (name == "." || name == "..") continue;
    entries->push_back({std::string(name), type_of(*entry, fd)});
  }
  ::closedir(stream);
  return error;
}

// Removes what is below a directory, by descriptors only. A user may have made the tree as deep as the disk allows:
// beyond kDeepest, a directory is moved up to the top before it is entered, so that descriptors and stack are bounded.
class Removal {
 public:
  explicit Removal(Descriptor top) : top_(std::move(top)) {}

  int run() {
    // A directory that was moved up is met by the next pass. Each pass ends with fewer levels than it began with.
    do {
      moved_ = false;
      first_error_ = 0;
      empty(top_.get(), 0);
    } while (moved_);
    return first_error_;
  }

 private:
  static constexpr int kDeepest = 48;

  void note(int error) {
    if (first_error_ == 0) first_error_ = error;
  }

  void empty(int directory, int depth) {
    Descriptor again(retry_on_signal([&] { return ::openat(directory, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC); }));
    std::vector<DirectoryEntry> entries;
    const int error = again.ok() ? read_entries(std::move(again), &entries) : errno;
    if (error != 0) return note(error);
    for (const DirectoryEntry& entry : entries) remove_entry(directory, entry.name, depth);
  }

  void remove_entry(int directory, const std::string& name, int depth) {
    if (::unlinkat(directory, name.c_str(), 0) == 0 || errno == ENOENT) return;
    if (errno != EISDIR && errno != EPERM) return note(errno);
    if (::unlinkat(directory, name.c_str(), AT_REMOVEDIR) == 0 || errno == ENOENT) return;
    if (errno != ENOTEMPTY && errno != EEXIST) return note(errno);
    if (depth >= kDeepest && move_up(directory, name)) return;
    // RESOLVE_NO_XDEV also refuses a bind mount of the same device.
    const Descriptor child = open_resolved(directory, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW,
                                           RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_XDEV);
    if (!child.ok()) {
      if (errno != ENOENT) note(errno);
      return;
    }
    empty(child.get(), depth + 1);
    if (::unlinkat(directory, name.c_str(), AT_REMOVEDIR) != 0 && errno != ENOENT) {
      // What was moved up out of it may still lie in the way of the next pass; other reasons are noted already or here.
      note(errno);
    }
  }

  bool move_up(int directory, const std::string& name) {
    for (int i = 0; i < 64; ++i) {
      const std::string fresh = fmt::format(".removed-{}", next_++);
      if (::renameat2(directory, name.c_str(), top_.get(), fresh.c_str(), RENAME_NOREPLACE) == 0) {
        moved_ = true;
        return true;
      }
      if (errno != EEXIST) return false;
    }
    return false;
  }

  Descriptor top_;
  bool moved_ = false;
  int first_error_ = 0;
  uint64_t next_ = 0;
};

}  // namespace

absl::StatusOr<std::vector<DirectoryEntry>> RealTree::list(const std::string& path) {
  Descriptor directory(retry_on_signal([&] { return ::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC); }));
  if (!directory.ok()) return failed("open", path);
  std::vector<DirectoryEntry> entries;
  if (const int error = read_entries(std::move(directory), &entries); error != 0) {
    return errno_status(error, fmt::format("list {}", path));
  }
  std::sort(entries.begin(), entries.end(), [](const auto& a, const auto& b) { return a.name < b.name; });
  return entries;
}

absl::Status RealTree::make_directories(const std::string& path, mode_t mode) {
  for (std::size_t end = 0; end < path.size();) {
    end = std::min(path.find('/', end + 1), path.size());
    const std::string prefix = path.substr(0, end);
    if (prefix.back() == '/') continue;
    if (::mkdir(prefix.c_str(), 0700) == 0) {
      const absl::Status exact = set_mode(prefix, 0755);
      if (!exact.ok()) return exact;
    } else if (errno != EEXIST && errno != EROFS) {
      return failed("mkdir", prefix);
    } else {
      // On a read-only file system mkdir says EROFS of what exists too.
      const int reason = errno;
      struct stat seen {};
      if (::stat(prefix.c_str(), &seen) != 0) return errno_status(reason, fmt::format("mkdir {}", prefix));
      if (!S_ISDIR(seen.st_mode)) return errno_status(ENOTDIR, fmt::format("mkdir {}", prefix));
    }
  }
  const Descriptor made(retry_on_signal([&] { return ::open(path.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC); }));
  if (!made.ok()) return failed("mkdir", path);
  const int error = set_mode_of(made, mode);
  return error == 0 ? absl::OkStatus() : errno_status(error, fmt::format("chmod {}", path));
}

absl::Status RealTree::remove_file(const std::string& path) {
  if (::unlink(path.c_str()) != 0) return failed("unlink", path);
  return absl::OkStatus();
}

absl::Status RealTree::remove_directory(const std::string& path) {
  if (::rmdir(path.c_str()) != 0) return failed("rmdir", path);
  return absl::OkStatus();
}

absl::Status RealTree::remove_tree(const std::string& path) {
  const Descriptor parent(
      retry_on_signal([&] { return ::open(parent_path(path).c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC); }));
  if (!parent.ok()) return errno == ENOENT ? absl::OkStatus() : failed("remove", path);
  const std::string name = file_name(path);
  if (::unlinkat(parent.get(), name.c_str(), 0) == 0 || errno == ENOENT) return absl::OkStatus();
  if (errno != EISDIR && errno != EPERM) return failed("remove", path);
  Descriptor top = open_resolved(parent.get(), name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW,
                                 RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_XDEV);
  int error = top.ok() ? Removal(std::move(top)).run() : errno;
  if (error == 0 && ::unlinkat(parent.get(), name.c_str(), AT_REMOVEDIR) != 0 && errno != ENOENT) error = errno;
  if (error == EXDEV || error == EBUSY) {
    return make_status(absl::StatusCode::kFailedPrecondition, "remove {}: something is mounted in it", path);
  }
  return error == 0 ? absl::OkStatus() : errno_status(error, fmt::format("remove {}", path));
}

absl::Status RealTree::rename(const std::string& from, const std::string& to) {
  if (::rename(from.c_str(), to.c_str()) != 0) return failed("rename", fmt::format("{} to {}", from, to));
  return absl::OkStatus();
}

absl::Status RealTree::make_symlink(const std::string& target, const std::string& path) {
  if (::symlink(target.c_str(), path.c_str()) != 0) return failed("symlink", path);
  return absl::OkStatus();
}

absl::StatusOr<std::string> RealTree::read_symlink(const std::string& path) {
  std::string target(PATH_MAX, '\0');
  const ssize_t length = ::readlink(path.c_str(), target.data(), target.size());
  if (length < 0) return failed("readlink", path);
  target.resize(static_cast<std::size_t>(length));
  return target;
}

}  // namespace podwright
