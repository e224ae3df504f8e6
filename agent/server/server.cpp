#include "agent/server/server.h"

#include <cstdlib>
#include <set>

#include "base/log/log.h"

namespace podwright::server {
namespace {

// The label of a path: its first part, and below /metrics the first two.
// Source: kubernetes/kubernetes pkg/kubelet/server/server.go, trimURLPath.
std::string path_label(std::string_view path) {
  path.remove_prefix(1);
  const auto slash = path.find('/');
  const std::string_view first = path.substr(0, slash);
  if (first != "metrics" || slash == std::string_view::npos) return std::string(first);
  return std::string(path.substr(0, path.find('/', slash + 1)));
}

// Source: the same file, longRunningRequestPathMap; on the local socket the word is the last one.
bool is_long_running(std::string_view path) {
  const std::string last(path.substr(path.rfind('/') + 1));
  const std::string first = path_label(path);
  for (const std::string_view word : {"exec", "attach", "portforward", "debug"}) {
    if (first == word || last == word) return true;
  }
  return false;
}

std::string_view name_of(Listener listener) {
  switch (listener) {
    case kMain: return "readwrite";
    case kReadOnly: return "readonly";
    case kHealth: return "health";
    case kLocal: return "local";
  }
  std::abort();  // not one of the enumerators: memory is broken
}

std::vector<LabelSpec> labels_of(const std::vector<Route>& routes) {
  std::set<std::string> paths;
  for (const Route& route : routes) paths.insert(path_label(route.pattern));
  return {{"method", {"GET", "HEAD", "POST", "PUT"}},
          {"path", {paths.begin(), paths.end()}},
          {"server_type", {"readwrite", "readonly", "health", "local"}},
          {"long_running", {"true", "false"}}};
}

// What the strict read-only port leaves.
bool is_in_strict_set(const Access& access) {
  return access.subresource() == Subresource::kHealthz || access.subresource() == Subresource::kMetrics;
}

}  // namespace

Server::Server(ServerSources& sources) : sources_(sources), handlers_(sources) {
  const std::vector<Route> routes = handlers_.routes();
  requests_ = &sources_.registry.counters("kubelet_http_requests_total", "Requests to the agent's HTTP interface",
                                          labels_of(routes));
  durations_ =
      &sources_.registry.histograms("kubelet_http_requests_duration_seconds", "Time until a request's answer began",
                                    labels_of(routes), default_buckets());
  for (const Listener which : {kMain, kReadOnly, kHealth, kLocal}) {
    Router& router = routers_[which];
    for (const Route& route : routes) {
      if (!route.access.on(which)) continue;
      if (which == kReadOnly && sources_.read_only_strict && !is_in_strict_set(route.access)) continue;
      router.add(route.method, route.pattern, which == kMain ? guarded(route) : route.handler);
    }
  }
}

HttpHandler Server::guarded(const Route& route) {
  return [this, route](HttpRequest request) { return ask_first(route, std::move(request)); };
}

Co<HttpResponse> Server::ask_first(Route route, HttpRequest request) {
  if (!sources_.authorize) co_return failure(403, "Forbidden", "nobody is authorized on this port");
  Asker asker{request.client_certificates_pem, request.headers.get("Authorization").value_or("")};
  auto refused = co_await sources_.authorize(std::move(asker), route.access);
  if (refused) co_return std::move(*refused);
  co_return co_await route.handler(std::move(request));
}

HttpHandler Server::handler(Listener which) {
  return [this, which](HttpRequest request) { return serve(which, std::move(request)); };
}

Co<HttpResponse> Server::serve(Listener which, HttpRequest request) {
  const Instant begin = sources_.loop.now();
  const std::string method = request.method, path = request.path;
  const Router& router = routers_.at(which);
  HttpResponse response = co_await router.serve(std::move(request));
  const Duration took = sources_.loop.now() - begin;
  const std::string label = path_label(path);
  const std::string_view long_running = is_long_running(path) ? "true" : "false";
  requests_->with({method, label, name_of(which), long_running}).add();
  durations_->with({method, label, name_of(which), long_running}).observe(took);
  log_v(4, {}, "served a request",
        {{"listener", name_of(which)},
         {"method", method},
         {"path", path},
         {"status", response.status},
         {"duration", took}});
  co_return response;
}

}  // namespace podwright::server
