// RealTree: the machine's files by system calls. Nothing that a user can name is resolved twice: what is resolved is
// held as a descriptor and used as one (security rules S1, S2).
//   read          follows links, as the configuration and certificates are reached by them; never blocks on a FIFO
//   write         does not follow a link in the last place
//   set_mode      does not follow a link in the last place
//   bind_beneath  one openat2, then open_tree and move_mount by descriptor; binding twice stacks two mounts
// All calls but watch() may be made on any thread. A watch is made, told and ended on the loop thread.
//
// A watch of one file tells kWritten for every write, not only at close, since those who append (container logs, the
// kernel's own files) keep it open. The end of what is watched itself is a kDeleted without a name.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/co/real_loop.h"
#include "base/files/tree.h"

namespace podwright {

class Inotify;

class RealTree final : public Tree {
 public:
  explicit RealTree(RealLoop& loop);
  ~RealTree() override;

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
  // Made at the first watch, so that a program that watches nothing has no inotify instance. Watches hold it too, so
  // one may outlive the tree.
  RealLoop& loop_;
  std::shared_ptr<Inotify> inotify_;
};

// The mounts that /proc/<pid>/mountinfo tells, in its order. Lines that are not of its form are left out.
std::vector<MountEntry> parse_mountinfo(std::string_view text);

}  // namespace podwright
