// What a runtime's text of a failed pull means. The one place where such texts are read.
#pragma once

#include <absl/status/status.h>

#include <string>

namespace podwright::images {

struct PullError {
  // The waiting reason: ErrImagePull, or one that the runtime named (RegistryUnavailable, SignatureValidationFailed).
  std::string reason;
  std::string message;
};

PullError pull_error_of(const std::string& image, const absl::Status& status);

}  // namespace podwright::images
