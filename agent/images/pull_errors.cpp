#include "agent/images/pull_errors.h"

#include <fmt/format.h>

#include "base/status/annotate.h"

namespace podwright::images {

PullError pull_error_of(const std::string& image, const absl::Status& status) {
  const std::string text = text_of(status);
  // Source: k8s.io/cri-api errors, ErrRegistryUnavailable and ErrSignatureValidationFailed.
  if (text.starts_with("RegistryUnavailable")) {
    return {"RegistryUnavailable", fmt::format("image pull failed for {} because the registry is unavailable{}", image,
                                               text.substr(std::string_view("RegistryUnavailable").size()))};
  }
  if (text.starts_with("SignatureValidationFailed")) {
    return {"SignatureValidationFailed",
            fmt::format("image pull failed for {} because the signature validation failed{}", image,
                        text.substr(std::string_view("SignatureValidationFailed").size()))};
  }
  return {"ErrImagePull", text};
}

}  // namespace podwright::images
