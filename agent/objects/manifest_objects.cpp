#include "agent/objects/manifest_objects.h"

#include <google/protobuf/util/message_differencer.h>

#include "base/status/annotate.h"

namespace podwright::objects {
namespace {

// Keeps the old message where the new one says the same. True where anything differs.
template <class Map>
bool take_over(const Map& old, Map& fresh) {
  bool differs = old.size() != fresh.size();
  for (auto& [key, message] : fresh) {
    const auto found = old.find(key);
    if (found != old.end() && google::protobuf::util::MessageDifferencer::Equals(*found->second, *message)) {
      message = found->second;
    } else {
      differs = true;
    }
  }
  return differs;
}

template <class Map>
absl::StatusOr<typename Map::mapped_type> find(const Map& map, bool filled, const std::string& ns,
                                               const std::string& name, std::string_view kind) {
  const auto found = map.find({ns, name});
  if (found != map.end()) return found->second;
  if (!filled) return absl::UnavailableError("the manifest directory has not been read yet");
  return make_status(absl::StatusCode::kNotFound, "{} \"{}\" not found among the manifests of namespace {}", kind, name,
                     ns);
}

}  // namespace

void ManifestObjects::replace(ObjectSet set) {
  const bool maps = take_over(set_.config_maps, set.config_maps);
  const bool secrets = take_over(set_.secrets, set.secrets);
  const bool first = !filled_;
  set_ = std::move(set);
  filled_ = true;
  if (!maps && !secrets && !first) return;
  ++version_;
  changed_.notify();
}

absl::StatusOr<ConfigMapPtr> ManifestObjects::config_map(const std::string& ns, const std::string& name) {
  return find(set_.config_maps, filled_, ns, name, "configmap");
}

absl::StatusOr<SecretPtr> ManifestObjects::secret(const std::string& ns, const std::string& name) {
  return find(set_.secrets, filled_, ns, name, "secret");
}

}  // namespace podwright::objects
