// The ConfigMap and Secret documents of the manifest directory. The file source puts the whole set after each scan.
#pragma once

#include <map>
#include <utility>

#include "agent/objects/objects.h"
#include "base/co/bell.h"

namespace podwright::objects {

// What one scan of the directory found.
struct ObjectSet {
  using Key = std::pair<std::string, std::string>;  // namespace, name
  std::map<Key, ConfigMapPtr> config_maps;
  std::map<Key, SecretPtr> secrets;
};

class ManifestObjects final : public Objects {
 public:
  explicit ManifestObjects(Loop& loop) : changed_(loop) {}

  // Takes the place of what was there. Objects whose content is the same keep their message, and no change is told
  // where nothing differs.
  void replace(ObjectSet set);

  absl::StatusOr<ConfigMapPtr> config_map(const std::string& ns, const std::string& name) override;
  absl::StatusOr<SecretPtr> secret(const std::string& ns, const std::string& name) override;
  uint64_t version() const override { return version_; }
  Co<Wait> changed(Instant deadline) override { return changed_.wait_until(deadline); }

 private:
  ObjectSet set_;
  // False until the first scan is over.
  bool filled_ = false;
  uint64_t version_ = 0;
  Notice changed_;
};

}  // namespace podwright::objects
