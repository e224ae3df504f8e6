// emptyDir: a directory of the pod, on disk or in memory (behaviours 25).
#include <sys/mount.h>

#include <algorithm>

#include "agent/volumes/volume_plugin.h"
#include "api/amount.h"
#include "api/resources.h"
#include "base/status/annotate.h"

namespace podwright::volumes {
namespace {

constexpr mode_t kMode = 0777;

// The file that says that the directory was made; from then on its mode is the containers' business. Source:
// pkg/volume/util SetReady.
constexpr char kReady[] = "ready";

// What the directory shall be.
struct Made {
  std::string path, ready_path;
  std::string fs_type, data;  // of a mount; empty: none
  std::optional<int64_t> group;
};

// The smallest positive of sizeLimit, the pod's memory limit and the node's memory.
int64_t memory_size(const core::Pod& pod, const core::EmptyDirVolumeSource& source, uint64_t node_bytes) {
  int64_t size = static_cast<int64_t>(node_bytes);
  const auto lower = [&size](int64_t bound) {
    if (bound > 0 && (size <= 0 || bound < size)) size = bound;
  };
  if (source.has_sizelimit()) lower(api::units_of(source.sizelimit()));
  const auto limits = api::effective_limits(pod);
  const auto memory = limits.find("memory");
  if (memory != limits.end()) lower(memory->second);
  return size;
}

absl::StatusOr<bool> is_ready(Tree& tree, const Made& wanted) {
  for (const std::string& path : {wanted.ready_path, wanted.path}) {
    const auto info = tree.info(path);
    if (absl::IsNotFound(info.status())) return false;
    if (!info.ok()) return info.status();
  }
  // A mount ends with the boot, the file does not.
  if (wanted.fs_type.empty()) return true;
  return tree.is_mountpoint(wanted.path);
}

absl::Status mount_at(Tree& tree, const Made& wanted) {
  const auto is_mount = tree.is_mountpoint(wanted.path);
  if (!is_mount.ok() || *is_mount) return is_mount.status();
  if (wanted.fs_type == "tmpfs") {
    // Linux 6.4 keeps it out of swap when asked; an older one does not know the word.
    const std::string no_swap = wanted.data.empty() ? "noswap" : wanted.data + ",noswap";
    absl::Status mounted = tree.mount(wanted.fs_type, wanted.path, wanted.fs_type, 0, no_swap);
    if (!absl::IsInvalidArgument(mounted)) return mounted;
  }
  return tree.mount(wanted.fs_type, wanted.path, wanted.fs_type, 0, wanted.data);
}

absl::Status make(Tree& tree, const Made& wanted) {
  const auto ready = is_ready(tree, wanted);
  if (!ready.ok() || *ready) return ready.status();
  absl::Status made = tree.make_directories(wanted.path, kMode);
  if (made.ok() && !wanted.fs_type.empty()) {
    made = mount_at(tree, wanted);
    if (made.ok()) made = tree.set_mode(wanted.path, kMode);
  }
  if (made.ok() && wanted.group) {
    made = tree.set_owner(wanted.path, static_cast<uid_t>(-1), static_cast<gid_t>(*wanted.group));
    if (made.ok()) made = tree.set_mode(wanted.path, 02000 | kMode);
  }
  if (made.ok()) made = tree.make_directories(parent_path(wanted.ready_path), 0750);
  return made.ok() ? tree.write(wanted.ready_path, "", 0640) : made;
}

class EmptyDir final : public VolumePlugin {
 public:
  explicit EmptyDir(const PluginParts& parts) : parts_(parts) {}

  std::string_view kind() const override { return "kubernetes.io/empty-dir"; }

  bool handles(const core::Volume& volume) const override { return volume.volumesource().has_emptydir(); }

  Co<absl::Status> setup(VolumeTask task, bool* mounted) override {
    const auto& source = task.volume->volumesource().emptydir();
    const std::string medium = source.medium();
    std::string fs_type;
    std::string data;
    if (medium == "Memory") {
      fs_type = "tmpfs";
      const int64_t size = memory_size(*task.pod, source, parts_.options.node_memory_bytes);
      if (size > 0) data = fmt::format("size={}", size);
    } else if (medium == "HugePages" || medium.starts_with("HugePages-")) {
      fs_type = "hugetlbfs";
      if (medium.size() > std::string_view("HugePages-").size()) {
        data = fmt::format("pagesize={}", api::units_of(std::string_view(medium).substr(10)));
      }
    } else if (!medium.empty()) {
      co_return make_status(absl::StatusCode::kInvalidArgument, "emptyDir.medium: {:?} is not known", medium);
    }
    const auto& security = task.pod->spec().securitycontext();
    const std::optional<int64_t> group =
        security.has_fsgroup() ? std::optional<int64_t>(security.fsgroup()) : std::nullopt;
    Tree& tree = parts_.tree;
    const Made wanted{task.path, join_path(task.notes_path, kReady), fs_type, data, group};
    const absl::Status status =
        co_await offload(parts_.loop, parts_.offload, [&tree, wanted] { return make(tree, wanted); });
    *mounted = status.ok() && !fs_type.empty();
    co_return files_error(status);
  }

  Co<absl::Status> teardown(pods::VolumeRecord record) override {
    Tree& tree = parts_.tree;
    co_return co_await offload(parts_.loop, parts_.offload, [&tree, record] {
      const auto is_mount = tree.is_mountpoint(record.path);
      if (!is_mount.ok() && !absl::IsNotFound(is_mount.status())) return is_mount.status();
      if (is_mount.ok() && *is_mount) {
        if (absl::Status gone = tree.unmount(record.path, false); !gone.ok()) return gone;
      }
      return tree.remove_tree(record.path);
    });
  }

 private:
  PluginParts parts_;
};

}  // namespace

std::unique_ptr<VolumePlugin> make_empty_dir(const PluginParts& parts) {
  return std::make_unique<EmptyDir>(parts);
}

}  // namespace podwright::volumes
