// RealTree's calls on files.
#include "base/files/real_tree.h"

#include <sys/random.h>
#include <sys/stat.h>

#include "base/files/beneath.h"
#include "base/files/descriptor.h"
#include "base/files/inotify.h"
#include "base/status/annotate.h"

namespace podwright {
namespace {

absl::Status failed(std::string_view call, const std::string& path) {
  return errno_status(errno, fmt::format("{} {}", call, path));
}

FileType type_of(mode_t mode) {
  switch (mode & S_IFMT) {
    case S_IFDIR: return FileType::kDirectory;
    case S_IFLNK: return FileType::kSymlink;
    case S_IFSOCK: return FileType::kSocket;
    case S_IFIFO: return FileType::kFifo;
    case S_IFCHR: return FileType::kCharDevice;
    case S_IFBLK: return FileType::kBlockDevice;
    default: return FileType::kFile;
  }
}

absl::StatusOr<FileInfo> stat_of(const std::string& path, int flags, std::string_view call) {
  struct stat seen {};
  if (::fstatat(AT_FDCWD, path.c_str(), &seen, flags | AT_NO_AUTOMOUNT) != 0) return failed(call, path);
  const Duration modified = std::chrono::seconds(seen.st_mtim.tv_sec) + std::chrono::nanoseconds(seen.st_mtim.tv_nsec);
  return FileInfo{.type = type_of(seen.st_mode),
                  .size = static_cast<uint64_t>(seen.st_size),
                  .mode = seen.st_mode & 07777,
                  .uid = seen.st_uid,
                  .gid = seen.st_gid,
                  .inode = seen.st_ino,
                  .device = seen.st_dev,
                  .modified = WallTime(modified),
                  .allocated_bytes = static_cast<uint64_t>(seen.st_blocks) * 512};
}

absl::Status check_regular(const Descriptor& file, std::string_view call, const std::string& path, off_t* size) {
  struct stat seen {};
  if (::fstat(file.get(), &seen) != 0) return failed("fstat", path);
  if (!S_ISREG(seen.st_mode)) {
    return make_status(absl::StatusCode::kFailedPrecondition, "{} {}: not a regular file", call, path);
  }
  *size = seen.st_size;
  return absl::OkStatus();
}

// From where the descriptor stands to the end. Sizes are not believed: files of the kernel tell zero or a page.
absl::StatusOr<std::string> read_all(const Descriptor& file, std::size_t limit, const std::string& path) {
  std::string content;
  std::array<char, 16384> piece;
  while (true) {
    const ssize_t got = retry_on_signal([&] { return ::read(file.get(), piece.data(), piece.size()); });
    if (got < 0) return failed("read", path);
    if (got == 0) return content;
    if (content.size() + static_cast<std::size_t>(got) > limit) {
      return make_status(absl::StatusCode::kResourceExhausted, "read {}: longer than {} bytes", path, limit);
    }
    content.append(piece.data(), static_cast<std::size_t>(got));
  }
}

// A name that is new in its directory.
std::string temporary_name(const std::string& name) {
  static std::atomic<uint32_t> counter{0};
  uint32_t drawn = 0;
  (void)!::getrandom(&drawn, sizeof(drawn), GRND_NONBLOCK);  // O_EXCL is what guarantees; the draw only avoids retries
  return fmt::format(".{}.tmp-{:08x}", name, drawn + counter.fetch_add(1));
}

int fill(const Descriptor& file, std::string_view content, mode_t mode) {
  if (const int error = write_all(file.get(), content); error != 0) return error;
  if (::fchmod(file.get(), mode) != 0) return errno;
  return retry_on_signal([&] { return ::fsync(file.get()); }) == 0 ? 0 : errno;
}

}  // namespace

RealTree::RealTree(RealLoop& loop) : loop_(loop) {}

RealTree::~RealTree() = default;

absl::StatusOr<std::string> RealTree::read(const std::string& path, std::size_t limit) {
  const Descriptor file(
      retry_on_signal([&] { return ::open(path.c_str(), O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC); }));
  if (!file.ok()) return failed("open", path);
  off_t size = 0;
  if (const absl::Status regular = check_regular(file, "read", path, &size); !regular.ok()) return regular;
  return read_all(file, limit, path);
}

absl::StatusOr<std::string> RealTree::read_tail(const std::string& path, std::size_t limit) {
  const Descriptor file(
      retry_on_signal([&] { return ::open(path.c_str(), O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC); }));
  if (!file.ok()) return failed("open", path);
  off_t size = 0;
  if (const absl::Status regular = check_regular(file, "read", path, &size); !regular.ok()) return regular;
  const off_t begin = std::max<off_t>(0, size - static_cast<off_t>(std::min<uint64_t>(limit, INT64_MAX)));
  std::string content(static_cast<std::size_t>(size - begin), '\0');
  std::size_t filled = 0;
  while (filled < content.size()) {
    const ssize_t got = retry_on_signal([&] {
      return ::pread(file.get(), content.data() + filled, content.size() - filled, begin + static_cast<off_t>(filled));
    });
    if (got < 0) return failed("read", path);
    if (got == 0) break;  // it was cut meanwhile
    filled += static_cast<std::size_t>(got);
  }
  content.resize(filled);
  return content;
}

absl::Status RealTree::write(const std::string& path, std::string_view content, mode_t mode) {
  constexpr int kFlags = O_WRONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC;
  Descriptor file(retry_on_signal([&] { return ::open(path.c_str(), kFlags | O_TRUNC); }));
  bool made = false;
  if (!file.ok() && errno == ENOENT) {
    file.reset(retry_on_signal([&] { return ::open(path.c_str(), kFlags | O_CREAT, mode & 0600); }));
    made = true;
  }
  if (!file.ok()) {
    if (errno != ENXIO) return failed("open", path);
    return make_status(absl::StatusCode::kFailedPrecondition, "write {}: not a regular file", path);
  }
  off_t size = 0;
  if (const absl::Status regular = check_regular(file, "write", path, &size); !regular.ok()) return regular;
  if (made && ::fchmod(file.get(), mode) != 0) return failed("chmod", path);
  if (const int error = write_all(file.get(), content); error != 0) {
    return errno_status(error, fmt::format("write {}", path));
  }
  return absl::OkStatus();
}

absl::Status RealTree::replace(const std::string& path, std::string_view content, mode_t mode) {
  const Descriptor directory(
      retry_on_signal([&] { return ::open(parent_path(path).c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC); }));
  if (!directory.ok()) return failed("replace", path);
  const std::string name = file_name(path);
  std::string temporary;
  Descriptor file;
  for (int i = 0; i < 16 && !file.ok(); ++i) {
    temporary = temporary_name(name);
    file.reset(retry_on_signal([&] {
      return ::openat(directory.get(), temporary.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    }));
    if (!file.ok() && errno != EEXIST) break;
  }
  if (!file.ok()) return failed("replace", path);
  int error = fill(file, content, mode);
  if (error == 0 && ::renameat(directory.get(), temporary.c_str(), directory.get(), name.c_str()) != 0) error = errno;
  if (error != 0) {
    (void)::unlinkat(directory.get(), temporary.c_str(), 0);
    return errno_status(error, fmt::format("replace {}", path));
  }
  if (retry_on_signal([&] { return ::fsync(directory.get()); }) != 0) return failed("fsync directory of", path);
  return absl::OkStatus();
}

absl::StatusOr<FileInfo> RealTree::info(const std::string& path) {
  return stat_of(path, AT_SYMLINK_NOFOLLOW, "lstat");
}

absl::StatusOr<FileInfo> RealTree::info_followed(const std::string& path) {
  return stat_of(path, 0, "stat");
}

absl::Status RealTree::set_mode(const std::string& path, mode_t mode) {
  const Descriptor file(retry_on_signal([&] { return ::open(path.c_str(), O_PATH | O_NOFOLLOW | O_CLOEXEC); }));
  if (!file.ok()) return failed("chmod", path);
  const int error = set_mode_of(file, mode);
  return error == 0 ? absl::OkStatus() : errno_status(error, fmt::format("chmod {}", path));
}

absl::Status RealTree::set_owner(const std::string& path, uid_t uid, gid_t gid) {
  if (::lchown(path.c_str(), uid, gid) != 0) return failed("lchown", path);
  return absl::OkStatus();
}

absl::StatusOr<std::string> RealTree::read_beneath(const std::string& root, const std::string& sub_path,
                                                   std::size_t limit) {
  const std::string path = join_path(root, sub_path);
  const Descriptor base(retry_on_signal([&] { return ::open(root.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC); }));
  if (!base.ok()) return failed("open", root);
  // Looked at before it is opened to be read: to open a device can do something.
  const Descriptor seen = open_beneath(base.get(), sub_path, O_PATH);
  if (!seen.ok()) return failed("open", path);
  off_t size = 0;
  if (const absl::Status regular = check_regular(seen, "read", path, &size); !regular.ok()) return regular;
  const Descriptor file(
      retry_on_signal([&] { return ::open(seen.proc_path().c_str(), O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC); }));
  if (!file.ok()) return failed("open", path);
  return read_all(file, limit, path);
}

absl::StatusOr<std::unique_ptr<TreeWatch>> RealTree::watch(const std::string& path, Sink<TreeEvent> sink) {
  if (!inotify_) {
    auto opened = Inotify::open(loop_);
    if (!opened.ok()) return annotate(opened.status(), "watch {}", path);
    inotify_ = *std::move(opened);
  }
  return inotify_->add(path, std::move(sink));
}

}  // namespace podwright
