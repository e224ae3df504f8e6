// Image references: "[host[:port]/]path[:tag][@digest]". Source: distribution/reference grammar, as far as the kubelet
// checks it before it asks the runtime.
#include <algorithm>
#include <cctype>

#include "agent/images/image_cache.h"
#include "base/status/annotate.h"

namespace podwright::images {
namespace {

// Source: distribution/reference, NameTotalLengthMax.
constexpr std::size_t kNameBytes = 255;
constexpr std::size_t kTagBytes = 128;

bool is_lower_or_digit(char c) {
  return std::islower(static_cast<unsigned char>(c)) != 0 || std::isdigit(static_cast<unsigned char>(c)) != 0;
}

bool is_component(std::string_view part) {
  if (part.empty() || !is_lower_or_digit(part.front()) || !is_lower_or_digit(part.back())) return false;
  for (std::size_t i = 0; i < part.size();) {
    if (is_lower_or_digit(part[i])) {
      ++i;
      continue;
    }
    std::size_t end = i;
    while (end < part.size() && !is_lower_or_digit(part[end])) ++end;
    const std::string_view separator = part.substr(i, end - i);
    const bool dashes = separator.find_first_not_of('-') == std::string_view::npos;
    if (separator != "." && separator != "_" && separator != "__" && !dashes) return false;
    i = end;
  }
  return true;
}

bool is_port(std::string_view port) {
  return !port.empty() && port.find_first_not_of("0123456789") == std::string_view::npos;
}

bool is_label(std::string_view label) {
  const auto is_alnum = [](char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0; };
  return !label.empty() && is_alnum(label.front()) && is_alnum(label.back()) &&
         std::all_of(label.begin(), label.end(), [&is_alnum](char c) { return is_alnum(c) || c == '-'; });
}

bool is_host(std::string_view part) {
  if (part.starts_with('[')) {
    const auto end = part.find(']');
    if (end == std::string_view::npos || end < 2) return false;
    const std::string_view rest = part.substr(end + 1);
    return part.substr(1, end - 1).find_first_not_of("0123456789abcdefABCDEF:") == std::string_view::npos &&
           (rest.empty() || (rest.front() == ':' && is_port(rest.substr(1))));
  }
  const auto colon = part.rfind(':');
  if (colon != std::string_view::npos) {
    if (!is_port(part.substr(colon + 1))) return false;
    part = part.substr(0, colon);
  }
  while (true) {
    const auto dot = part.find('.');
    if (!is_label(part.substr(0, dot))) return false;
    if (dot == std::string_view::npos) return true;
    part = part.substr(dot + 1);
  }
}

bool is_name(std::string_view name) {
  if (name.empty() || name.size() > kNameBytes) return false;
  bool first = true;
  while (true) {
    const auto slash = name.find('/');
    const std::string_view part = name.substr(0, slash);
    const bool may_be_host = first && slash != std::string_view::npos;
    if (!is_component(part) && !(may_be_host && is_host(part))) return false;
    if (slash == std::string_view::npos) return true;
    name = name.substr(slash + 1);
    first = false;
  }
}

bool is_tag(std::string_view tag) {
  if (tag.empty() || tag.size() > kTagBytes || tag.front() == '.' || tag.front() == '-') return false;
  return std::all_of(tag.begin(), tag.end(), [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '.' || c == '-';
  });
}

bool is_digest(std::string_view digest) {
  const auto colon = digest.find(':');
  if (colon == std::string_view::npos || colon == 0) return false;
  const std::string_view hex = digest.substr(colon + 1);
  return hex.size() >= 32 && hex.find_first_not_of("0123456789abcdefABCDEF") == std::string_view::npos;
}

}  // namespace

absl::StatusOr<std::string> with_default_tag(const std::string& image) {
  std::string_view rest = image;
  const auto at = rest.find('@');
  const bool has_digest = at != std::string_view::npos;
  if (has_digest) {
    if (!is_digest(rest.substr(at + 1))) {
      return make_status(absl::StatusCode::kInvalidArgument,
                         "couldn't parse image name \"{}\": invalid reference format", image);
    }
    rest = rest.substr(0, at);
  }
  const auto slash = rest.rfind('/');
  const auto colon = rest.rfind(':');
  const bool has_tag = colon != std::string_view::npos && (slash == std::string_view::npos || colon > slash);
  const std::string_view name = has_tag ? rest.substr(0, colon) : rest;
  if (!is_name(name) || (has_tag && !is_tag(rest.substr(colon + 1)))) {
    return make_status(absl::StatusCode::kInvalidArgument, "couldn't parse image name \"{}\": invalid reference format",
                       image);
  }
  return has_tag || has_digest ? image : image + ":latest";
}

}  // namespace podwright::images
