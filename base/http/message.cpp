#include "base/http/message.h"

#include <algorithm>

#include "base/status/annotate.h"

namespace podwright {

namespace {

char lower(char c) {
  return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
}

std::string_view trim(std::string_view text) {
  while (!text.empty() && (text.front() == ' ' || text.front() == '\t')) text.remove_prefix(1);
  while (!text.empty() && (text.back() == ' ' || text.back() == '\t')) text.remove_suffix(1);
  return text;
}

int hex_digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  c = lower(c);
  return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

bool is_plain(std::string_view text) {
  return std::none_of(text.begin(), text.end(), [](char c) { return c == '\r' || c == '\n' || c == '\0'; });
}

// Whether a path climbs above its root, as "/../etc" does.
bool leaves_root(std::string_view path) {
  int depth = 0;
  while (!path.empty()) {
    const std::size_t end = std::min(path.find('/'), path.size());
    const std::string_view part = path.substr(0, end);
    if (part == "..") {
      if (--depth < 0) return true;
    } else if (!part.empty() && part != ".") {
      ++depth;
    }
    path.remove_prefix(std::min(end + 1, path.size()));
  }
  return false;
}

}  // namespace

bool equal_no_case(std::string_view a, std::string_view b) {
  return a.size() == b.size() &&
         std::equal(a.begin(), a.end(), b.begin(), [](char x, char y) { return lower(x) == lower(y); });
}

std::optional<std::string> Headers::get(std::string_view name) const {
  for (const auto& [key, value] : fields_) {
    if (equal_no_case(key, name)) return value;
  }
  return std::nullopt;
}

std::vector<std::string> Headers::all(std::string_view name) const {
  std::vector<std::string> values;
  for (const auto& [key, value] : fields_) {
    if (equal_no_case(key, name)) values.push_back(value);
  }
  return values;
}

void Headers::set(std::string name, std::string value) {
  remove(name);
  add(std::move(name), std::move(value));
}

void Headers::remove(std::string_view name) {
  std::erase_if(fields_, [name](const Field& field) { return equal_no_case(field.first, name); });
}

bool Headers::has_token(std::string_view name, std::string_view token) const {
  for (const auto& value : all(name)) {
    std::string_view rest = value;
    while (!rest.empty()) {
      const std::size_t comma = std::min(rest.find(','), rest.size());
      if (equal_no_case(trim(rest.substr(0, comma)), token)) return true;
      rest.remove_prefix(std::min(comma + 1, rest.size()));
    }
  }
  return false;
}

std::optional<std::string> HttpRequest::query_value(std::string_view key) const {
  for (const auto& [name, value] : query) {
    if (name == key) return value;
  }
  return std::nullopt;
}

std::vector<std::string> HttpRequest::query_values(std::string_view key) const {
  std::vector<std::string> values;
  for (const auto& [name, value] : query) {
    if (name == key) values.push_back(value);
  }
  return values;
}

std::string HttpRequest::param(std::string_view name) const {
  for (const auto& [key, value] : params) {
    if (key == name) return value;
  }
  return {};
}

HttpResponse HttpResponse::text(int status, std::string body) {
  HttpResponse response;
  response.status = status;
  response.headers.add("Content-Type", "text/plain; charset=utf-8");
  response.body = std::move(body);
  return response;
}

HttpResponse HttpResponse::json(int status, std::string body) {
  HttpResponse response;
  response.status = status;
  response.headers.add("Content-Type", "application/json");
  response.body = std::move(body);
  return response;
}

std::string_view reason_of(int status) {
  switch (status) {
    case 100: return "Continue";
    case 101: return "Switching Protocols";
    case 200: return "OK";
    case 201: return "Created";
    case 202: return "Accepted";
    case 204: return "No Content";
    case 301: return "Moved Permanently";
    case 302: return "Found";
    case 304: return "Not Modified";
    case 307: return "Temporary Redirect";
    case 308: return "Permanent Redirect";
    case 400: return "Bad Request";
    case 401: return "Unauthorized";
    case 403: return "Forbidden";
    case 404: return "Not Found";
    case 405: return "Method Not Allowed";
    case 406: return "Not Acceptable";
    case 408: return "Request Timeout";
    case 409: return "Conflict";
    case 410: return "Gone";
    case 413: return "Request Entity Too Large";
    case 414: return "Request URI Too Long";
    case 415: return "Unsupported Media Type";
    case 422: return "Unprocessable Entity";
    case 429: return "Too Many Requests";
    case 431: return "Request Header Fields Too Large";
    case 500: return "Internal Server Error";
    case 501: return "Not Implemented";
    case 502: return "Bad Gateway";
    case 503: return "Service Unavailable";
    case 504: return "Gateway Timeout";
    default: return "Status";
  }
}

absl::StatusOr<std::string> percent_decode(std::string_view text, bool plus) {
  std::string out;
  out.reserve(text.size());
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '+' && plus) {
      out += ' ';
    } else if (text[i] != '%') {
      out += text[i];
    } else {
      const int high = i + 1 < text.size() ? hex_digit(text[i + 1]) : -1;
      const int low = i + 2 < text.size() ? hex_digit(text[i + 2]) : -1;
      if (high < 0 || low < 0) return absl::InvalidArgumentError("a percent sign without two hexadecimal digits");
      out += static_cast<char>(high * 16 + low);
      i += 2;
    }
  }
  return out;
}

absl::StatusOr<Target> parse_target(std::string_view target) {
  Target parsed;
  if (target == "*") {
    parsed.path = "*";
    return parsed;
  }
  if (target.empty() || target.front() != '/') return absl::InvalidArgumentError("the target is not a path");
  target = target.substr(0, target.find('#'));
  const std::size_t mark = std::min(target.find('?'), target.size());
  absl::StatusOr<std::string> path = percent_decode(target.substr(0, mark), false);
  if (!path.ok()) return annotate(path.status(), "path");
  if (path->find('\0') != std::string::npos) return absl::InvalidArgumentError("the path has a NUL in it");
  if (leaves_root(*path)) return absl::InvalidArgumentError("the path leaves its root");
  parsed.path = *std::move(path);
  std::string_view rest = target.substr(std::min(mark + 1, target.size()));
  while (!rest.empty()) {
    const std::size_t end = std::min(rest.find('&'), rest.size());
    const std::string_view item = rest.substr(0, end);
    rest.remove_prefix(std::min(end + 1, rest.size()));
    if (item.empty()) continue;
    const std::size_t equals = std::min(item.find('='), item.size());
    absl::StatusOr<std::string> key = percent_decode(item.substr(0, equals), true);
    absl::StatusOr<std::string> value = percent_decode(item.substr(std::min(equals + 1, item.size())), true);
    if (!key.ok()) return annotate(key.status(), "query");
    if (!value.ok()) return annotate(value.status(), "query");
    parsed.query.emplace_back(*std::move(key), *std::move(value));
  }
  return parsed;
}

std::string to_wire(std::string_view start_line, const Headers& headers) {
  std::string wire(start_line);
  wire += "\r\n";
  for (const auto& [name, value] : headers.fields()) {
    if (name.empty() || !is_plain(name) || !is_plain(value) || name.find(':') != std::string::npos) continue;
    wire += name;
    wire += ": ";
    wire += value;
    wire += "\r\n";
  }
  wire += "\r\n";
  return wire;
}

}  // namespace podwright
