// Different kinds of string are different types, so that a function that takes (PodUid, ContainerId) cannot be called
// the wrong way round. Each is a plain string inside, ordered, hashed and printed as one.
#pragma once

#include <fmt/format.h>

#include <compare>
#include <functional>
#include <string>
#include <string_view>
#include <utility>

namespace podwright {

template <class Tag>
struct Id {
  std::string value;

  Id() = default;
  explicit Id(std::string text) : value(std::move(text)) {}
  bool empty() const { return value.empty(); }
  auto operator<=>(const Id&) const = default;
};

// metadata.uid of a pod; for a static pod the hash of its source.
using PodUid = Id<struct PodUidTag>;
// spec.containers[].name and its like, unique in a pod.
using ContainerName = Id<struct ContainerNameTag>;
// The runtime's own ID of a container or sandbox, without a scheme in front.
using ContainerId = Id<struct ContainerIdTag>;
using SandboxId = Id<struct SandboxIdTag>;
// /proc/sys/kernel/random/boot_id.
using BootId = Id<struct BootIdTag>;
// An extended resource: "nvidia.com/gpu".
using ResourceName = Id<struct ResourceNameTag>;

// A pod's full name. Two pods may have it one after the other; the UID tells them apart.
struct PodKey {
  std::string ns;
  std::string name;
  auto operator<=>(const PodKey&) const = default;
  std::string text() const { return ns + "/" + name; }
};

// The first 12 digits, as people and logs write a container ID.
template <class Tag>
std::string_view short_id(const Id<Tag>& id) {
  return std::string_view(id.value).substr(0, 12);
}

}  // namespace podwright

template <class Tag>
struct std::hash<podwright::Id<Tag>> {
  std::size_t operator()(const podwright::Id<Tag>& id) const noexcept { return std::hash<std::string>()(id.value); }
};

template <>
struct std::hash<podwright::PodKey> {
  std::size_t operator()(const podwright::PodKey& key) const noexcept {
    return std::hash<std::string>()(key.ns) * 31 + std::hash<std::string>()(key.name);
  }
};

template <class Tag>
struct fmt::formatter<podwright::Id<Tag>> : fmt::formatter<std::string_view> {
  template <class Context>
  auto format(const podwright::Id<Tag>& id, Context& context) const {
    return fmt::formatter<std::string_view>::format(id.value, context);
  }
};

template <>
struct fmt::formatter<podwright::PodKey> : fmt::formatter<std::string_view> {
  template <class Context>
  auto format(const podwright::PodKey& key, Context& context) const {
    return fmt::formatter<std::string_view>::format(key.text(), context);
  }
};
