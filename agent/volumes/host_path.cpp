// hostPath: a path of the node, after the check that its type asks for. Nothing is set up, nothing undone.
#include "agent/volumes/volume_plugin.h"
#include "base/status/annotate.h"

namespace podwright::volumes {
namespace {

absl::Status wrong(const std::string& path, std::string_view what) {
  return make_status(absl::StatusCode::kInvalidArgument, "hostPath type check failed: {} is not a {}", path, what);
}

absl::Status expect(Tree& tree, const std::string& path, FileType type, std::string_view what) {
  const auto info = tree.info_followed(path);
  // A path below a file is no directory either; FailedPrecondition would mean a wait for an object.
  if (!info.ok() && !absl::IsNotFound(info.status())) return files_error(info.status());
  return info.ok() && info->type == type ? absl::OkStatus() : wrong(path, what);
}

absl::Status check(Tree& tree, const std::string& path, const std::string& type) {
  if (type.empty()) return absl::OkStatus();
  if (type == "DirectoryOrCreate") {
    const auto info = tree.info_followed(path);
    if (absl::IsNotFound(info.status())) return files_error(tree.make_directories(path, 0755));
    return expect(tree, path, FileType::kDirectory, "directory");
  }
  if (type == "Directory") return expect(tree, path, FileType::kDirectory, "directory");
  if (type == "FileOrCreate") {
    const auto info = tree.info_followed(path);
    if (absl::IsNotFound(info.status())) return files_error(tree.write(path, "", 0644));
    return expect(tree, path, FileType::kFile, "file");
  }
  if (type == "File") return expect(tree, path, FileType::kFile, "file");
  if (type == "Socket") return expect(tree, path, FileType::kSocket, "socket");
  if (type == "CharDevice") return expect(tree, path, FileType::kCharDevice, "character device");
  if (type == "BlockDevice") return expect(tree, path, FileType::kBlockDevice, "block device");
  return make_status(absl::StatusCode::kInvalidArgument, "hostPath.type: {:?} is not known", type);
}

class HostPath final : public VolumePlugin {
 public:
  explicit HostPath(const PluginParts& parts) : parts_(parts) {}

  std::string_view kind() const override { return "kubernetes.io/host-path"; }

  bool handles(const core::Volume& volume) const override { return volume.volumesource().has_hostpath(); }

  Co<absl::Status> setup(VolumeTask task, bool* /*mounted*/) override {
    const std::string path = task.volume->volumesource().hostpath().path();
    const std::string type = task.volume->volumesource().hostpath().type();
    Tree& tree = parts_.tree;
    co_return co_await offload(parts_.loop, parts_.offload, [&tree, path, type] { return check(tree, path, type); });
  }

  std::string mount_source(const VolumeTask& task) const override {
    return task.volume->volumesource().hostpath().path();
  }

  Co<absl::Status> teardown(pods::VolumeRecord /*record*/) override { co_return absl::OkStatus(); }

 private:
  PluginParts parts_;
};

}  // namespace

std::unique_ptr<VolumePlugin> make_host_path(const PluginParts& parts) {
  return std::make_unique<HostPath>(parts);
}

}  // namespace podwright::volumes
