// Objects: the ConfigMaps and Secrets that pods refer to, from the API or (without a kubeconfig) from the manifest
// directory. Messages are immutable; a change brings new ones. Loop thread only.
#pragma once

#include <absl/status/statusor.h>

#include <cstdint>
#include <memory>
#include <string>

#include "api/types.h"
#include "base/co/co.h"
#include "base/co/loop.h"
#include "base/time/time.h"

namespace podwright::objects {

using ConfigMapPtr = std::shared_ptr<const core::ConfigMap>;
using SecretPtr = std::shared_ptr<const core::Secret>;

class Objects {
 public:
  virtual ~Objects() = default;

  // NotFound where there is none; Unavailable where the source cannot tell yet.
  virtual absl::StatusOr<ConfigMapPtr> config_map(const std::string& ns, const std::string& name) = 0;
  virtual absl::StatusOr<SecretPtr> secret(const std::string& ns, const std::string& name) = 0;

  // Grows with each change of any object.
  virtual uint64_t version() const = 0;
  // Waits for the next change.
  virtual Co<Wait> changed(Instant deadline) = 0;
};

}  // namespace podwright::objects
