#include "agent/pods/containers.h"

namespace podwright::pods {
namespace {

ContainerPtr inside(const PodPtr& pod, const core::Container& container) {
  return {pod, &container};
}

ContainerPtr as_container(const core::EphemeralContainerCommon& common) {
  auto container = std::make_shared<core::Container>();
  // The common part repeats a Container's fields under the same numbers, so its bytes are a Container's.
  container->ParsePartialFromString(common.SerializePartialAsString());
  return container;
}

void append_json_string(std::string& out, std::string_view text) {
  out += '"';
  for (const char c : text) {
    switch (c) {
      case '"': out += "\\\""; break;
      case '\\': out += "\\\\"; break;
      case '<': out += "\\u003c"; break;
      case '>': out += "\\u003e"; break;
      case '&': out += "\\u0026"; break;
      default:
        if (static_cast<unsigned char>(c) < 0x20) {
          out += fmt::format("\\u{:04x}", static_cast<unsigned char>(c));
        } else {
          out += c;
        }
    }
  }
  out += '"';
}

}  // namespace

std::vector<ContainerRef> containers_of(const PodPtr& pod) {
  std::vector<ContainerRef> all;
  const auto& spec = pod->spec();
  for (const auto& container : spec.initcontainers()) {
    const auto kind = container.restartpolicy() == "Always" ? ContainerKind::kSidecar : ContainerKind::kInit;
    all.push_back({kind,
                   ContainerName(container.name()),
                   inside(pod, container),
                   {},
                   fmt::format("spec.initContainers{{{}}}", container.name())});
  }
  for (const auto& container : spec.containers()) {
    all.push_back({ContainerKind::kRegular,
                   ContainerName(container.name()),
                   inside(pod, container),
                   {},
                   fmt::format("spec.containers{{{}}}", container.name())});
  }
  for (const auto& container : spec.ephemeralcontainers()) {
    const auto& common = container.ephemeralcontainercommon();
    all.push_back({ContainerKind::kEphemeral, ContainerName(common.name()), as_container(common),
                   ContainerName(container.targetcontainername()),
                   fmt::format("spec.ephemeralContainers{{{}}}", common.name())});
  }
  return all;
}

std::optional<ContainerRef> find_container(const PodPtr& pod, const ContainerName& name) {
  for (auto& container : containers_of(pod)) {
    if (container.name == name) return std::move(container);
  }
  return std::nullopt;
}

std::string container_hash(const core::Container& container) {
  std::string json = "{\"image\":";
  append_json_string(json, container.image());
  json += ",\"name\":";
  append_json_string(json, container.name());
  json += '}';
  // What is hashed is the text of the bytes as Go prints a []uint8.
  std::string printed = "([]uint8)[";
  for (std::size_t i = 0; i < json.size(); ++i) {
    if (i > 0) printed += ' ';
    printed += fmt::format("{}", static_cast<unsigned char>(json[i]));
  }
  printed += ']';
  uint32_t hash = 2166136261U;
  for (const char c : printed) hash = (hash ^ static_cast<unsigned char>(c)) * 16777619U;
  return fmt::format("{:x}", hash);
}

}  // namespace podwright::pods
