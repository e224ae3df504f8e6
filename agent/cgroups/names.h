// Names of cgroups. Inside, a name is its parts from the root: {"kubepods", "burstable", "pod123"}. The cgroupfs driver
// writes them as directories, systemd as slices, where each slice names all its parents.
//   cgroupfs  /kubepods/burstable/pod12-34
//   systemd   /kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod12_34.slice
// Source: pkg/kubelet/cm/cgroup_manager_linux.go, pod_container_manager_linux.go.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "api/ids.h"
#include "api/resources.h"

namespace podwright::cgroups {

using Name = std::vector<std::string>;

enum class DriverKind { kCgroupfs, kSystemd };

// The cgroupRoot setting as a name: "/", "/a/b", and for systemd "/a.slice".
Name parse_root(std::string_view cgroup_root, DriverKind driver);
Name kubepods_name(const Name& root);
// Guaranteed pods are directly below kubepods.
Name qos_name(const Name& root, api::Qos qos);
Name pod_name(const Name& root, api::Qos qos, const PodUid& uid);

// The path below a hierarchy's mount, with a slash in front. It is also what CRI's cgroup_parent gets.
std::string to_path(const Name& name, DriverKind driver);
// The unit: "kubepods-burstable.slice". Of the root "-.slice".
std::string to_slice(const Name& name);

// The pod whose cgroup a directory below that of its QoS class is; nothing for other directories.
std::optional<PodUid> pod_of(const Name& qos, std::string_view directory, DriverKind driver);

}  // namespace podwright::cgroups
