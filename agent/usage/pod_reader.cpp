#include "agent/usage/pod_reader.h"

namespace podwright::usage {
namespace {

std::vector<DirectoryEntry> children_of(const Machinery& on, const std::string& path) {
  const bool v2 = on.hierarchy.version() == cgroups::Version::kV2;
  auto entries = on.tree.list(on.hierarchy.directory(v2 ? "" : "memory", path));
  return entries.ok() ? *std::move(entries) : std::vector<DirectoryEntry>();
}

// Any process of the pod sees its network.
std::vector<InterfaceUsage> network_of(const Machinery& on, const PodUsage& pod) {
  std::vector<const CgroupUsage*> cgroups;
  if (pod.sandbox) cgroups.push_back(&*pod.sandbox);
  for (const ContainerUsage& container : pod.containers) cgroups.push_back(&container.cgroup);
  for (const CgroupUsage* cgroup : cgroups) {
    const std::vector<pid_t> processes = processes_in(on, cgroup->path, Role::kWorkload);
    if (processes.empty()) continue;
    std::vector<InterfaceUsage> network = read_network(on.tree, processes.front());
    if (!network.empty()) return network;
  }
  return {};
}

}  // namespace

std::string find_container_cgroup(const std::vector<DirectoryEntry>& children, std::string_view id) {
  if (id.empty()) return {};
  for (const DirectoryEntry& child : children) {
    if (child.type != FileType::kDirectory) continue;
    std::string_view name = child.name;
    if (name.ends_with(".scope")) name.remove_suffix(6);
    if (!name.ends_with(id)) continue;
    const std::string_view front = name.substr(0, name.size() - id.size());
    // "crio-conmon-ID.scope" is that of the runtime's monitor.
    if (front.empty() || (front.ends_with('-') && !front.ends_with("conmon-"))) return child.name;
  }
  return {};
}

std::optional<PodUsage> read_pod(const Machinery& on, const PodTarget& target, Depth depth) {
  PodUsage found;
  found.key = target.key;
  found.uid = target.uid;
  found.pod = target.pod;
  found.started_at = target.started_at;
  found.sandbox_id = target.sandbox_id;
  if (target.own_cgroup) {
    found.cgroup = read_cgroup(on, target.cgroup, Role::kGroup, depth);
    if (!found.cgroup) return std::nullopt;
  }
  const std::vector<DirectoryEntry> children = children_of(on, target.cgroup);
  const auto read = [&](std::string_view id) -> std::optional<CgroupUsage> {
    const std::string name = find_container_cgroup(children, id);
    return name.empty() ? std::nullopt : read_cgroup(on, join_path(target.cgroup, name), Role::kWorkload, depth);
  };
  if (depth == Depth::kFull) found.sandbox = read(target.sandbox_id.value);
  for (const ContainerTarget& container : target.containers) {
    auto cgroup = read(container.id.value);
    if (!cgroup) continue;
    cgroup->started_at = container.started_at;
    found.containers.push_back(
        {.name = container.name, .id = container.id, .image = container.image, .cgroup = *std::move(cgroup)});
  }
  if (!found.cgroup && found.containers.empty()) return std::nullopt;
  if (depth == Depth::kFull) found.network = network_of(on, found);
  return found;
}

}  // namespace podwright::usage
