#include "agent/server/routes.h"

#include <cstdlib>

#include "agent/server/handlers.h"

namespace podwright::server {

std::string_view name_of(Verb verb) {
  switch (verb) {
    case Verb::kGet: return "get";
    case Verb::kCreate: return "create";
    case Verb::kUpdate: return "update";
  }
  std::abort();  // not one of the enumerators: memory is broken
}

std::string_view name_of(Subresource subresource) {
  switch (subresource) {
    case Subresource::kProxy: return "proxy";
    case Subresource::kPods: return "pods";
    case Subresource::kHealthz: return "healthz";
    case Subresource::kConfigz: return "configz";
    case Subresource::kStats: return "stats";
    case Subresource::kMetrics: return "metrics";
    case Subresource::kLog: return "log";
  }
  std::abort();  // not one of the enumerators: memory is broken
}

std::vector<Route> Handlers::routes() {
  using Member = Co<HttpResponse> (Handlers::*)(HttpRequest);
  const auto bound = [this](Member member) -> Handler {
    return [this, member](HttpRequest request) { return (this->*member)(std::move(request)); };
  };
  const Access pods(Verb::kGet, Subresource::kPods, kLocal);
  const Access stream(Verb::kCreate, Subresource::kProxy, kLocal);
  const Access health(Verb::kGet, Subresource::kHealthz, kMain | kReadOnly | kHealth | kLocal);
  const Access health_detail(Verb::kGet, Subresource::kHealthz, kMain | kReadOnly | kLocal);
  const Access proxy(Verb::kGet, Subresource::kProxy, kMain | kLocal);
  std::vector<Route> all = {
      {"GET", "/healthz", health, bound(&Handlers::healthz)},
      {"GET", "/healthz/ping", health, bound(&Handlers::healthz_check)},
      {"GET", "/healthz/log", health_detail, bound(&Handlers::healthz_check)},
      {"GET", "/healthz/syncloop", health_detail, bound(&Handlers::healthz_check)},
      {"GET", "/metrics", {Verb::kGet, Subresource::kMetrics, kMain | kReadOnly | kLocal}, bound(&Handlers::metrics)},
      {"GET", "/pods", {Verb::kGet, Subresource::kPods, kMain | kReadOnly | kLocal}, bound(&Handlers::pod_list)},
      {"GET",
       "/stats/summary",
       {Verb::kGet, Subresource::kStats, kMain | kReadOnly | kLocal},
       bound(&Handlers::summary)},
      {"POST",
       "/stats/summary",
       {Verb::kCreate, Subresource::kStats, kMain | kReadOnly | kLocal},
       bound(&Handlers::summary)},
      {"GET",
       "/metrics/resource",
       {Verb::kGet, Subresource::kMetrics, kMain | kReadOnly | kLocal},
       bound(&Handlers::resource_metrics)},
      {"GET",
       "/metrics/cadvisor",
       {Verb::kGet, Subresource::kMetrics, kMain | kReadOnly | kLocal},
       bound(&Handlers::container_metrics)},
      {"GET", "/configz", {Verb::kGet, Subresource::kConfigz, kMain | kLocal}, bound(&Handlers::configz)},
      {"GET", "/containerLogs/{ns}/{name}/{container}", proxy, bound(&Handlers::container_logs)},
      {"PUT", "/debug/flags/v", {Verb::kUpdate, Subresource::kProxy, kMain | kLocal}, bound(&Handlers::set_verbosity)},
      {"GET", "/debug/flags/v", proxy, bound(&Handlers::set_verbosity)},
      {"GET", "/debug/waits", proxy, bound(&Handlers::waits)},
      {"GET", "/version", proxy, bound(&Handlers::version)},

      {"GET", "/api/v1/pods", pods, bound(&Handlers::list_pods)},
      {"GET", "/api/v1/namespaces/{ns}/pods", pods, bound(&Handlers::list_pods)},
      {"GET", "/api/v1/namespaces/{ns}/pods/{name}", pods, bound(&Handlers::get_pod)},
      {"GET", "/api/v1/namespaces/{ns}/pods/{name}/log", pods, bound(&Handlers::pod_log)},
      {"GET", "/api/v1/events", pods, bound(&Handlers::list_events)},
      {"GET", "/api/v1/namespaces/{ns}/events", pods, bound(&Handlers::list_events)},
      {"GET", "/api/v1/nodes", pods, bound(&Handlers::list_nodes)},
      {"GET", "/api/v1/nodes/{name}", pods, bound(&Handlers::get_node)},
      {"GET", "/describe/namespaces/{ns}/pods/{name}", pods, bound(&Handlers::describe)},
      {"POST", "/api/v1/namespaces/{ns}/pods/{name}/exec", stream, bound(&Handlers::exec)},
      {"POST", "/api/v1/namespaces/{ns}/pods/{name}/attach", stream, bound(&Handlers::attach)},
      {"POST", "/api/v1/namespaces/{ns}/pods/{name}/portforward", stream, bound(&Handlers::port_forward)},
  };
  // Upstream tells on the read-only port that these exist elsewhere.
  for (const char* prefix : {"run", "exec", "attach", "portForward", "containerLogs", "runningpods", "logs"}) {
    for (const char* method : {"GET", "POST"}) {
      all.push_back({method, fmt::format("/{}/{{rest...}}", prefix), Access(Verb::kGet, Subresource::kProxy, kReadOnly),
                     bound(&Handlers::debugging_disabled)});
    }
  }
  return all;
}

}  // namespace podwright::server
