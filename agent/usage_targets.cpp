#include "agent/usage_targets.h"

#include <set>

#include "agent/usage/targets.h"
#include "api/resources.h"

namespace podwright {
namespace {

void add_running(const pleg::PodRuntime& seen, usage::PodTarget& target) {
  for (const cri::SandboxStatus& sandbox : seen.sandboxes) {
    if (sandbox.state != cri::SandboxState::kReady) continue;
    target.sandbox_id = sandbox.id;
    break;
  }
  std::set<ContainerName> names;  // the newest of each name comes first
  for (const cri::ContainerStatus& container : seen.containers) {
    if (container.state != cri::ContainerState::kRunning || !names.insert(container.name).second) continue;
    const bool started = container.started_at != WallTime();
    target.containers.push_back({.name = container.name,
                                 .id = container.id,
                                 .image = container.image,
                                 .started_at = started ? container.started_at : container.created_at});
  }
}

WallTime started_at(const pods::PodView& view) {
  if (!view.status || !view.status->has_starttime()) return {};
  return WallTime(std::chrono::seconds(view.status->starttime().seconds()));
}

}  // namespace

std::vector<usage::PodTarget> usage_targets(const pods::NodeView& view, const pleg::RuntimeCache& cache,
                                            const cgroups::PodCgroups& cgroups, const containers::NodeFacts& node) {
  std::vector<usage::PodTarget> targets;
  for (const pods::PodViewPtr& pod : view.pods) {
    const pleg::PodRuntimePtr seen = pod->pod ? cache.get(pod->uid) : nullptr;
    if (!seen) continue;
    usage::PodTarget target;
    target.pod = pod->pod;
    target.key = pods::key_of(*pod->pod);
    target.uid = pod->uid;
    target.started_at = started_at(*pod);
    add_running(*seen, target);
    if (target.containers.empty() && target.sandbox_id.value.empty()) continue;
    target.cgroup = cgroups.cri_parent(*pod->pod);
    target.own_cgroup = target.cgroup == cgroups.path_of(api::qos_of(*pod->pod), pod->uid);
    if (target.cgroup.empty()) target.cgroup = "/";
    target.log_dir = containers::pod_log_dir(node, target.key, target.uid);
    target.volumes = usage::volume_targets(*pod->pod, join_path(join_path(node.root, "pods"), pod->uid.value));
    targets.push_back(std::move(target));
  }
  return targets;
}

std::optional<uint32_t> container_processes(Tree& tree, const cgroups::PodCgroups& cgroups, const PodUid& uid,
                                            const ContainerId& id) {
  const auto qos = cgroups.found_in(uid);
  if (!qos) return std::nullopt;
  const std::string pod = cgroups.path_of(*qos, uid);
  const cgroups::Hierarchy& hierarchy = cgroups.hierarchy();
  const auto children =
      tree.list(hierarchy.directory(hierarchy.version() == cgroups::Version::kV2 ? "" : "memory", pod));
  if (!children.ok()) return std::nullopt;
  const std::string name = usage::find_container_cgroup(*children, id.value);
  if (name.empty()) return std::nullopt;
  return static_cast<uint32_t>(hierarchy.processes(tree, join_path(pod, name)).size());
}

usage::NodeTarget usage_node(const config::Config& config, cgroups::DriverKind driver) {
  usage::NodeTarget node;
  node.name = config.node.name;
  node.root_dir = config.root_dir;
  const cgroups::Name root = cgroups::parse_root(config.cgroups.root, driver);
  const std::string kubepods = cgroups::to_path(cgroups::kubepods_name(root), driver);
  node.system = {{"kubelet", config.cgroups.kubelet_cgroups}};
  if (!config.cgroups.runtime_cgroups.empty()) node.system.push_back({"runtime", config.cgroups.runtime_cgroups});
  if (!config.cgroups.system_cgroups.empty()) node.system.push_back({"misc", config.cgroups.system_cgroups});
  if (!config.cgroups.per_qos) return node;
  node.system.push_back({"pods", kubepods});
  node.qos = {kubepods};
  for (const api::Qos qos : {api::Qos::kBurstable, api::Qos::kBestEffort}) {
    node.qos.push_back(cgroups::to_path(cgroups::qos_name(root, qos), driver));
  }
  return node;
}

}  // namespace podwright
