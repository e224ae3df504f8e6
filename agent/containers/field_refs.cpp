#include "agent/containers/field_refs.h"

#include <algorithm>

#include "agent/volumes/resource_field.h"
#include "base/status/annotate.h"

namespace podwright::containers {
namespace {

std::string joined(const std::vector<std::string>& parts) {
  std::string text;
  for (const auto& part : parts) text += (text.empty() ? "" : ",") + part;
  return text;
}

// The key of "metadata.labels['k']" where `path` has the prefix "metadata.labels"; nothing otherwise.
std::optional<std::string> subscript(const std::string& path, std::string_view map) {
  if (!path.starts_with(map)) return std::nullopt;
  const std::string_view rest = std::string_view(path).substr(map.size());
  if (rest.size() < 4 || !rest.starts_with("['") || !rest.ends_with("']")) return std::nullopt;
  return std::string(rest.substr(2, rest.size() - 4));
}

std::string value_or_empty(const google::protobuf::Map<std::string, std::string>& map, const std::string& key) {
  const auto found = map.find(key);
  return found == map.end() ? "" : found->second;
}

}  // namespace

absl::StatusOr<std::string> field_value(const core::Pod& pod, const std::string& path, const NodeFacts& node,
                                        const std::vector<std::string>& pod_ips) {
  const auto& metadata = pod.metadata();
  if (const auto key = subscript(path, "metadata.labels")) return value_or_empty(metadata.labels(), *key);
  if (const auto key = subscript(path, "metadata.annotations")) return value_or_empty(metadata.annotations(), *key);
  if (path == "metadata.name") return metadata.name();
  if (path == "metadata.namespace") return metadata.namespace_();
  if (path == "metadata.uid") return metadata.uid();
  if (path == "spec.nodeName" || path == "spec.host") return node.node_name;
  if (path == "spec.serviceAccountName") return pod.spec().serviceaccountname();
  if (path == "status.hostIP") return node.host_ip;
  if (path == "status.hostIPs") return joined(node.host_ips);
  if (path == "status.podIP") return pod_ips.empty() ? std::string() : pod_ips.front();
  if (path == "status.podIPs") return joined(pod_ips);
  return make_status(absl::StatusCode::kInvalidArgument, "fieldPath {:?} is not supported", path);
}

absl::StatusOr<std::string> resource_value(const core::Pod& pod, const core::Container& container,
                                           const core::ResourceFieldSelector& ref, const NodeFacts& node) {
  return volumes::resource_field(pod, container, ref, {node.cpu_allocatable_milli, node.memory_allocatable_bytes});
}

}  // namespace podwright::containers
