// /healthz as upstream answers it. Source: staging/src/k8s.io/apiserver/pkg/server/healthz.
#include <algorithm>

#include "agent/server/handlers.h"
#include "base/log/log.h"

namespace podwright::server {
namespace {

constexpr std::string_view kChecks[] = {"ping", "log", "syncloop"};
// Source: the same; the log's writer may be busy with one line for this long.
constexpr auto kLogStuck = std::chrono::minutes(2);
constexpr auto kSyncLoopStuck = std::chrono::minutes(5);

HttpResponse plain(int status, std::string body) {
  HttpResponse response = HttpResponse::text(status, std::move(body));
  response.headers.set("X-Content-Type-Options", "nosniff");
  return response;
}

}  // namespace

std::optional<std::string> Handlers::check(std::string_view name) const {
  const Instant now = sources_.loop.now();
  if (name == "log") {
    const auto since = log_writer_stuck_since();
    if (since && now - *since > kLogStuck) return "logging blocked";
  }
  if (name == "syncloop" && sources_.sync_loop_entered) {
    const Duration allowed = std::max<Duration>(kSyncLoopStuck, 2 * sources_.sync_frequency);
    const Duration since = now - sources_.sync_loop_entered();
    if (since > allowed) return fmt::format("sync Loop took longer than expected: {}", to_text(since));
  }
  return std::nullopt;
}

Co<HttpResponse> Handlers::healthz(HttpRequest request) {
  const std::vector<std::string> excluded = request.query_values("exclude");
  std::string lines;
  bool well = true;
  for (const std::string_view name : kChecks) {
    if (std::find(excluded.begin(), excluded.end(), name) != excluded.end()) {
      lines += fmt::format("[+]{} excluded: ok\n", name);
      continue;
    }
    if (check(name)) {
      well = false;
      lines += fmt::format("[-]{} failed: reason withheld\n", name);
    } else {
      lines += fmt::format("[+]{} ok\n", name);
    }
  }
  for (const std::string& name : excluded) {
    if (std::find(std::begin(kChecks), std::end(kChecks), name) == std::end(kChecks)) {
      lines += fmt::format("warn: some health checks cannot be excluded: no matches for \"{}\"\n", name);
    }
  }
  if (!well) co_return plain(500, lines + "healthz check failed\n");
  if (request.query_value("verbose")) co_return plain(200, lines + "healthz check passed\n");
  co_return plain(200, "ok");
}

Co<HttpResponse> Handlers::healthz_check(HttpRequest request) {
  const std::string name = request.path.substr(request.path.rfind('/') + 1);
  const auto wrong = check(name);
  if (wrong) co_return plain(500, fmt::format("internal server error: {}\n", *wrong));
  co_return plain(200, "ok");
}

}  // namespace podwright::server
