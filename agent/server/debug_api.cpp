#include <absl/strings/ascii.h>
#include <absl/strings/numbers.h>

#include "agent/server/handlers.h"
#include "base/log/log.h"

namespace podwright::server {

Co<HttpResponse> Handlers::metrics(HttpRequest) {
  HttpResponse response = HttpResponse::text(200, sources_.registry.render());
  response.headers.set("Content-Type", Registry::kContentType);
  co_return response;
}

// Source: pkg/kubelet/server/stats/handler.go: only_cpu_and_memory counts where it is given once, as true.
Co<HttpResponse> Handlers::summary(HttpRequest request) {
  if (!sources_.summary) co_return failure(404, "NotFound", "this agent has no statistics");
  const std::vector<std::string> only = request.query_values("only_cpu_and_memory");
  auto json = co_await sources_.summary(only.size() == 1 && only.front() == "true");
  if (!json.ok()) co_return failure(json.status());
  co_return HttpResponse::json(200, *std::move(json));
}

namespace {

HttpResponse metrics_answer(absl::StatusOr<std::string> text) {
  if (!text.ok()) return failure(text.status());
  HttpResponse response = HttpResponse::text(200, *std::move(text));
  response.headers.set("Content-Type", Registry::kContentType);
  return response;
}

}  // namespace

Co<HttpResponse> Handlers::resource_metrics(HttpRequest) {
  if (!sources_.resource_metrics) co_return failure(404, "NotFound", "this agent has no statistics");
  co_return metrics_answer(co_await sources_.resource_metrics());
}

Co<HttpResponse> Handlers::container_metrics(HttpRequest) {
  if (!sources_.container_metrics) co_return failure(404, "NotFound", "this agent has no statistics");
  co_return metrics_answer(co_await sources_.container_metrics());
}

Co<HttpResponse> Handlers::configz(HttpRequest) {
  if (sources_.configz.empty()) co_return failure(404, "NotFound", "this agent tells no configuration");
  co_return HttpResponse::json(200, sources_.configz);
}

// Source: staging/src/k8s.io/component-base/logs, the texts of PUT /debug/flags/v.
Co<HttpResponse> Handlers::set_verbosity(HttpRequest request) {
  if (request.method != "PUT") co_return HttpResponse::text(406, "unsupported http method");
  int level = 0;
  if (!absl::SimpleAtoi(absl::StripAsciiWhitespace(request.body), &level) || level < 0) {
    co_return HttpResponse::text(
        400, fmt::format("failed to set klog.logging.verbosity {}: must be a number from 0 on", request.body));
  }
  set_log_verbosity(level);
  log_info({}, "verbosity changed", {{"verbosity", level}});
  co_return HttpResponse::text(200, fmt::format("successfully set klog.logging.verbosity to {}", level));
}

Co<HttpResponse> Handlers::waits(HttpRequest request) {
  const Instant now = sources_.loop.now();
  std::string items;
  for (const StepRecord& step : sources_.steps.in_flight(request.query_value("flow").value_or(""))) {
    if (!items.empty()) items += ",\n";
    items += fmt::format(R"({{"flow":{},"kind":{},"what":{},"seconds":{:.3f})", json_text(step.flow),
                         json_text(name_of(step.kind)), json_text(step.what),
                         std::chrono::duration<double>(now - step.begin).count());
    if (step.deadline != Instant::max()) {
      items += fmt::format(R"(,"secondsLeft":{:.3f})", std::chrono::duration<double>(step.deadline - now).count());
    }
    items += '}';
  }
  co_return HttpResponse::json(200, fmt::format("{{\"waits\":[{}]}}\n", items));
}

Co<HttpResponse> Handlers::version(HttpRequest) {
  co_return HttpResponse::json(200, fmt::format("{{\"podwright\":\"{}\"}}\n", PODWRIGHT_VERSION));
}

Co<HttpResponse> Handlers::debugging_disabled(HttpRequest) {
  co_return HttpResponse::text(405, "Debug endpoints are disabled.\n");
}

}  // namespace podwright::server
