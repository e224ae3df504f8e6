#include <map>

#include "agent/server/handlers.h"
#include "base/status/annotate.h"

namespace podwright::server {
namespace {

using pods::PodViewPtr;

bool matches(const PodViewPtr& view, const std::string& ns, const std::string& name) {
  const auto& metadata = view->pod->metadata();
  return (ns.empty() || metadata.namespace_() == ns) && (name.empty() || metadata.name() == name);
}

// metadata.name of ?fieldSelector=metadata.name=web; empty: all.
std::string selected_name(const HttpRequest& request) {
  const std::string selector = request.query_value("fieldSelector").value_or("");
  constexpr std::string_view kName = "metadata.name=";
  return selector.starts_with(kName) ? selector.substr(kName.size()) : std::string();
}

bool is_true(const std::optional<std::string>& value) {
  return value && (*value == "true" || *value == "1");
}

// Runs on an offload thread.
std::string pods_json(std::shared_ptr<const pods::NodeView> view, std::string ns, std::string name, bool local) {
  std::vector<std::string> items;
  for (const PodViewPtr& pod : view->pods) {
    if (matches(pod, ns, name)) items.push_back(pod_json(*pod, false, local));
  }
  return list_json("PodList", view->version, items);
}

std::string seconds(Duration duration) {
  return fmt::format("{:.3f}", std::chrono::duration<double>(duration).count());
}

}  // namespace

PodViewPtr Handlers::find_pod(const std::string& ns, const std::string& name) const {
  // Of two with one name (an old one is being stopped) the newer is meant.
  PodViewPtr found;
  for (const PodViewPtr& view : sources_.board.snapshot()->pods) {
    if (matches(view, ns, name) && (!found || found->state != "Syncing")) found = view;
  }
  return found;
}

Co<HttpResponse> Handlers::list_pods(HttpRequest request) {
  const std::string ns = request.param("ns");
  const std::string name = selected_name(request);
  if (is_true(request.query_value("watch"))) {
    HttpResponse response;
    response.headers.set("Content-Type", "application/json");
    response.stream = [this, ns, name](BodyWriter& out) { return watch_pods(ns, name, out); };
    co_return response;
  }
  auto work = [view = sources_.board.snapshot(), ns, name] { return pods_json(view, ns, name, true); };
  std::string body = co_await offload(sources_.loop, sources_.offload, std::move(work));
  co_return HttpResponse::json(200, std::move(body));
}

Co<HttpResponse> Handlers::pod_list(HttpRequest) {
  auto work = [view = sources_.board.snapshot()] { return pods_json(view, {}, {}, false); };
  std::string body = co_await offload(sources_.loop, sources_.offload, std::move(work));
  co_return HttpResponse::json(200, std::move(body));
}

Co<void> Handlers::watch_pods(std::string ns, std::string name, BodyWriter& out) {
  std::map<PodUid, PodViewPtr> known;
  while (!co_await is_stopping()) {
    const uint64_t version = sources_.board.version();
    const auto view = sources_.board.snapshot();
    std::string lines;
    std::map<PodUid, PodViewPtr> now;
    for (const PodViewPtr& pod : view->pods) {
      if (!matches(pod, ns, name)) continue;
      now[pod->uid] = pod;
      const auto old = known.find(pod->uid);
      if (old != known.end() && old->second->version == pod->version) continue;
      lines += watch_line(old == known.end() ? "ADDED" : "MODIFIED", pod_json(*pod, true, true));
    }
    for (const auto& [uid, pod] : known) {
      if (!now.contains(uid)) lines += watch_line("DELETED", pod_json(*pod, true, true));
    }
    known = std::move(now);
    if (!lines.empty()) {
      const absl::Status wrote = co_await out.write(std::move(lines));
      if (!wrote.ok()) co_return;
    }
    // A change that came during the write is looked at right away.
    if (sources_.board.version() == version) {
      if (co_await sources_.board.changed(Instant::max()) == Wait::kCancelled) co_return;
    }
  }
}

Co<HttpResponse> Handlers::get_pod(HttpRequest request) {
  const PodViewPtr view = find_pod(request.param("ns"), request.param("name"));
  if (!view) co_return failure(404, "NotFound", fmt::format("pods \"{}\" not found", request.param("name")));
  co_return HttpResponse::json(200, pod_json(*view, true, true) + "\n");
}

// What the agent knows of a pod beyond its object.
Co<HttpResponse> Handlers::describe(HttpRequest request) {
  const PodViewPtr view = find_pod(request.param("ns"), request.param("name"));
  if (!view) co_return failure(404, "NotFound", fmt::format("pods \"{}\" not found", request.param("name")));
  const Instant now = sources_.loop.now();
  std::string waits;
  for (const StepRecord& step : sources_.steps.in_flight(pods::flow_of(*view->pod).key)) {
    if (!waits.empty()) waits += ',';
    waits += fmt::format(R"({{"kind":{},"what":{},"seconds":{})", json_text(name_of(step.kind)), json_text(step.what),
                         seconds(now - step.begin));
    if (step.deadline != Instant::max()) waits += fmt::format(R"(,"secondsLeft":{})", seconds(step.deadline - now));
    waits += '}';
  }
  std::string problems;
  for (const pods::SourceProblem& problem : sources_.board.snapshot()->problems) {
    if (problem.pod != pods::key_of(*view->pod) && problem.origin != view->origin) continue;
    if (!problems.empty()) problems += ',';
    problems += json_text(problem.text);
  }
  const std::string source = fmt::format("{} {}", pods::name_of(view->source), view->origin);
  co_return HttpResponse::json(
      200, fmt::format(R"({{"origin":{},"state":{},"waitingFor":{},"waits":[{}],"problems":[{}]}})"
                       "\n",
                       json_text(source), json_text(view->state), json_text(view->waiting_for), waits, problems));
}

Co<HttpResponse> Handlers::list_nodes(HttpRequest request) {
  const auto node = sources_.node ? sources_.node() : nullptr;
  std::vector<std::string> items;
  const std::string name = selected_name(request);
  if (node && (name.empty() || node->metadata().name() == name)) items.push_back(to_json(*node));
  co_return HttpResponse::json(200, list_json("NodeList", sources_.board.version(), items));
}

Co<HttpResponse> Handlers::get_node(HttpRequest request) {
  const auto node = sources_.node ? sources_.node() : nullptr;
  if (!node || node->metadata().name() != request.param("name")) {
    co_return failure(404, "NotFound", fmt::format("nodes \"{}\" not found", request.param("name")));
  }
  co_return HttpResponse::json(200, to_json(*node, "v1", "Node") + "\n");
}

}  // namespace podwright::server
