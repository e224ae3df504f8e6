// What a plugin may register as.
#include <algorithm>
#include <cctype>

#include "base/status/annotate.h"
#include "devices/device_plugins.h"

namespace podwright::devices {
namespace {

constexpr std::string_view kVersion = "v1beta1";
constexpr std::size_t kPrefixLength = 253;
constexpr std::size_t kNameLength = 63;

bool is_alnum(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
}

bool is_lower_alnum(char c) {
  return is_alnum(c) && !(c >= 'A' && c <= 'Z');
}

// RFC 1123: labels of lower-case letters, digits and "-", joined by dots.
bool is_subdomain(std::string_view text) {
  if (text.empty() || text.size() > kPrefixLength) return false;
  std::size_t begin = 0;
  while (true) {
    const std::size_t end = std::min(text.find('.', begin), text.size());
    const std::string_view label = text.substr(begin, end - begin);
    if (label.empty() || !is_lower_alnum(label.front()) || !is_lower_alnum(label.back())) return false;
    if (!std::all_of(label.begin(), label.end(), [](char c) { return is_lower_alnum(c) || c == '-'; })) return false;
    if (end == text.size()) return true;
    begin = end + 1;
  }
}

}  // namespace

bool is_extended_resource(std::string_view name) {
  const std::size_t slash = name.find('/');
  if (slash == std::string_view::npos || name.find("kubernetes.io/") != std::string_view::npos) return false;
  if (name.starts_with("requests.")) return false;
  // The name has to be usable in a quota, too.
  if (!is_subdomain("requests." + std::string(name.substr(0, slash)))) return false;
  const std::string_view rest = name.substr(slash + 1);
  if (rest.empty() || rest.size() > kNameLength || !is_alnum(rest.front()) || !is_alnum(rest.back())) return false;
  return std::all_of(rest.begin(), rest.end(), [](char c) { return is_alnum(c) || c == '-' || c == '_' || c == '.'; });
}

absl::Status check(const Registration& registration) {
  const auto invalid = absl::StatusCode::kInvalidArgument;
  if (registration.version != kVersion) {
    return make_status(invalid,
                       "requested API version \"{}\" is not supported by kubelet. Supported version is [\"{}\"]",
                       registration.version, kVersion);
  }
  if (!is_extended_resource(registration.resource)) {
    return make_status(invalid, "the ResourceName \"{}\" is invalid", registration.resource);
  }
  const std::string& endpoint = registration.endpoint;
  if (endpoint.empty() || endpoint == "." || endpoint == ".." || endpoint.find('/') != std::string::npos ||
      endpoint.find('\0') != std::string::npos) {
    return make_status(invalid, "the endpoint \"{}\" is not the name of a socket in the folder of device plugins",
                       endpoint);
  }
  return absl::OkStatus();
}

}  // namespace podwright::devices
