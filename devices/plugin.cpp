#include "devices/plugin.h"

#include <algorithm>

#include "base/status/annotate.h"

namespace podwright::devices {
namespace {

void merge_map(std::map<std::string, std::string>& into, const std::map<std::string, std::string>& more,
               std::string_view kind, std::vector<std::string>& conflicts) {
  for (const auto& [key, value] : more) {
    const auto [place, fresh] = into.try_emplace(key, value);
    if (!fresh && place->second != value) conflicts.push_back(fmt::format("{} {}", kind, key));
  }
}

template <class T>
void merge_places(std::vector<T>& into, const std::vector<T>& more, std::string_view kind,
                  std::vector<std::string>& conflicts) {
  for (const auto& one : more) {
    const auto same =
        std::find_if(into.begin(), into.end(), [&](const T& old) { return old.container_path == one.container_path; });
    if (same == into.end()) {
      into.push_back(one);
    } else if (*same != one) {
      conflicts.push_back(fmt::format("{} {}", kind, one.container_path));
    }
  }
}

bool is_absolute(const std::string& path) {
  return path.starts_with('/');
}

}  // namespace

std::vector<std::string> merge(ContainerSetup& into, const ContainerSetup& more) {
  std::vector<std::string> conflicts;
  merge_map(into.envs, more.envs, "variable", conflicts);
  merge_places(into.mounts, more.mounts, "mount", conflicts);
  merge_places(into.devices, more.devices, "device", conflicts);
  merge_map(into.annotations, more.annotations, "annotation", conflicts);
  for (const auto& name : more.cdi_devices) {
    if (std::find(into.cdi_devices.begin(), into.cdi_devices.end(), name) == into.cdi_devices.end()) {
      into.cdi_devices.push_back(name);
    }
  }
  return conflicts;
}

absl::Status check(const ContainerSetup& setup) {
  const auto bad = [](std::string_view what, const std::string& which) {
    return make_status(absl::StatusCode::kInvalidArgument, "the plugin's answer has {} \"{}\"", what, which);
  };
  for (const auto& [name, value] : setup.envs) {
    if (name.empty() || name.find('=') != std::string::npos) return bad("a variable with the name", name);
  }
  for (const auto& mount : setup.mounts) {
    if (!is_absolute(mount.container_path)) return bad("a mount at the relative path", mount.container_path);
    if (!is_absolute(mount.host_path)) return bad("a mount of the relative path", mount.host_path);
  }
  for (const auto& device : setup.devices) {
    if (!is_absolute(device.container_path)) return bad("a device at the relative path", device.container_path);
    if (!is_absolute(device.host_path)) return bad("a device of the relative path", device.host_path);
    if (device.permissions.find_first_not_of("rwm") != std::string::npos) {
      return bad("a device with the permissions", device.permissions);
    }
  }
  return absl::OkStatus();
}

}  // namespace podwright::devices
