#include <algorithm>

#include "api/validation_names.h"
#include "api/validation_parts.h"

namespace podwright::api {
namespace {

void check_propagation(const core::VolumeMount& mount, const core::Container& container, const Path& path,
                       Report& report) {
  if (mount.has_mountpropagation()) {
    const Path field = path / "mountPropagation";
    report.one_of(field, mount.mountpropagation(), {"Bidirectional", "HostToContainer", "None"});
    if (mount.mountpropagation() == "Bidirectional" && !container.securitycontext().privileged()) {
      report.forbidden(field, "Bidirectional mount propagation is available only to privileged containers");
    }
  }
  if (!mount.has_recursivereadonly()) return;
  const Path field = path / "recursiveReadOnly";
  report.one_of(field, mount.recursivereadonly(), {"Disabled", "Enabled", "IfPossible"});
  if (mount.recursivereadonly() == "Disabled") return;
  if (!mount.readonly()) report.forbidden(field, "may only be specified when readOnly is true");
  if (!mount.mountpropagation().empty() && mount.mountpropagation() != "None") {
    report.forbidden(field, "may only be specified when mountPropagation is None or not specified");
  }
}

void check_sub_path(const core::VolumeMount& mount, const core::VolumeSource* source, const Path& path,
                    Report& report) {
  const bool in_image = source != nullptr && source->has_image();
  const auto check = [&](std::string_view field, const std::string& value) {
    if (value.empty()) return;
    if (in_image) report.invalid(path / field, value, "not allowed in image volume sources");
    report.faults(path / field, value, descending_path_faults(value));
  };
  check("subPath", mount.subpath());
  check("subPathExpr", mount.subpathexpr());
  if (!mount.subpath().empty() && !mount.subpathexpr().empty()) {
    report.invalid(path / "subPathExpr", mount.subpathexpr(), "subPathExpr and subPath are mutually exclusive");
  }
}

// Source: a mount path and its options are separated by ':' in the forms that runtimes read.
void check_mount_path(const std::string& mount_path, const Path& path, std::set<std::string>& taken, Report& report) {
  if (mount_path.empty()) return report.required(path);
  if (!taken.insert(mount_path).second) report.invalid(path, mount_path, "must be unique");
  if (mount_path.find(':') != std::string::npos) report.invalid(path, mount_path, "must not contain ':'");
}

bool is_claim(const core::VolumeSource& source) {
  return source.has_persistentvolumeclaim() || source.has_ephemeral();
}

void check_devices(const core::Container& container, const PodScope& scope, const std::set<std::string>& mounted,
                   const std::set<std::string>& mount_paths, const Path& path, Report& report) {
  std::set<std::string> names;
  std::set<std::string> paths;
  for (int i = 0; i < container.volumedevices_size(); ++i) {
    const auto& device = container.volumedevices(i);
    const auto volume = scope.volumes.find(device.name());
    if (device.name().empty()) report.required(path[i] / "name");
    if (volume == scope.volumes.end()) {
      report.not_found(path[i] / "name", device.name());
    } else if (!is_claim(*volume->second)) {
      report.invalid(path[i] / "name", device.name(),
                     "can only use volume source type of PersistentVolumeClaim or Ephemeral for block mode");
    }
    if (!device.name().empty() && !names.insert(device.name()).second) {
      report.invalid(path[i] / "name", device.name(), "must be unique");
    }
    if (mounted.contains(device.name())) {
      report.invalid(path[i] / "name", device.name(), "must not already exist in volumeMounts");
    }
    const std::string& device_path = device.devicepath();
    if (device_path.empty()) {
      report.required(path[i] / "devicePath");
    } else if (has_backsteps(device_path)) {
      report.invalid(path[i] / "devicePath", device_path, "can not contain backsteps ('..')");
    } else if (!paths.insert(device_path).second) {
      report.invalid(path[i] / "devicePath", device_path, "must be unique");
    }
    if (mount_paths.contains(device_path)) {
      report.invalid(path[i] / "devicePath", device_path, "must not already exist as a path in volumeMounts");
    }
  }
}

}  // namespace

void check_mounts(const core::Container& container, const PodScope& scope, const Path& path, Report& report) {
  std::set<std::string> mounted;
  std::set<std::string> paths;
  for (int i = 0; i < container.volumemounts_size(); ++i) {
    const auto& mount = container.volumemounts(i);
    const Path here = (path / "volumeMounts")[i];
    const auto volume = scope.volumes.find(mount.name());
    if (mount.name().empty()) {
      report.required(here / "name");
    } else if (volume == scope.volumes.end()) {
      report.not_found(here / "name", mount.name());
    }
    mounted.insert(mount.name());
    check_mount_path(mount.mountpath(), here / "mountPath", paths, report);
    check_sub_path(mount, volume == scope.volumes.end() ? nullptr : volume->second, here, report);
    check_propagation(mount, container, here, report);
  }
  check_devices(container, scope, mounted, paths, path / "volumeDevices", report);
}

}  // namespace podwright::api
