#include <algorithm>
#include <charconv>

#include "agent/containers/config.h"

namespace podwright::containers {
namespace {

// Source: the compat links' names are cut so that they fit a file name with ".log" behind.
constexpr std::size_t kLinkNameBytes = 251;

}  // namespace

std::string pod_log_dir(const NodeFacts& node, const PodKey& key, const PodUid& uid) {
  return join_path(node.pod_logs_dir, fmt::format("{}_{}_{}", key.ns, key.name, uid));
}

std::string container_log_path(const ContainerName& name, uint32_t restart_count) {
  return fmt::format("{}/{}.log", name, restart_count);
}

std::string container_log_link(const NodeFacts& node, const PodKey& key, const ContainerName& name,
                               const ContainerId& id) {
  std::string file = fmt::format("{}_{}_{}-{}", key.name, key.ns, name, id);
  if (file.size() > kLinkNameBytes) file.resize(kLinkNameBytes);
  return join_path(node.container_logs_dir, file + ".log");
}

uint32_t restart_count_from_logs(const std::vector<DirectoryEntry>& entries) {
  uint32_t next = 0;
  for (const auto& entry : entries) {
    const auto dot = entry.name.find(".log");
    if (dot == std::string::npos) continue;
    uint32_t count = 0;
    const auto [end, error] = std::from_chars(entry.name.data(), entry.name.data() + dot, count);
    if (error != std::errc() || end != entry.name.data() + dot) continue;
    next = std::max(next, count + 1);
  }
  return next;
}

}  // namespace podwright::containers
