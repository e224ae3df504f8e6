#include "agent/images/pull_errors.h"

#include <doctest/doctest.h>

#include <vector>

namespace podwright::images {
namespace {

TEST_CASE("what the runtimes say of a failed pull") {
  struct Row {
    std::string text, reason, message;
  };
  for (const Row& row : std::vector<Row>{
           {"RegistryUnavailable", "RegistryUnavailable",
            "image pull failed for i:1 because the registry is unavailable"},
           {"RegistryUnavailable: dial tcp: refused", "RegistryUnavailable",
            "image pull failed for i:1 because the registry is unavailable: dial tcp: refused"},
           {"SignatureValidationFailed: no key", "SignatureValidationFailed",
            "image pull failed for i:1 because the signature validation failed: no key"},
           {"failed to pull and unpack image \"i:1\": failed to resolve reference \"i:1\": not found", "ErrImagePull",
            "failed to pull and unpack image \"i:1\": failed to resolve reference \"i:1\": not found"},
           {"pull access denied, repository does not exist or may require authorization", "ErrImagePull",
            "pull access denied, repository does not exist or may require authorization"},
           {"it said RegistryUnavailable somewhere", "ErrImagePull", "it said RegistryUnavailable somewhere"},
           {"", "ErrImagePull", ""},
       }) {
    CAPTURE(row.text);
    const PullError error = pull_error_of("i:1", absl::UnknownError(row.text));
    CHECK(error.reason == row.reason);
    CHECK(error.message == row.message);
  }
}

}  // namespace
}  // namespace podwright::images
