#include <map>

#include "agent/server/handlers.h"

namespace podwright::server {
namespace {

// Between two looks where nothing tells of new events.
constexpr auto kLookAgain = std::chrono::seconds(1);

bool matches(const core::Event& event, const std::string& ns, const std::string& about) {
  return (ns.empty() || event.metadata().namespace_() == ns) &&
         (about.empty() || event.involvedobject().name() == about);
}

// Of ?fieldSelector=involvedObject.name=web.
std::string selected_object(const HttpRequest& request) {
  const std::string selector = request.query_value("fieldSelector").value_or("");
  constexpr std::string_view kName = "involvedObject.name=";
  return selector.starts_with(kName) ? selector.substr(kName.size()) : std::string();
}

// Tells one state of an event from the next, which counts it once more.
std::string version_of(const core::Event& event) {
  return fmt::format("{}/{}/{}", event.metadata().resourceversion(), event.count(), event.lasttimestamp().seconds());
}

}  // namespace

Co<HttpResponse> Handlers::list_events(HttpRequest request) {
  const std::string ns = request.param("ns");
  const std::string about = selected_object(request);
  const std::string watch = request.query_value("watch").value_or("");
  if (watch == "true" || watch == "1") {
    const bool skip_old = request.query_value("resourceVersion").has_value();
    HttpResponse response;
    response.headers.set("Content-Type", "application/json");
    response.stream = [this, ns, about, skip_old](BodyWriter& out) { return watch_events(ns, about, skip_old, out); };
    co_return response;
  }
  std::vector<EventPtr> wanted;
  if (sources_.events) wanted = sources_.events();
  std::erase_if(wanted, [&](const EventPtr& event) { return !matches(*event, ns, about); });
  auto work = [wanted = std::move(wanted), version = sources_.board.version()] {
    std::vector<std::string> items;
    for (const EventPtr& event : wanted) items.push_back(to_json(*event));
    return list_json("EventList", version, items);
  };
  std::string body = co_await offload(sources_.loop, sources_.offload, std::move(work));
  co_return HttpResponse::json(200, std::move(body));
}

Co<void> Handlers::watch_events(std::string ns, std::string about, bool skip_old, BodyWriter& out) {
  std::map<std::string, std::string> known;
  bool first = true;
  while (sources_.events && !co_await is_stopping()) {
    std::string lines;
    std::map<std::string, std::string> now;
    for (const EventPtr& event : sources_.events()) {
      if (!matches(*event, ns, about)) continue;
      const std::string name = event->metadata().namespace_() + "/" + event->metadata().name();
      const std::string version = version_of(*event);
      now[name] = version;
      const auto old = known.find(name);
      if ((old != known.end() && old->second == version) || (first && skip_old)) continue;
      lines += watch_line(old == known.end() ? "ADDED" : "MODIFIED", to_json(*event, "v1", "Event"));
    }
    known = std::move(now);
    first = false;
    if (!lines.empty()) {
      const absl::Status wrote = co_await out.write(std::move(lines));
      if (!wrote.ok()) co_return;
    }
    const Instant look_again = sources_.loop.now() + kLookAgain;
    const Wait woken = sources_.events_changed ? co_await sources_.events_changed(look_again)
                                               : co_await sleep_until(sources_.loop, look_again);
    if (woken == Wait::kCancelled) co_return;
  }
}

}  // namespace podwright::server
