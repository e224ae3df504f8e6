// MemoryTree: a whole Tree in memory, for the simulation and for unit tests. Links, modes, mounts and watches behave as
// the kernel's do; one suite of tests runs over this tree and the real one.
//
// The tree is the machine's disk, so it outlives a crash of the agent: after one, attach() the next loop. Watches
// belong to the agent and die with their owner. A power cut is power_cut(): mounts and what lives in memory are gone,
// and what was not synced may be.
//
// Calls are serialised by one mutex, so offloaded work may make them too; events are delivered by Loop::post.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "base/co/loop.h"
#include "base/files/tree.h"

namespace podwright {

namespace memory_tree {
struct Node;
struct Mount;
struct Spot;
struct Found;
struct WatchState;
}  // namespace memory_tree

// A file system of the kernel's own, such as cgroupfs (base/files/memory_cgroups.h): what a new directory holds, what
// is read and what a write does. Paths count from the root of the file system: "/pod1/cgroup.procs".
class SpecialFs {
 public:
  struct File {
    std::string name, content;
    mode_t mode = 0644;
  };

  virtual ~SpecialFs() = default;
  // The files of the directory that was just made; of "/" at the mount.
  virtual std::vector<File> new_directory(const std::string& path) = 0;
  // Zero or an errno. `stored` is what the file holds from now on, at first its old content.
  virtual int write(const std::string& path, std::string_view content, std::string* stored) = 0;
  // The content at this moment; nothing where what is stored counts.
  virtual std::optional<std::string> read(const std::string& path) = 0;
  // Zero, or the errno that rmdir fails with. Its files never hold a directory.
  virtual int remove_directory(const std::string& path) = 0;
};

class MemoryTree final : public Tree {
 public:
  explicit MemoryTree(Loop& loop, uint64_t seed = 1);
  ~MemoryTree() override;

  // The loop that events go to from now on, and whose clock dates files: after a crash of the agent.
  void attach(Loop& loop);

  // The power goes and comes back: mounts, tmpfs and special file systems are gone. Directory changes are lost from
  // some point on, drawn by the seed, but none from before the last replace() (a journal that is committed in order, as
  // ext4's). A file written by write() since holds, by the seed, its old content, nothing, a part or all of the new.
  // Modes and owners are kept.
  void power_cut();

  // Faults; `prefix` is a path and all below it, as callers write it. The last that was set for a path counts.
  // Writes, creations and links fail with ENOSPC.
  void set_full(const std::string& prefix, bool full);
  // Every change fails with EROFS.
  void set_read_only(const std::string& prefix, bool read_only);
  // The next `times` calls fail with `error_number`; for ever where negative.
  void fail(const std::string& prefix, int error_number, int times = -1);
  // Takes away what the three above set for exactly this prefix.
  void heal(const std::string& prefix);
  // What fs_stat() tells from now on; longest prefix first.
  void set_fs_stat(const std::string& prefix, FsStat stat);
  // Sockets, FIFOs and devices, for tests of what is met in a directory.
  absl::Status make_node(const std::string& path, FileType type, mode_t mode);
  // Mounts a file system of the kernel's own.
  absl::Status mount_special(const std::string& target, const std::string& fs_type, std::shared_ptr<SpecialFs> fs,
                             std::vector<std::string> options = {"rw"});
  // Watches alive, for leak checks.
  std::size_t watches() const;

