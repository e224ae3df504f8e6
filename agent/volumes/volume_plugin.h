// VolumePlugin: one kind of volume. Each kind is one class in one file; volume_plugins() lists them in order.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "agent/volumes/pod_volumes.h"

namespace podwright::volumes {

// What a plugin works with. Valid for the plugin's life.
struct PluginParts {
  Loop& loop;
  Offload& offload;
  Tree& tree;
  objects::Objects& objects;
  const Options& options;
};

// One volume of one pod.
struct VolumeTask {
  pods::PodPtr pod;
  // Points into the pod.
  std::shared_ptr<const core::Volume> volume;
  PodFacts facts;
  // <root>/pods/<uid>/volumes/<kind with ~>/<name>
  std::string path;
  // <root>/pods/<uid>/plugins/<kind with ~>/<name>: what the plugin notes about the volume.
  std::string notes_path;
};

class VolumePlugin {
 public:
  virtual ~VolumePlugin() = default;

  // "kubernetes.io/empty-dir".
  virtual std::string_view kind() const = 0;
  virtual bool handles(const core::Volume& volume) const = 0;

  // Makes it ready at `task.path` (or says where it is by mount_source()). Idempotent. FailedPrecondition: it waits for
  // an object; try again when objects change. `mounted` is set where a mount of ours is on the path.
  virtual Co<absl::Status> setup(VolumeTask task, bool* mounted) = 0;

  // What containers mount: the path, for most.
  virtual std::string mount_source(const VolumeTask& task) const { return task.path; }

  // Brings changed content to the volume; nothing to do for most.
  virtual Co<absl::Status> update(VolumeTask task);

  // Undoes what setup() did, by the record alone. Idempotent.
  virtual Co<absl::Status> teardown(pods::VolumeRecord record) = 0;

  // Containers may not write it, whatever the mount says (S2).
  virtual bool is_read_only() const { return false; }
};

std::vector<std::unique_ptr<VolumePlugin>> volume_plugins(const PluginParts& parts);

std::unique_ptr<VolumePlugin> make_empty_dir(const PluginParts& parts);
std::unique_ptr<VolumePlugin> make_host_path(const PluginParts& parts);
std::unique_ptr<VolumePlugin> make_config_map(const PluginParts& parts);
std::unique_ptr<VolumePlugin> make_secret(const PluginParts& parts);
std::unique_ptr<VolumePlugin> make_downward_api(const PluginParts& parts);
std::unique_ptr<VolumePlugin> make_projected(const PluginParts& parts);

// An error of the machine's files, which is no wait for an object whatever its code is.
absl::Status files_error(const absl::Status& status);

// "kubernetes.io/empty-dir" as a directory's name: "kubernetes.io~empty-dir".
std::string escaped_kind(std::string_view kind);

}  // namespace podwright::volumes
