// The port to the machine's files: what the agent reads, writes, links, mounts and watches. The real one makes system
// calls (base/files/real_tree.h), the simulated one keeps a tree in memory that loses what was not synced when the
// power is cut (base/files/memory_tree.h).
//
// Calls are synchronous and short; they may be made from offloaded work (both trees may be used from several threads).
// What walks directories or reads much is offloaded by the caller; what can hang in the kernel (a dead network file
// system) goes through a helper process (base/process) instead.
//
// Paths are absolute. An error names the path and errno. Modes are set exactly, whatever the umask (S11).
#pragma once

#include <absl/status/status.h>
#include <absl/status/statusor.h>
#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/co/sink.h"
#include "base/time/time.h"

namespace podwright {

enum class FileType { kFile, kDirectory, kSymlink, kSocket, kFifo, kCharDevice, kBlockDevice };

struct FileInfo {
  FileType type = FileType::kFile;
  uint64_t size = 0;
  mode_t mode = 0;  // the permission bits, with setuid, setgid and sticky
  uid_t uid = 0;
  gid_t gid = 0;
  uint64_t inode = 0;
  uint64_t device = 0;
  WallTime modified;
  uint64_t allocated_bytes = 0;  // on disk; less than `size` of a sparse file
};

struct DirectoryEntry {
  std::string name;
  FileType type = FileType::kFile;
};

struct FsStat {
  uint64_t capacity_bytes = 0, available_bytes = 0;
  uint64_t inodes = 0, inodes_free = 0;
  uint64_t free_bytes = 0;  // with what only root may use
};

struct MountEntry {
  std::string mountpoint, source, fs_type;
  std::vector<std::string> options;
  bool shared = false;  // propagation
};

// What happened to a name in a watched directory (or to the watched file).
struct TreeEvent {
  enum class Kind { kWritten, kCreated, kMovedIn, kMovedOut, kDeleted, kAttributes, kOverflow };
  Kind kind = Kind::kOverflow;
  std::string name;
};

class TreeWatch {
 public:
  // Ends the watch.
  virtual ~TreeWatch() = default;
};

class Tree {
 public:
  virtual ~Tree() = default;

  // The whole file; ResourceExhausted where it is longer than `limit`. FailedPrecondition where it is not a regular
  // file (a FIFO is never opened in a way that blocks).
  virtual absl::StatusOr<std::string> read(const std::string& path, std::size_t limit) = 0;
  // At most `limit` bytes of the end.
  virtual absl::StatusOr<std::string> read_tail(const std::string& path, std::size_t limit) = 0;
  // Creates (with `mode`) or truncates; not atomic, not synced (cgroup and proc files). An existing file keeps its
  // mode. A link in the last place is not followed.
  virtual absl::Status write(const std::string& path, std::string_view content, mode_t mode) = 0;
  // Temporary file, fsync, rename, fsync of the directory: after a power cut the old or the new content.
  virtual absl::Status replace(const std::string& path, std::string_view content, mode_t mode) = 0;

  // lstat and stat.
  virtual absl::StatusOr<FileInfo> info(const std::string& path) = 0;
  virtual absl::StatusOr<FileInfo> info_followed(const std::string& path) = 0;
  // Without . and .., sorted by name.
  virtual absl::StatusOr<std::vector<DirectoryEntry>> list(const std::string& path) = 0;

  // With all parents (parents 0755 where new); an existing directory is fine and gets `mode`.
  virtual absl::Status make_directories(const std::string& path, mode_t mode) = 0;
  virtual absl::Status remove_file(const std::string& path) = 0;       // also of links; NotFound is an error
  virtual absl::Status remove_directory(const std::string& path) = 0;  // rmdir
  // Everything below and the directory itself, on one file system, following nothing (S2); nothing there is fine.
  virtual absl::Status remove_tree(const std::string& path) = 0;
  virtual absl::Status rename(const std::string& from, const std::string& to) = 0;
  virtual absl::Status make_symlink(const std::string& target, const std::string& path) = 0;
  virtual absl::StatusOr<std::string> read_symlink(const std::string& path) = 0;
  virtual absl::Status set_mode(const std::string& path, mode_t mode) = 0;            // a link is refused
  virtual absl::Status set_owner(const std::string& path, uid_t uid, gid_t gid) = 0;  // -1: leave; not followed

  virtual absl::StatusOr<FsStat> fs_stat(const std::string& path) = 0;
  virtual absl::StatusOr<std::vector<MountEntry>> mounts() = 0;
  virtual absl::StatusOr<bool> is_mountpoint(const std::string& path) = 0;
  virtual absl::Status mount(const std::string& source, const std::string& target, const std::string& fs_type,
                             uint64_t flags, const std::string& data) = 0;
  virtual absl::Status unmount(const std::string& target, bool lazily) = 0;
  // Binds `sub_path`, resolved beneath `root` without leaving it (openat2 RESOLVE_BENEATH, RESOLVE_NO_MAGICLINKS), onto
  // `target` by descriptor, so that no exchange of a link in between can lead outside (S1). Where nothing is there a
  // directory is made with `mode`. `target` is made as a file or directory, as the source is.
  virtual absl::Status bind_beneath(const std::string& root, const std::string& sub_path, const std::string& target,
                                    mode_t mode, bool readonly) = 0;
  // The content of a file below `root`, resolved the same way.
  virtual absl::StatusOr<std::string> read_beneath(const std::string& root, const std::string& sub_path,
                                                   std::size_t limit) = 0;

  // Watches a directory (or one file) for writes that were closed, creations (of links too), moves and deletions.
  // Events come on the loop thread. Ends with the returned object.
  virtual absl::StatusOr<std::unique_ptr<TreeWatch>> watch(const std::string& path, Sink<TreeEvent> sink) = 0;
};

// "a/b": joins with one slash.
std::string join_path(std::string_view left, std::string_view right);
// The part before the last slash ("/" for "/x"), and the one after it.
std::string parent_path(std::string_view path);
std::string file_name(std::string_view path);

}  // namespace podwright