  absl::StatusOr<std::string> read(const std::string& path, std::size_t limit) override;
  absl::StatusOr<std::string> read_tail(const std::string& path, std::size_t limit) override;
  absl::Status write(const std::string& path, std::string_view content, mode_t mode) override;
  absl::Status replace(const std::string& path, std::string_view content, mode_t mode) override;
  absl::StatusOr<FileInfo> info(const std::string& path) override;
  absl::StatusOr<FileInfo> info_followed(const std::string& path) override;
  absl::StatusOr<std::vector<DirectoryEntry>> list(const std::string& path) override;
  absl::Status make_directories(const std::string& path, mode_t mode) override;
  absl::Status remove_file(const std::string& path) override;
  absl::Status remove_directory(const std::string& path) override;
  absl::Status remove_tree(const std::string& path) override;
  absl::Status rename(const std::string& from, const std::string& to) override;
  absl::Status make_symlink(const std::string& target, const std::string& path) override;
  absl::StatusOr<std::string> read_symlink(const std::string& path) override;
  absl::Status set_mode(const std::string& path, mode_t mode) override;
  absl::Status set_owner(const std::string& path, uid_t uid, gid_t gid) override;
  absl::StatusOr<FsStat> fs_stat(const std::string& path) override;
  absl::StatusOr<std::vector<MountEntry>> mounts() override;
  absl::StatusOr<bool> is_mountpoint(const std::string& path) override;
  absl::Status mount(const std::string& source, const std::string& target, const std::string& fs_type, uint64_t flags,
                     const std::string& data) override;
  absl::Status unmount(const std::string& target, bool lazily) override;
  absl::Status bind_beneath(const std::string& root, const std::string& sub_path, const std::string& target,
                            mode_t mode, bool readonly) override;
  absl::StatusOr<std::string> read_beneath(const std::string& root, const std::string& sub_path,
                                           std::size_t limit) override;
  absl::StatusOr<std::unique_ptr<TreeWatch>> watch(const std::string& path, Sink<TreeEvent> sink) override;

 private:
  using NodePtr = std::shared_ptr<memory_tree::Node>;
  using MountPtr = std::shared_ptr<memory_tree::Mount>;
  enum class Access { kLook, kChange, kGrow };

  struct Fault {
    std::string prefix;
    enum class Kind { kFull, kReadOnly, kError } kind = Kind::kError;
    int error_number = 0;
    int times = -1;
  };
  // One changed name of a directory of the disk, with what was there before. Those of one call have one number.
  struct Change {
    uint64_t call = 0;
    NodePtr directory;
    std::string name;
    NodePtr before;
  };
  struct Unsynced {
    NodePtr file;
    std::string before;
  };

  // Zero or the errno that a fault says.
  int fault(const std::string& path, Access access);
  // An errno, or what is found. `beneath` is where the walk starts and what it may not leave; the root where null.
  int walk(const std::string& path, bool follow_last, memory_tree::Found* found,
           const memory_tree::Found* beneath = nullptr) const;
  // walk() after fault(), where the last name must exist.
  int find(const std::string& path, bool follow_last, Access access, memory_tree::Found* found);
  memory_tree::Spot enter(MountPtr mount, NodePtr node) const;
  bool is_busy(const memory_tree::Node& node) const;
  NodePtr new_node(FileType type, mode_t mode, const NodePtr& directory);
  void set_child(const NodePtr& directory, const std::string& name, NodePtr child);
  void add_special_files(const NodePtr& directory);
  void forget_oldest_changes();
  int make_child_directory(const memory_tree::Found& missing, mode_t mode, memory_tree::Found* made);
  int remove_below(const MountPtr& mount, const NodePtr& directory);
  int mount_at(const memory_tree::Found& target, NodePtr root, MountEntry entry, bool read_only);
  int bind_target(const std::string& target, bool directory, memory_tree::Found* found);
  absl::StatusOr<std::string> content_of(const memory_tree::Node& node, std::size_t limit, const std::string& path,
                                         bool tail) const;
  void tell(const NodePtr& node, TreeEvent::Kind kind, const std::string& name);

  mutable std::recursive_mutex mutex_;
  Loop* loop_;
  SeededRng rng_;
  uint64_t next_inode_ = 2;
  uint64_t next_device_ = 1;
  uint64_t next_call_ = 1;
  uint64_t next_temporary_ = 1;
  NodePtr root_;
  std::vector<MountPtr> mounts_;  // the disk's first
  std::vector<Fault> faults_;
  std::vector<std::pair<std::string, FsStat>> fs_stats_;
  std::vector<Change> journal_;
  std::map<uint64_t, Unsynced> unsynced_;  // by inode
  std::shared_ptr<std::size_t> watch_count_ = std::make_shared<std::size_t>(0);
};

}  // namespace podwright
