#include "api/validation_names.h"

#include <arpa/inet.h>

#include <algorithm>
#include <cctype>

namespace podwright::api {
namespace {

constexpr std::size_t kLabelBytes = 63;
constexpr std::size_t kSubdomainBytes = 253;
constexpr std::size_t kPortNameBytes = 15;

constexpr std::string_view kLabel =
    "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with "
    "an alphanumeric character (e.g. 'my-name' or '123-abc')";
constexpr std::string_view kSubdomain =
    "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and "
    "end with an alphanumeric character (e.g. 'example.com')";
constexpr std::string_view kSearchDomain =
    "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-', '_' or '.', and must "
    "start "
    "and end with an alphanumeric character or '_'";
constexpr std::string_view kNamePart =
    "must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character";

bool is_lower(char c) {
  return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9');
}
bool is_alphanumeric(char c) {
  return is_lower(c) || (c >= 'A' && c <= 'Z');
}
bool is_in(char c, std::string_view set) {
  return set.find(c) != std::string_view::npos;
}

// `ends` decides about the first and the last character, `ends` or `inner` about all.
bool has_form(std::string_view text, bool (*ends)(char), std::string_view inner) {
  return !text.empty() && ends(text.front()) && ends(text.back()) &&
         std::all_of(text.begin(), text.end(), [&](char c) { return ends(c) || is_in(c, inner); });
}

bool is_dotted(std::string_view text, bool (*ends)(char)) {
  while (true) {
    const auto dot = text.find('.');
    if (!has_form(text.substr(0, dot), ends, "-")) return false;
    if (dot == std::string_view::npos) return true;
    text.remove_prefix(dot + 1);
  }
}

Faults limited(std::string_view text, std::size_t bytes) {
  if (text.size() <= bytes) return {};
  return {fmt::format("must be no more than {} bytes", bytes)};
}

Faults limited(std::string_view text, std::size_t bytes, bool right, std::string_view what) {
  Faults faults = limited(text, bytes);
  if (!right) faults.emplace_back(what);
  return faults;
}

}  // namespace

Faults label_faults(std::string_view text) {
  return limited(text, kLabelBytes, has_form(text, is_lower, "-"), kLabel);
}

Faults subdomain_faults(std::string_view text) {
  return limited(text, kSubdomainBytes, is_dotted(text, is_lower), kSubdomain);
}

Faults search_domain_faults(std::string_view text) {
  return limited(text, kSubdomainBytes, is_dotted(text, [](char c) { return is_lower(c) || c == '_'; }), kSearchDomain);
}

Faults qualified_name_faults(std::string_view text) {
  Faults faults;
  const auto slash = text.find('/');
  if (slash != std::string_view::npos) {
    const std::string_view prefix = text.substr(0, slash);
    text.remove_prefix(slash + 1);
    if (text.find('/') != std::string_view::npos) {
      return {fmt::format(
          "a qualified name {} with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')", kNamePart)};
    }
    if (prefix.empty()) {
      faults.emplace_back("prefix part must be non-empty");
    } else {
      for (const auto& fault : subdomain_faults(prefix)) faults.push_back("prefix part " + fault);
    }
  }
  if (text.empty()) faults.emplace_back("name part must be non-empty");
  for (const auto& fault : limited(text, kLabelBytes)) faults.push_back("name part " + fault);
  if (!has_form(text, is_alphanumeric, "-_.")) faults.push_back(fmt::format("name part {}", kNamePart));
  return faults;
}

Faults label_value_faults(std::string_view text) {
  return limited(text, kLabelBytes, text.empty() || has_form(text, is_alphanumeric, "-_."),
                 fmt::format("a valid label must be an empty string or {}", kNamePart.substr(sizeof("must ") - 1)));
}

Faults port_name_faults(std::string_view text) {
  Faults faults;
  if (text.size() > kPortNameBytes) faults.push_back(fmt::format("must be no more than {} characters", kPortNameBytes));
  if (!std::all_of(text.begin(), text.end(), [](char c) { return is_lower(c) || c == '-'; })) {
    faults.emplace_back("must contain only alpha-numeric characters (a-z, 0-9), and hyphens (-)");
  }
  if (std::none_of(text.begin(), text.end(), [](char c) { return c >= 'a' && c <= 'z'; })) {
    faults.emplace_back("must contain at least one letter (a-z)");
  }
  if (text.find("--") != std::string_view::npos) faults.emplace_back("must not contain consecutive hyphens");
  if (text.starts_with('-') || text.ends_with('-')) faults.emplace_back("must not begin or end with a hyphen");
  return faults;
}

Faults variable_faults(std::string_view text) {
  const bool right =
      !text.empty() && std::all_of(text.begin(), text.end(), [](char c) { return c >= ' ' && c <= '~' && c != '='; });
  if (right) return {};
  return {"a valid environment variable name must consist only of printable ASCII characters other than '='"};
}

Faults config_key_faults(std::string_view text) {
  Faults faults = limited(text, kSubdomainBytes);
  if (text.empty() ||
      !std::all_of(text.begin(), text.end(), [](char c) { return is_alphanumeric(c) || is_in(c, "-_."); })) {
    faults.emplace_back("a valid config key must consist of alphanumeric characters, '-', '_' or '.'");
  }
  if (text == ".") faults.emplace_back("must not be '.'");
  if (text == "..") {
    faults.emplace_back("must not be '..'");
  } else if (text.starts_with("..")) {
    faults.emplace_back("must not start with '..'");
  }
  return faults;
}

Faults header_name_faults(std::string_view text) {
  if (!text.empty() && std::all_of(text.begin(), text.end(), [](char c) { return is_alphanumeric(c) || c == '-'; })) {
    return {};
  }
  return {"a valid HTTP header must consist of alphanumeric characters or '-' (e.g. 'X-Header-Name')"};
}

Faults ip_faults(std::string_view text) {
  const std::string copy(text);
  in6_addr address{};
  if (copy.size() == text.size() && copy.find('\0') == std::string::npos &&
      (inet_pton(AF_INET, copy.c_str(), &address) == 1 || inet_pton(AF_INET6, copy.c_str(), &address) == 1)) {
    return {};
  }
  return {"must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)"};
}

Faults sysctl_faults(std::string_view text) {
  bool right = text.size() <= kSubdomainBytes;
  for (std::size_t begin = 0; right && begin <= text.size();) {
    const auto end = std::min(text.find_first_of("./", begin), text.size());
    right = has_form(text.substr(begin, end - begin), is_lower, "-_");
    begin = end + 1;
  }
  if (right) return {};
  return {
      fmt::format("must have at most {} characters and consist of lower case alphanumeric segments, '-' and '_' "
                  "inside them, '.' or '/' between them",
                  kSubdomainBytes)};
}

bool has_backsteps(std::string_view path) {
  for (std::size_t begin = 0; begin <= path.size();) {
    const auto end = std::min(path.find('/', begin), path.size());
    if (path.substr(begin, end - begin) == "..") return true;
    begin = end + 1;
  }
  return false;
}

Faults no_backsteps_faults(std::string_view text) {
  if (has_backsteps(text)) return {"must not contain '..'"};
  return {};
}

Faults descending_path_faults(std::string_view text) {
  Faults faults;
  if (text.starts_with('/')) faults.emplace_back("must be a relative path");
  if (has_backsteps(text)) faults.emplace_back("must not contain '..'");
  return faults;
}

Faults file_path_faults(std::string_view text) {
  Faults faults = descending_path_faults(text);
  if (text.starts_with("..") && !text.starts_with("../") && text != "..") {
    faults.emplace_back("must not start with '..'");
  }
  return faults;
}

}  // namespace podwright::api
