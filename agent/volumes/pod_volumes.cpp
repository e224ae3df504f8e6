#include "agent/volumes/pod_volumes.h"

#include <algorithm>

#include "agent/volumes/volume_plugin.h"
#include "base/status/annotate.h"
#include "probes/spec.h"

namespace podwright::volumes {
namespace {

constexpr mode_t kPodDirMode = 0750;
constexpr char kSubPaths[] = "volume-subpaths";

// Of a volume, below a directory ("volumes", "plugins") of its pod.
std::string volume_path(const std::string& pod_dir, std::string_view below, const VolumePlugin& plugin,
                        const std::string& name) {
  return join_path(join_path(join_path(pod_dir, below), escaped_kind(plugin.kind())), name);
}

std::string volume_path(const std::string& pod_dir, const VolumePlugin& plugin, const std::string& name) {
  return volume_path(pod_dir, "volumes", plugin, name);
}

cri::Propagation to_propagation(const core::VolumeMount& mount) {
  if (mount.mountpropagation() == "HostToContainer") return cri::Propagation::kHostToContainer;
  if (mount.mountpropagation() == "Bidirectional") return cri::Propagation::kBidirectional;
  return cri::Propagation::kPrivate;
}

// Takes down the mount of one subPath and what it was on; nothing there is fine.
absl::Status remove_sub_path(Tree& tree, const std::string& path) {
  while (true) {
    const auto mounted = tree.is_mountpoint(path);
    if (absl::IsNotFound(mounted.status())) return absl::OkStatus();
    if (!mounted.ok()) return mounted.status();
    if (!*mounted) break;
    if (absl::Status s = tree.unmount(path, false); !s.ok()) return s;
  }
  const auto info = tree.info(path);
  if (absl::IsNotFound(info.status())) return absl::OkStatus();
  if (!info.ok()) return info.status();
  return info->type == FileType::kDirectory ? tree.remove_directory(path) : tree.remove_file(path);
}

// The volumes of our kinds that a pod's directory holds, for a pod whose records are lost.
absl::StatusOr<std::vector<pods::VolumeRecord>> volumes_on_disk(
    Tree& tree, const std::string& pod_dir, const std::vector<std::unique_ptr<VolumePlugin>>& plugins) {
  std::vector<pods::VolumeRecord> found;
  for (const auto& plugin : plugins) {
    const auto entries = tree.list(volume_path(pod_dir, *plugin, ""));
    if (absl::IsNotFound(entries.status())) continue;
    if (!entries.ok()) return entries.status();
    for (const auto& entry : *entries) {
      found.push_back({entry.name, std::string(plugin->kind()), volume_path(pod_dir, *plugin, entry.name), false});
    }
  }
  return found;
}

// Takes down the mounts of subPaths below a pod's directory, deepest first, then the directories themselves.
absl::Status remove_sub_paths(Tree& tree, const std::string& pod_dir) {
  const std::string root = join_path(pod_dir, kSubPaths);
  const auto volumes = tree.list(root);
  if (absl::IsNotFound(volumes.status())) return absl::OkStatus();
  if (!volumes.ok()) return volumes.status();
  for (const auto& volume : *volumes) {
    const std::string volume_dir = join_path(root, volume.name);
    const auto containers = tree.list(volume_dir);
    if (!containers.ok()) return containers.status();
    for (const auto& container : *containers) {
      const std::string container_dir = join_path(volume_dir, container.name);
      const auto targets = tree.list(container_dir);
      if (!targets.ok()) return targets.status();
      for (const auto& target : *targets) {
        if (absl::Status s = remove_sub_path(tree, join_path(container_dir, target.name)); !s.ok()) return s;
      }
      if (absl::Status s = tree.remove_directory(container_dir); !s.ok()) return s;
    }
    if (absl::Status s = tree.remove_directory(volume_dir); !s.ok()) return s;
  }
  return tree.remove_directory(root);
}

// Removes the pod's directory once no volume is left in it: volumes by rmdir only, so that a volume that still holds
// data is never deleted (case K63), all else recursively within one file system.
absl::Status remove_pod_dir(Tree& tree, const std::string& pod_dir) {
  const std::string volumes = join_path(pod_dir, "volumes");
  const auto kinds = tree.list(volumes);
  if (!kinds.ok() && !absl::IsNotFound(kinds.status())) return kinds.status();
  if (kinds.ok()) {
    for (const auto& kind : *kinds) {
      const std::string kind_dir = join_path(volumes, kind.name);
      const auto left = tree.list(kind_dir);
      if (!left.ok()) return left.status();
      for (const auto& volume : *left) {
        const std::string path = join_path(kind_dir, volume.name);
        const auto mounted = tree.is_mountpoint(path);
        if (!mounted.ok()) return mounted.status();
        if (*mounted) {
          return make_status(absl::StatusCode::kFailedPrecondition, "volume {} is still mounted", path);
        }
        if (absl::Status s = tree.remove_directory(path); !s.ok()) return s;
      }
      if (absl::Status s = tree.remove_directory(kind_dir); !s.ok()) return s;
    }
    if (absl::Status s = tree.remove_directory(volumes); !s.ok()) return s;
  }
  return tree.remove_tree(pod_dir);
}

}  // namespace

struct PodVolumes::State {
  State(Loop& l, Offload& o, Tree& t, Processes& p, objects::Objects& obj, Steps& s, Options opt)
      : loop(l),
        offload(o),
        tree(t),
        processes(p),
        objects(obj),
        steps(s),
        options(std::move(opt)),
        plugins(volume_plugins(PluginParts{loop, offload, tree, objects, options})) {}

