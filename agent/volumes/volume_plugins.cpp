#include "agent/volumes/volume_plugin.h"

#include <algorithm>

namespace podwright::volumes {

Co<absl::Status> VolumePlugin::update(VolumeTask /*task*/) {
  co_return absl::OkStatus();
}

absl::Status files_error(const absl::Status& status) {
  return absl::IsFailedPrecondition(status) ? absl::Status(absl::StatusCode::kUnknown, status.message()) : status;
}

std::string escaped_kind(std::string_view kind) {
  std::string name(kind);
  std::replace(name.begin(), name.end(), '/', '~');
  return name;
}

std::vector<std::unique_ptr<VolumePlugin>> volume_plugins(const PluginParts& parts) {
  std::vector<std::unique_ptr<VolumePlugin>> all;
  all.push_back(make_empty_dir(parts));
  all.push_back(make_host_path(parts));
  all.push_back(make_config_map(parts));
  all.push_back(make_secret(parts));
  all.push_back(make_downward_api(parts));
  all.push_back(make_projected(parts));
  return all;
}

}  // namespace podwright::volumes
