#include "agent/eviction/local_storage.h"

#include <algorithm>

#include "api/amount.h"
#include "api/resources.h"

namespace podwright::eviction {
namespace {

constexpr char kStorage[] = "ephemeral-storage";

std::optional<OverLimit> over_volume(const core::Pod& pod, const usage::PodUsage& used) {
  for (const core::Volume& volume : pod.spec().volumes()) {
    if (!volume.volumesource().has_emptydir() || !volume.volumesource().emptydir().has_sizelimit()) continue;
    const int64_t limit = api::units_of(volume.volumesource().emptydir().sizelimit());
    if (limit <= 0) continue;
    for (const usage::VolumeUsage& measured : used.volumes) {
      if (measured.name != volume.name() || static_cast<int64_t>(measured.used.bytes) <= limit) continue;
      return OverLimit{"emptydirfs.limit", fmt::format("Usage of EmptyDir volume \"{}\" exceeds the limit \"{}\". ",
                                                       volume.name(), amount_text(Signal::kNodeFs, limit))};
    }
  }
  return std::nullopt;
}

bool is_sidecar(const core::Container& container) {
  return container.restartpolicy() == "Always";
}

// The sum of the limits of those that have one; nothing where none has.
std::optional<int64_t> pod_limit(const core::Pod& pod) {
  std::optional<int64_t> together, greatest_init;
  const auto add = [](const core::Container& container, std::optional<int64_t>& to) {
    if (api::has_limit(container, kStorage)) to = to.value_or(0) + api::limit_of(container, kStorage);
  };
  for (const core::Container& container : pod.spec().containers()) add(container, together);
  for (const core::Container& container : pod.spec().initcontainers()) {
    if (is_sidecar(container)) {
      add(container, together);
    } else if (api::has_limit(container, kStorage)) {
      greatest_init = std::max(greatest_init.value_or(0), api::limit_of(container, kStorage));
    }
  }
  if (!together) return greatest_init;
  return std::max(*together, greatest_init.value_or(0));
}

std::optional<OverLimit> over_container(const core::Container& container, const usage::PodUsage& used,
                                        DiskParts parts) {
  if (!api::has_limit(container, kStorage)) return std::nullopt;
  const int64_t limit = api::limit_of(container, kStorage);
  for (const usage::ContainerUsage& measured : used.containers) {
    if (measured.name.value != container.name()) continue;
    const uint64_t sum =
        (parts.layers && measured.rootfs ? measured.rootfs->bytes : 0) + (measured.logs ? measured.logs->bytes : 0);
    if (static_cast<int64_t>(sum) <= limit) continue;
    return OverLimit{"ephemeralcontainerfs.limit",
                     fmt::format("Container {} exceeded its local ephemeral storage limit \"{}\". ", container.name(),
                                 amount_text(Signal::kNodeFs, limit))};
  }
  return std::nullopt;
}

}  // namespace

std::optional<OverLimit> over_local_storage(const Candidate& candidate, const usage::NodeUsage& node) {
  if (!candidate.usage) return std::nullopt;
  const core::Pod& pod = *candidate.pod;
  const usage::PodUsage& used = *candidate.usage;
  if (auto why = over_volume(pod, used)) return why;
  const DiskParts parts = parts_on(Signal::kNodeFs, node);
  if (const auto limit = pod_limit(pod)) {
    if (static_cast<int64_t>(disk_used(used, parts, false)) > *limit) {
      return OverLimit{"ephemeralpodfs.limit",
                       fmt::format("Pod ephemeral local storage usage exceeds the total limit of containers {}. ",
                                   amount_text(Signal::kNodeFs, *limit))};
    }
  }
  for (const core::Container& container : pod.spec().containers()) {
    if (auto why = over_container(container, used, parts)) return why;
  }
  for (const core::Container& container : pod.spec().initcontainers()) {
    if (!is_sidecar(container)) continue;
    if (auto why = over_container(container, used, parts)) return why;
  }
  return std::nullopt;
}

}  // namespace podwright::eviction
