// A tree whose user dies after some number of changes: from then on every change fails and nothing is done.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/files/tree.h"

namespace podwright::volumes {

class StoppingTree final : public Tree {
 public:
  StoppingTree(Tree& tree, int changes) : tree_(tree), left_(changes) {}
  bool stopped() const { return left_ < 0; }

  absl::StatusOr<std::string> read(const std::string& path, std::size_t limit) override {
    return tree_.read(path, limit);
  }
  absl::StatusOr<std::string> read_tail(const std::string& path, std::size_t limit) override {
    return tree_.read_tail(path, limit);
  }
  absl::Status write(const std::string& path, std::string_view content, mode_t mode) override {
    return may_change() ? tree_.write(path, content, mode) : dead();
  }
  absl::Status replace(const std::string& path, std::string_view content, mode_t mode) override {
    return may_change() ? tree_.replace(path, content, mode) : dead();
  }
  absl::StatusOr<FileInfo> info(const std::string& path) override { return tree_.info(path); }
  absl::StatusOr<FileInfo> info_followed(const std::string& path) override { return tree_.info_followed(path); }
  absl::StatusOr<std::vector<DirectoryEntry>> list(const std::string& path) override { return tree_.list(path); }
  absl::Status make_directories(const std::string& path, mode_t mode) override {
    return may_change() ? tree_.make_directories(path, mode) : dead();
  }
  absl::Status remove_file(const std::string& path) override { return may_change() ? tree_.remove_file(path) : dead(); }
  absl::Status remove_directory(const std::string& path) override {
    return may_change() ? tree_.remove_directory(path) : dead();
  }
  absl::Status remove_tree(const std::string& path) override { return may_change() ? tree_.remove_tree(path) : dead(); }
  absl::Status rename(const std::string& from, const std::string& to) override {
    return may_change() ? tree_.rename(from, to) : dead();
  }
  absl::Status make_symlink(const std::string& target, const std::string& path) override {
    return may_change() ? tree_.make_symlink(target, path) : dead();
  }
  absl::StatusOr<std::string> read_symlink(const std::string& path) override { return tree_.read_symlink(path); }
  absl::Status set_mode(const std::string& path, mode_t mode) override {
    return may_change() ? tree_.set_mode(path, mode) : dead();
  }
  absl::Status set_owner(const std::string& path, uid_t uid, gid_t gid) override {
    return may_change() ? tree_.set_owner(path, uid, gid) : dead();
  }
  absl::StatusOr<FsStat> fs_stat(const std::string& path) override { return tree_.fs_stat(path); }
  absl::StatusOr<std::vector<MountEntry>> mounts() override { return tree_.mounts(); }
  absl::StatusOr<bool> is_mountpoint(const std::string& path) override { return tree_.is_mountpoint(path); }
  absl::Status mount(const std::string& source, const std::string& target, const std::string& fs_type, uint64_t flags,
                     const std::string& data) override {
    return may_change() ? tree_.mount(source, target, fs_type, flags, data) : dead();
  }
  absl::Status unmount(const std::string& target, bool lazily) override {
    return may_change() ? tree_.unmount(target, lazily) : dead();
  }
  absl::Status bind_beneath(const std::string& root, const std::string& sub_path, const std::string& target,
                            mode_t mode, bool readonly) override {
    return may_change() ? tree_.bind_beneath(root, sub_path, target, mode, readonly) : dead();
  }
  absl::StatusOr<std::string> read_beneath(const std::string& root, const std::string& sub_path,
                                           std::size_t limit) override {
    return tree_.read_beneath(root, sub_path, limit);
  }
  absl::StatusOr<std::unique_ptr<TreeWatch>> watch(const std::string& path, Sink<TreeEvent> sink) override {
    return tree_.watch(path, std::move(sink));
  }

 private:
  bool may_change() { return left_ >= 0 && left_-- > 0; }
  static absl::Status dead() { return absl::AbortedError("the agent is dead"); }

  Tree& tree_;
  int left_;
};

}  // namespace podwright::volumes
