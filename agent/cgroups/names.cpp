#include "agent/cgroups/names.h"

#include <algorithm>

namespace podwright::cgroups {
namespace {

constexpr std::string_view kSliceEnd = ".slice";

std::vector<std::string> split(std::string_view text, char separator) {
  std::vector<std::string> parts;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find(separator), text.size());
    if (end > 0) parts.emplace_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return parts;
}

// systemd separates parents by "-", so one inside a part is written "_".
std::string escape(std::string part) {
  std::replace(part.begin(), part.end(), '-', '_');
  return part;
}

}  // namespace

Name parse_root(std::string_view cgroup_root, DriverKind driver) {
  const Name directories = split(cgroup_root, '/');
  if (driver == DriverKind::kCgroupfs || directories.empty()) return directories;
  std::string_view last = directories.back();
  if (!last.ends_with(kSliceEnd)) return directories;
  last.remove_suffix(kSliceEnd.size());
  return split(last, '-');
}

Name kubepods_name(const Name& root) {
  Name name = root;
  name.emplace_back("kubepods");
  return name;
}

Name qos_name(const Name& root, api::Qos qos) {
  Name name = kubepods_name(root);
  switch (qos) {
    case api::Qos::kGuaranteed: break;
    case api::Qos::kBurstable: name.emplace_back("burstable"); break;
    case api::Qos::kBestEffort: name.emplace_back("besteffort"); break;
  }
  return name;
}

Name pod_name(const Name& root, api::Qos qos, const PodUid& uid) {
  Name name = qos_name(root, qos);
  name.push_back("pod" + uid.value);
  return name;
}

std::string to_slice(const Name& name) {
  if (name.empty()) return "-.slice";
  std::string slice;
  for (const std::string& part : name) slice += (slice.empty() ? "" : "-") + escape(part);
  return slice + std::string(kSliceEnd);
}

std::string to_path(const Name& name, DriverKind driver) {
  std::string path;
  Name so_far;
  for (const std::string& part : name) {
    so_far.push_back(part);
    path += "/" + (driver == DriverKind::kSystemd ? to_slice(so_far) : part);
  }
  return path.empty() ? "/" : path;
}

std::optional<PodUid> pod_of(const Name& qos, std::string_view directory, DriverKind driver) {
  std::string prefix = "pod";
  std::string_view end;
  if (driver == DriverKind::kSystemd) {
    const std::string slice = to_slice(qos);
    prefix = slice.substr(0, slice.size() - kSliceEnd.size()) + "-pod";
    end = kSliceEnd;
  }
  if (!directory.starts_with(prefix) || !directory.ends_with(end)) return std::nullopt;
  if (directory.size() <= prefix.size() + end.size()) return std::nullopt;
  std::string uid(directory.substr(prefix.size(), directory.size() - prefix.size() - end.size()));
  if (driver == DriverKind::kSystemd) std::replace(uid.begin(), uid.end(), '_', '-');
  return PodUid(uid);
}

}  // namespace podwright::cgroups
