#include "base/http/router.h"

#include <algorithm>
#include <set>

namespace podwright {

namespace {

// "/a/b" to {"a", "b"}, "/a/" to {"a", ""}, "/" to {""}.
std::vector<std::string_view> parts_of(std::string_view path) {
  std::vector<std::string_view> parts;
  if (path.starts_with('/')) path.remove_prefix(1);
  while (true) {
    const std::size_t slash = path.find('/');
    parts.push_back(path.substr(0, slash));
    if (slash == std::string_view::npos) return parts;
    path.remove_prefix(slash + 1);
  }
}

}  // namespace

void Router::add(std::string method, std::string_view pattern, HttpHandler handler) {
  Entry entry{std::move(method), {}, std::move(handler)};
  for (std::string_view part : parts_of(pattern)) {
    if (!part.starts_with('{') || !part.ends_with('}')) {
      entry.parts.push_back({Part::Kind::kWord, std::string(part)});
      continue;
    }
    part = part.substr(1, part.size() - 2);
    const bool rest = part.ends_with("...");
    if (rest) part.remove_suffix(3);
    entry.parts.push_back({rest ? Part::Kind::kRest : Part::Kind::kOne, std::string(part)});
  }
  const auto more_exact = [](const Entry& a, const Entry& b) {
    return std::lexicographical_compare(a.parts.begin(), a.parts.end(), b.parts.begin(), b.parts.end(),
                                        [](const Part& x, const Part& y) { return x.kind < y.kind; });
  };
  entries_.insert(std::upper_bound(entries_.begin(), entries_.end(), entry, more_exact), std::move(entry));
}

bool Router::fits(const std::vector<Part>& pattern, const std::vector<std::string_view>& path) {
  for (std::size_t i = 0; i < pattern.size(); ++i) {
    if (pattern[i].kind == Part::Kind::kRest) return path.size() >= i;
    if (i >= path.size()) return false;
    if (pattern[i].kind == Part::Kind::kWord ? pattern[i].text != path[i] : path[i].empty()) return false;
  }
  return pattern.size() == path.size();
}

Co<HttpResponse> Router::serve(HttpRequest request) const {
  const std::string path = request.path;
  const std::vector<std::string_view> parts = parts_of(path);
  std::set<std::string> allowed;
  const Entry* found = nullptr;
  for (const Entry& entry : entries_) {
    if (!fits(entry.parts, parts)) continue;
    allowed.insert(entry.method);
    if (entry.method == "GET") allowed.insert("HEAD");
    if (entry.method == request.method || (entry.method == "GET" && request.method == "HEAD")) {
      found = &entry;
      break;
    }
  }
  if (found == nullptr) {
    if (allowed.empty()) co_return HttpResponse::text(404, "404 page not found\n");
    HttpResponse refused = HttpResponse::text(405, "Method Not Allowed\n");
    refused.headers.set("Allow", fmt::format("{}", fmt::join(allowed, ", ")));
    co_return refused;
  }
  for (std::size_t i = 0; i < found->parts.size(); ++i) {
    const Part& part = found->parts[i];
    if (part.kind == Part::Kind::kOne) request.params.emplace_back(part.text, parts[i]);
    if (part.kind != Part::Kind::kRest) continue;
    const bool nothing = i >= parts.size();
    request.params.emplace_back(part.text,
                                nothing ? "" : path.substr(static_cast<std::size_t>(parts[i].data() - path.data())));
  }
  const HttpHandler& handler = found->handler;
  co_return co_await handler(std::move(request));
}

}  // namespace podwright
