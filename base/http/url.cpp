#include "base/http/url.h"

#include <fmt/format.h>

#include <charconv>
#include <vector>

#include "base/status/annotate.h"

namespace podwright {

namespace {

bool starts_with_no_case(std::string_view text, std::string_view prefix) {
  if (text.size() < prefix.size()) return false;
  for (std::size_t i = 0; i < prefix.size(); ++i) {
    const char c = text[i] >= 'A' && text[i] <= 'Z' ? static_cast<char>(text[i] - 'A' + 'a') : text[i];
    if (c != prefix[i]) return false;
  }
  return true;
}

// "a/b/../c" to "a/c" (RFC 3986, 5.2.4), for an absolute path.
std::string remove_dots(std::string_view path) {
  std::vector<std::string_view> kept;
  bool folder = false;
  std::string_view rest = path.substr(1);
  while (true) {
    const std::size_t slash = rest.find('/');
    const std::string_view part = rest.substr(0, slash);
    folder = part == "." || part == "..";
    if (part == "..") {
      if (!kept.empty()) kept.pop_back();
    } else if (part != ".") {
      kept.push_back(part);
    }
    if (slash == std::string_view::npos) break;
    rest.remove_prefix(slash + 1);
  }
  std::string out;
  for (const auto part : kept) {
    out += '/';
    out += part;
  }
  if (folder || out.empty()) out += '/';
  return out;
}

}  // namespace

std::string Url::authority() const {
  const std::string name = host.find(':') == std::string::npos ? host : "[" + host + "]";
  return has_port ? fmt::format("{}:{}", name, port) : name;
}

std::string Url::text() const {
  return fmt::format("{}://{}{}", https ? "https" : "http", authority(), target);
}

std::string escape_target(std::string_view target) {
  std::string out;
  for (const char c : target) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte <= 0x20 || byte >= 0x7f || c == '"' || c == '<' || c == '>' || c == '\\' || c == '^' || c == '`' ||
        c == '{' || c == '|' || c == '}') {
      out += fmt::format("%{:02X}", byte);
    } else {
      out += c;
    }
  }
  return out;
}

absl::StatusOr<Url> parse_url(std::string_view text) {
  Url url;
  std::string_view rest = text;
  if (starts_with_no_case(rest, "https://")) {
    url.https = true;
    rest.remove_prefix(8);
  } else if (starts_with_no_case(rest, "http://")) {
    rest.remove_prefix(7);
  } else {
    return make_status(absl::StatusCode::kInvalidArgument, "{}: the scheme is neither http nor https", text);
  }
  const std::size_t end = std::min(rest.find_first_of("/?#"), rest.size());
  std::string_view authority = rest.substr(0, end);
  rest.remove_prefix(end);
  if (authority.find('@') != std::string_view::npos) {
    return absl::InvalidArgumentError("a URL with a user name in it is not supported");
  }
  std::string_view port;
  if (authority.starts_with('[')) {
    const std::size_t close = authority.find(']');
    if (close == std::string_view::npos) return absl::InvalidArgumentError("the host has no closing bracket");
    url.host = std::string(authority.substr(1, close - 1));
    port = authority.substr(close + 1);
  } else {
    const std::size_t colon = std::min(authority.find(':'), authority.size());
    url.host = std::string(authority.substr(0, colon));
    port = authority.substr(colon);
  }
  if (url.host.empty()) return make_status(absl::StatusCode::kInvalidArgument, "{}: no host", text);
  url.port = url.https ? 443 : 80;
  if (!port.empty()) {
    if (port.front() != ':') return make_status(absl::StatusCode::kInvalidArgument, "{}: the port is no number", text);
    port.remove_prefix(1);
    if (!port.empty()) {
      const auto [stop, error] = std::from_chars(port.data(), port.data() + port.size(), url.port);
      if (error != std::errc() || stop != port.data() + port.size()) {
        return make_status(absl::StatusCode::kInvalidArgument, "{}: the port is no number", text);
      }
      url.has_port = true;
    }
  }
  rest = rest.substr(0, rest.find('#'));
  url.target = escape_target(rest.starts_with('/') ? std::string(rest) : "/" + std::string(rest));
  return url;
}

absl::StatusOr<Url> resolve_reference(const Url& base, std::string_view reference) {
  const std::size_t colon = reference.find_first_of(":/?#");
  if (colon != std::string_view::npos && reference[colon] == ':') return parse_url(reference);
  if (reference.starts_with("//")) return parse_url((base.https ? "https:" : "http:") + std::string(reference));
  reference = reference.substr(0, reference.find('#'));
  Url url = base;
  if (reference.empty()) return url;
  const std::string_view base_path = std::string_view(base.target).substr(0, base.target.find('?'));
  if (reference.front() == '?') {
    url.target = std::string(base_path) + escape_target(reference);
    return url;
  }
  const std::size_t mark = std::min(reference.find('?'), reference.size());
  std::string path(reference.substr(0, mark));
  if (!path.starts_with('/')) path = std::string(base_path.substr(0, base_path.rfind('/') + 1)) + path;
  url.target = escape_target(remove_dots(path) + std::string(reference.substr(mark)));
  return url;
}

}  // namespace podwright
