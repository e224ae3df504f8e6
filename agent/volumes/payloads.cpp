#include "agent/volumes/payloads.h"

#include <algorithm>

#include "agent/volumes/resource_field.h"
#include "base/status/annotate.h"

namespace podwright::volumes {
namespace {

using Items = google::protobuf::RepeatedPtrField<core::KeyToPath>;

// A literal as Go writes one.
std::string quoted(const std::string& text) {
  std::string out = "\"";
  for (const char c : text) {
    switch (c) {
      case '"': out += "\\\""; break;
      case '\\': out += "\\\\"; break;
      case '\n': out += "\\n"; break;
      case '\t': out += "\\t"; break;
      case '\r': out += "\\r"; break;
      case '\a': out += "\\a"; break;
      case '\b': out += "\\b"; break;
      case '\f': out += "\\f"; break;
      case '\v': out += "\\v"; break;
      default:
        if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) {
          out += fmt::format("\\x{:02x}", static_cast<unsigned char>(c));
        } else {
          out += c;
        }
    }
  }
  return out + "\"";
}

absl::Status add_items(const std::map<std::string, std::string>& data, std::string_view what, const Items& items,
                       bool optional, int32_t default_mode, Payload& payload) {
  if (items.empty()) {
    for (const auto& [key, value] : data) payload[key] = {value, static_cast<mode_t>(default_mode)};
    return absl::OkStatus();
  }
  for (const auto& item : items) {
    const auto found = data.find(item.key());
    if (found == data.end()) {
      if (optional) continue;
      return make_status(absl::StatusCode::kFailedPrecondition, "{} references non-existent key: {}", what, item.key());
    }
    const int32_t mode = item.has_mode() ? item.mode() : default_mode;
    payload[item.path()] = {found->second, static_cast<mode_t>(mode)};
  }
  return absl::OkStatus();
}

absl::StatusOr<std::string> downward_field(const core::Pod& pod, const PodFacts& facts, const Options& options,
                                           const std::string& path) {
  const auto& metadata = pod.metadata();
  const auto subscript = [&path](std::string_view map) -> std::optional<std::string> {
    if (!path.starts_with(map)) return std::nullopt;
    const std::string_view rest = std::string_view(path).substr(map.size());
    if (rest.size() < 4 || !rest.starts_with("['") || !rest.ends_with("']")) return std::nullopt;
    return std::string(rest.substr(2, rest.size() - 4));
  };
  const auto value = [](const auto& map, const std::string& key) {
    const auto found = map.find(key);
    return found == map.end() ? std::string() : found->second;
  };
  if (path == "metadata.labels") return map_file(metadata.labels());
  if (path == "metadata.annotations") return map_file(metadata.annotations());
  if (const auto key = subscript("metadata.labels")) return value(metadata.labels(), *key);
  if (const auto key = subscript("metadata.annotations")) return value(metadata.annotations(), *key);
  if (path == "metadata.name") return metadata.name();
  if (path == "metadata.namespace") return metadata.namespace_();
  if (path == "metadata.uid") return metadata.uid();
  if (path == "spec.nodeName") return options.node_name;
  if (path == "spec.serviceAccountName") return pod.spec().serviceaccountname();
  if (path == "status.hostIP") return facts.host_ip;
  return make_status(absl::StatusCode::kInvalidArgument, "downwardAPI: fieldPath {:?} is not offered in volumes", path);
}

absl::StatusOr<std::string> downward_resource(const core::Pod& pod, const core::ResourceFieldSelector& ref,
                                              const Options& options) {
  const core::Container* whose = nullptr;
  for (const auto& container : pod.spec().containers()) {
    if (container.name() == ref.containername()) whose = &container;
  }
  for (const auto& container : pod.spec().initcontainers()) {
    if (container.name() == ref.containername()) whose = &container;
  }
  if (whose == nullptr) {
    return make_status(absl::StatusCode::kInvalidArgument, "downwardAPI: container {:?} not found",
                       ref.containername());
  }
  auto value =
      resource_field(pod, *whose, ref, {options.node_cpu_milli, static_cast<int64_t>(options.node_memory_bytes)});
  return value.ok() ? value : annotate(value.status(), "downwardAPI");
}

}  // namespace

std::string map_file(const google::protobuf::Map<std::string, std::string>& map) {
  const std::map<std::string, std::string> sorted(map.begin(), map.end());
  std::string text;
  for (const auto& [key, value] : sorted) text += (text.empty() ? "" : "\n") + key + "=" + quoted(value);
  return text;
}

absl::Status add_config_map(const core::ConfigMap& object, const Items& items, bool optional, int32_t default_mode,
                            Payload& payload) {
  std::map<std::string, std::string> data(object.data().begin(), object.data().end());
  data.insert(object.binarydata().begin(), object.binarydata().end());
  return add_items(data, "configmap", items, optional, default_mode, payload);
}

absl::Status add_secret(const core::Secret& object, const Items& items, bool optional, int32_t default_mode,
                        Payload& payload) {
  std::map<std::string, std::string> data(object.data().begin(), object.data().end());
  // Write-only in the API; in a manifest it stands for data and wins over equal keys.
  for (const auto& [key, value] : object.stringdata()) data[key] = value;
  return add_items(data, "secret", items, optional, default_mode, payload);
}

absl::Status add_downward(const core::Pod& pod, const PodFacts& facts, const Options& options,
                          const google::protobuf::RepeatedPtrField<core::DownwardAPIVolumeFile>& items,
                          int32_t default_mode, Payload& payload) {
  for (const auto& item : items) {
    absl::StatusOr<std::string> text =
        absl::InvalidArgumentError("downwardAPI: an item names neither field nor resource");
    if (item.has_fieldref()) text = downward_field(pod, facts, options, item.fieldref().fieldpath());
    if (item.has_resourcefieldref()) text = downward_resource(pod, item.resourcefieldref(), options);
    if (!text.ok()) return text.status();
    const int32_t mode = item.has_mode() ? item.mode() : default_mode;
    payload[item.path()] = {*std::move(text), static_cast<mode_t>(mode)};
  }
  return absl::OkStatus();
}

}  // namespace podwright::volumes
