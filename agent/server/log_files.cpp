#include "agent/server/log_files.h"

#include <dirent.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <zlib.h>

#include <algorithm>
#include <cerrno>

#include "base/status/annotate.h"

namespace podwright::server {
namespace {

class PlainFile final : public LogFile {
 public:
  PlainFile(int fd, std::string path, uint64_t inode, WallTime modified)
      : fd_(fd), path_(std::move(path)), inode_(inode), modified_(modified) {}
  ~PlainFile() override { ::close(fd_); }

  absl::StatusOr<std::string> read_at(uint64_t offset, std::size_t limit) override {
    std::string bytes(limit, '\0');
    ssize_t got = 0;
    do {
      got = ::pread(fd_, bytes.data(), bytes.size(), static_cast<off_t>(offset));
    } while (got < 0 && errno == EINTR);
    if (got < 0) return errno_status(errno, "read " + path_);
    bytes.resize(static_cast<std::size_t>(got));
    return bytes;
  }
  absl::StatusOr<uint64_t> size() override {
    struct stat info {};
    if (::fstat(fd_, &info) != 0) return errno_status(errno, "stat " + path_);
    return static_cast<uint64_t>(info.st_size);
  }
  bool compressed() const override { return false; }
  uint64_t inode() const override { return inode_; }
  WallTime modified() const override { return modified_; }

 private:
  int fd_;
  std::string path_;
  uint64_t inode_;
  WallTime modified_;
};

class GzipFile final : public LogFile {
 public:
  GzipFile(gzFile file, std::string path, uint64_t inode, WallTime modified)
      : file_(file), path_(std::move(path)), inode_(inode), modified_(modified) {}
  ~GzipFile() override { ::gzclose(file_); }

  absl::StatusOr<std::string> read_at(uint64_t offset, std::size_t limit) override {
    if (::gztell(file_) != static_cast<z_off_t>(offset) &&
        ::gzseek(file_, static_cast<z_off_t>(offset), SEEK_SET) < 0) {
      return broken();
    }
    std::string bytes(limit, '\0');
    const int got = ::gzread(file_, bytes.data(), static_cast<unsigned>(bytes.size()));
    if (got < 0) return broken();
    bytes.resize(static_cast<std::size_t>(got));
    return bytes;
  }
  absl::StatusOr<uint64_t> size() override { return 0; }
  bool compressed() const override { return true; }
  uint64_t inode() const override { return inode_; }
  WallTime modified() const override { return modified_; }

 private:
  absl::Status broken() {
    int code = 0;
    const char* text = ::gzerror(file_, &code);
    return make_status(absl::StatusCode::kDataLoss, "read {}: {}", path_, text == nullptr ? "not gzip" : text);
  }

  gzFile file_;
  std::string path_;
  uint64_t inode_;
  WallTime modified_;
};

class RealLogFiles final : public LogFiles {
 public:
  explicit RealLogFiles(std::string root) : root_(std::move(root)) {}

  absl::StatusOr<std::unique_ptr<LogFile>> open(const std::string& path) override {
    const auto fd = open_beneath(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    if (!fd.ok()) return fd.status();
    struct stat info {};
    if (::fstat(*fd, &info) != 0 || !S_ISREG(info.st_mode)) {
      ::close(*fd);
      return make_status(absl::StatusCode::kFailedPrecondition, "open {}/{}: not a regular file", root_, path);
    }
    const WallTime modified{std::chrono::seconds(info.st_mtim.tv_sec) + Duration(info.st_mtim.tv_nsec)};
    if (!path.ends_with(".gz")) return std::make_unique<PlainFile>(*fd, root_ + "/" + path, info.st_ino, modified);
    const gzFile file = ::gzdopen(*fd, "rb");
    if (file == nullptr) {
      ::close(*fd);
      return make_status(absl::StatusCode::kInternal, "open {}/{}: no memory for gzip", root_, path);
    }
    return std::make_unique<GzipFile>(file, root_ + "/" + path, info.st_ino, modified);
  }

  absl::StatusOr<std::vector<std::string>> list(const std::string& directory) override {
    const auto fd = open_beneath(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (absl::IsNotFound(fd.status())) return std::vector<std::string>();
    if (!fd.ok()) return fd.status();
    DIR* dir = ::fdopendir(*fd);
    if (dir == nullptr) {
      const int error = errno;
      ::close(*fd);
      return errno_status(error, "list " + root_ + "/" + directory);
    }
    std::vector<std::string> names;
    while (const dirent* entry = ::readdir(dir)) {
      if (entry->d_name[0] != '.') names.emplace_back(entry->d_name);
    }
    ::closedir(dir);
    std::sort(names.begin(), names.end());
    return names;
  }

 private:
  absl::StatusOr<int> open_beneath(const std::string& path, int flags) {
    // The root itself may be reached by links: it is the administrator's.
    const int root = ::open(root_.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (root < 0) return errno_status(errno, "open " + root_);
    open_how how{};
    how.flags = static_cast<uint64_t>(flags);
    how.resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS;
    const long fd = ::syscall(SYS_openat2, root, path.c_str(), &how, sizeof how);
    const int error = errno;
    ::close(root);
    if (fd < 0) return errno_status(error, "open " + root_ + "/" + path);
    return static_cast<int>(fd);
  }

  std::string root_;
};

}  // namespace

std::unique_ptr<LogFiles> real_log_files(std::string root) {
  return std::make_unique<RealLogFiles>(std::move(root));
}

}  // namespace podwright::server