  Loop& loop;
  Offload& offload;
  Tree& tree;
  Processes& processes;
  objects::Objects& objects;
  Steps& steps;
  Options options;
  std::vector<std::unique_ptr<VolumePlugin>> plugins;
  std::map<PodUid, std::string> waiting;

  VolumePlugin* plugin_for(const core::Volume& volume) {
    for (const auto& plugin : plugins) {
      if (plugin->handles(volume)) return plugin.get();
    }
    return nullptr;
  }
  VolumePlugin* plugin_of(const std::string& kind) {
    for (const auto& plugin : plugins) {
      if (plugin->kind() == kind) return plugin.get();
    }
    return nullptr;
  }
  std::string pod_dir(const PodUid& uid) const { return join_path(join_path(options.root, "pods"), uid.value); }

  VolumeTask task(const pods::PodPtr& pod, int index, const PodFacts& facts, const VolumePlugin& plugin) const {
    VolumeTask task;
    task.pod = pod;
    task.volume = std::shared_ptr<const core::Volume>(pod, &pod->spec().volumes(index));
    task.facts = facts;
    const std::string dir = pod_dir(pods::uid_of(*pod));
    task.path = volume_path(dir, plugin, task.volume->name());
    task.notes_path = volume_path(dir, "plugins", plugin, task.volume->name());
    return task;
  }
};

PodVolumes::PodVolumes(Loop& loop, Offload& offload, Tree& tree, Processes& processes, objects::Objects& objects,
                       Steps& steps, Options options)
    : state_(std::make_unique<State>(loop, offload, tree, processes, objects, steps, std::move(options))) {}

PodVolumes::~PodVolumes() = default;

std::string PodVolumes::pod_dir(const PodUid& uid) const {
  return state_->pod_dir(uid);
}

Co<absl::Status> PodVolumes::setup(pods::PodPtr pod, PodFacts facts, std::vector<pods::VolumeRecord>* records,
                                   Instant deadline) {
  State& s = *state_;
  const PodUid uid = pods::uid_of(*pod);
  const std::string dir = s.pod_dir(uid);
  Tree& tree = s.tree;
  const absl::Status made = co_await offload(s.loop, s.offload, [&tree, dir]() -> absl::Status {
    for (const char* below : {"", "volumes", "plugins", "containers"}) {
      if (absl::Status status = tree.make_directories(join_path(dir, below), kPodDirMode); !status.ok()) return status;
    }
    return absl::OkStatus();
  });
  if (!made.ok()) co_return annotate(made, "error making pod data directories");

  for (int i = 0; i < pod->spec().volumes_size(); ++i) {
    const core::Volume& volume = pod->spec().volumes(i);
    VolumePlugin* plugin = s.plugin_for(volume);
    if (plugin == nullptr) {
      if (volume.volumesource().has_image()) continue;  // mounted by the runtime itself
      co_return make_status(absl::StatusCode::kUnimplemented,
                            "MountVolume.SetUp failed for volume \"{}\" : this node supports emptyDir, hostPath, "
                            "configMap, secret, downwardAPI and projected volumes only",
                            volume.name());
    }
    const bool known = std::any_of(records->begin(), records->end(),
                                   [&volume](const auto& record) { return record.name == volume.name(); });
    const VolumeTask task = s.task(pod, i, facts, *plugin);
    if (!known) records->push_back({volume.name(), std::string(plugin->kind()), task.path, false});
    while (true) {
      bool mounted = false;
      const uint64_t version = s.objects.version();
      const absl::Status status = co_await plugin->setup(task, &mounted);
      if (co_await is_stopping()) {
        s.waiting.erase(uid);
        co_return absl::CancelledError("told to go on");
      }
      if (status.ok()) {
        for (auto& record : *records) {
          if (record.name == volume.name()) record.mounted = mounted;
        }
        break;
      }
      const std::string text =
          fmt::format("MountVolume.SetUp failed for volume \"{}\" : {}", volume.name(), text_of(status));
      if (!absl::IsFailedPrecondition(status)) {
        s.waiting.erase(uid);
        co_return absl::Status(status.code(), text);
      }
      // The object may come: waited for by its change, not by polling.
      s.waiting[uid] = text;
      if (s.objects.version() != version) continue;
      const Wait wait = co_await s.objects.changed(deadline);
      if (wait == Wait::kRung) continue;
      s.waiting.erase(uid);
      if (wait == Wait::kCancelled) co_return absl::CancelledError("told to go on");
      co_return absl::Status(absl::StatusCode::kFailedPrecondition, text);
    }
    s.waiting.erase(uid);
  }
  co_return absl::OkStatus();
}

std::string PodVolumes::waiting_for(const PodUid& uid) const {
  const auto found = state_->waiting.find(uid);
  return found == state_->waiting.end() ? "" : found->second;
}

Co<absl::StatusOr<ContainerMounts>> PodVolumes::mounts_for(pods::PodPtr pod, pods::ContainerRef container,
                                                           std::vector<std::pair<std::string, std::string>> env) {
  State& s = *state_;
  const std::string dir = s.pod_dir(pods::uid_of(*pod));
  const std::map<std::string, std::string> known(env.begin(), env.end());
  ContainerMounts result;
  int index = -1;
  for (const auto& wanted : container.spec->volumemounts()) {
    ++index;
    int at = -1;
    for (int i = 0; i < pod->spec().volumes_size(); ++i) {
      if (pod->spec().volumes(i).name() == wanted.name()) at = i;
    }
    if (at < 0) {
      co_return make_status(absl::StatusCode::kInvalidArgument, "volumeMounts: volume {:?} is not in spec.volumes",
                            wanted.name());
    }
    const core::Volume& volume = pod->spec().volumes(at);
    cri::Mount mount;
    mount.container_path = wanted.mountpath().starts_with("/") ? wanted.mountpath() : "/" + wanted.mountpath();
    mount.propagation = to_propagation(wanted);
    mount.readonly = wanted.readonly();
    mount.recursive_readonly = wanted.readonly() && wanted.recursivereadonly() == "Enabled";
    VolumePlugin* plugin = s.plugin_for(volume);
    if (plugin == nullptr) {
      if (!volume.volumesource().has_image()) {
        co_return make_status(absl::StatusCode::kUnimplemented, "volume {:?} is of a kind that this node lacks",
                              wanted.name());
      }
      mount.image = volume.volumesource().image().reference();
      mount.image_sub_path = wanted.subpath();
      mount.readonly = true;
      result.mounts.push_back(std::move(mount));
      continue;
    }
    const VolumeTask task = s.task(pod, at, {}, *plugin);
    mount.host_path = plugin->mount_source(task);
    mount.readonly = mount.readonly || plugin->is_read_only();
    mount.selinux_relabel = !volume.volumesource().has_hostpath();
    std::string sub_path = wanted.subpath();
    if (!wanted.subpathexpr().empty()) {
      sub_path = probes::expand(wanted.subpathexpr(), known);
      if (sub_path.find("$(") != std::string::npos) {
        co_return make_status(absl::StatusCode::kInvalidArgument, "subPathExpr {:?} names a variable that is not set",
                              wanted.subpathexpr());
      }
    }
    if (!sub_path.empty()) {
      if (sub_path.starts_with("/") || ("/" + sub_path + "/").find("/../") != std::string::npos) {
        co_return make_status(absl::StatusCode::kInvalidArgument,
                              "subPath {:?} must be relative and must not contain '..'", sub_path);
      }
      const std::string target = fmt::format("{}/{}/{}/{}/{}", dir, kSubPaths, wanted.name(), container.name, index);
      Tree& tree = s.tree;
      const std::string root = mount.host_path;
      const bool readonly = mount.readonly;
      const absl::Status bound =
          co_await offload(s.loop, s.offload, [&tree, root, sub_path, target, readonly]() -> absl::Status {
            // A new container gets what the path leads to now, which may be of another type.
            if (absl::Status gone = remove_sub_path(tree, target); !gone.ok()) return gone;
            const auto info = tree.info_followed(root);
            if (!info.ok()) return info.status();
            if (absl::Status made = tree.make_directories(parent_path(target), kPodDirMode); !made.ok()) return made;
            return tree.bind_beneath(root, sub_path, target, info->mode & 0777, readonly);
          });
      if (!bound.ok()) {
        co_return annotate(bound, "failed to prepare subPath for volumeMount \"{}\" of container \"{}\"", wanted.name(),
                           container.name);
      }
      mount.host_path = target;
    }
    result.mounts.push_back(std::move(mount));
  }
  co_return result;
}

Co<absl::Status> PodVolumes::update(pods::PodPtr pod, PodFacts facts) {
  State& s = *state_;
  absl::Status first;
  for (int i = 0; i < pod->spec().volumes_size(); ++i) {
    VolumePlugin* plugin = s.plugin_for(pod->spec().volumes(i));
    if (plugin == nullptr) continue;
    const absl::Status status = co_await plugin->update(s.task(pod, i, facts, *plugin));
    if (!status.ok() && first.ok()) first = annotate(status, "update volume \"{}\"", pod->spec().volumes(i).name());
  }
  co_return first;
}

Co<absl::Status> PodVolumes::teardown(PodUid uid, std::vector<pods::VolumeRecord> records, Instant /*deadline*/) {
  State& s = *state_;
  const std::string dir = s.pod_dir(uid);
  Tree& tree = s.tree;
  absl::Status status = co_await offload(s.loop, s.offload, [&tree, dir] { return remove_sub_paths(tree, dir); });
  if (!status.ok()) co_return annotate(status, "take down the subPaths of pod {}", uid);
  const auto on_disk =
      co_await offload(s.loop, s.offload, [&tree, dir, &s] { return volumes_on_disk(tree, dir, s.plugins); });
  if (!on_disk.ok()) co_return annotate(on_disk.status(), "look for the volumes of pod {}", uid);
  records.insert(records.end(), on_disk->begin(), on_disk->end());
  for (const auto& record : records) {
    VolumePlugin* plugin = s.plugin_of(record.kind);
    if (plugin == nullptr) continue;
    // Whatever a record says, only what is the pod's is taken down.
    if (record.path != volume_path(dir, *plugin, record.name)) {
      co_return make_status(absl::StatusCode::kInternal, "volume \"{}\" of pod {} would be at {}", record.name, uid,
                            record.path);
    }
    status = co_await plugin->teardown(record);
    if (!status.ok()) co_return annotate(status, "take down volume \"{}\"", record.name);
  }
  status = co_await offload(s.loop, s.offload, [&tree, dir]() -> absl::Status {
    const auto there = tree.info(dir);
    if (absl::IsNotFound(there.status())) return absl::OkStatus();
    if (!there.ok()) return there.status();
    return remove_pod_dir(tree, dir);
  });
  if (!status.ok()) co_return annotate(status, "remove the directory of pod {}", uid);
  co_return absl::OkStatus();
}

Co<absl::StatusOr<std::vector<PodUid>>> PodVolumes::pods_on_disk() {
  State& s = *state_;
  Tree& tree = s.tree;
  const std::string path = join_path(s.options.root, "pods");
  auto entries = co_await offload(s.loop, s.offload, [&tree, path] { return tree.list(path); });
  if (absl::IsNotFound(entries.status())) co_return std::vector<PodUid>();
  if (!entries.ok()) co_return entries.status();
  std::vector<PodUid> uids;
  for (const auto& entry : *entries) {
    if (entry.type == FileType::kDirectory) uids.emplace_back(entry.name);
  }
  co_return uids;
}

}  // namespace podwright::volumes
