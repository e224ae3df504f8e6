#include "agent/usage/targets.h"

#include "api/resources.h"

namespace podwright::usage {
namespace {

constexpr char kStorage[] = "ephemeral-storage";

// The directory's name for the kind, and whether it counts as the pod's local storage.
// Source: pkg/volume/util, IsLocalEphemeralVolume.
struct Kind {
  const char* directory = nullptr;
  bool local = false, in_memory = false;
};

Kind kind_of(const core::VolumeSource& source) {
  if (source.has_emptydir()) {
    const std::string& medium = source.emptydir().medium();
    return {"kubernetes.io~empty-dir", medium.empty(), medium == "Memory"};
  }
  if (source.has_configmap()) return {"kubernetes.io~configmap", true, false};
  if (source.has_secret()) return {"kubernetes.io~secret", false, true};
  if (source.has_downwardapi()) return {"kubernetes.io~downward-api", false, true};
  if (source.has_projected()) return {"kubernetes.io~projected", false, true};
  return {};
}

}  // namespace

std::vector<VolumeTarget> volume_targets(const core::Pod& pod, const std::string& pod_dir) {
  std::vector<VolumeTarget> targets;
  for (const core::Volume& volume : pod.spec().volumes()) {
    const Kind kind = kind_of(volume.volumesource());
    if (kind.directory == nullptr) continue;
    targets.push_back({.name = volume.name(),
                       .path = join_path(join_path(join_path(pod_dir, "volumes"), kind.directory), volume.name()),
                       .local = kind.local,
                       .in_memory = kind.in_memory});
  }
  return targets;
}

bool has_storage_bound(const core::Pod& pod) {
  for (const core::Volume& volume : pod.spec().volumes()) {
    if (volume.volumesource().has_emptydir() && volume.volumesource().emptydir().has_sizelimit()) return true;
  }
  for (const core::Container& container : pod.spec().containers()) {
    if (api::has_limit(container, kStorage)) return true;
  }
  for (const core::Container& container : pod.spec().initcontainers()) {
    if (api::has_limit(container, kStorage)) return true;
  }
  return false;
}

}  // namespace podwright::usage
