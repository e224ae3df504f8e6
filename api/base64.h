// Base64 of the standard alphabet with padding; line breaks are ignored on reading (Go's encoding/base64.StdEncoding).
#pragma once

#include <absl/status/statusor.h>

#include <string>
#include <string_view>

namespace podwright::api {

absl::StatusOr<std::string> base64_decode(std::string_view text);
std::string base64_encode(std::string_view bytes);

}  // namespace podwright::api
