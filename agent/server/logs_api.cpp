#include "agent/server/handlers.h"
#include "base/log/log.h"
#include "base/status/annotate.h"

namespace podwright::server {
namespace {

// How long a follower waits at most before it looks again: for what a watch does not tell (the end of the container, a
// file system without inotify).
constexpr auto kFollowLook = std::chrono::seconds(1);

// Whether this instance still runs, as far as is published.
bool still_runs(const pods::PodViewPtr& view, std::string_view container, std::string_view id) {
  if (!view || !view->status) return false;
  const core::ContainerStatus* status = find_status(*view->status, container);
  return status != nullptr && status->state().has_running() && status->containerid() == id;
}

// One piece of the log, on an offload thread.
absl::StatusOr<std::string> read_piece(const std::shared_ptr<LogCursor>& cursor) {
  return cursor->read();
}

absl::StatusOr<std::shared_ptr<LogCursor>> open_cursor(LogFiles& files, const std::string& directory,
                                                       const std::string& live, const LogOptions& options) {
  auto cursor = LogCursor::open(files, directory, live, options);
  if (!cursor.ok()) return cursor.status();
  return std::shared_ptr<LogCursor>(*std::move(cursor));
}

}  // namespace

Co<HttpResponse> Handlers::pod_log(HttpRequest request) {
  std::string ns = request.param("ns"), name = request.param("name");
  std::string container = request.query_value("container").value_or("");
  co_return co_await log_of(std::move(request), std::move(ns), std::move(name), std::move(container));
}

Co<HttpResponse> Handlers::container_logs(HttpRequest request) {
  std::string ns = request.param("ns"), name = request.param("name"), container = request.param("container");
  co_return co_await log_of(std::move(request), std::move(ns), std::move(name), std::move(container));
}

Co<HttpResponse> Handlers::log_of(HttpRequest request, std::string ns, std::string name, std::string asked) {
  const auto options = log_options(request, sources_.loop.clock().wall());
  if (!options.ok()) co_return failure(options.status());
  const pods::PodViewPtr view = find_pod(ns, name);
  if (!view) co_return failure(404, "NotFound", fmt::format("pods \"{}\" not found", name));
  const auto container = container_of(*view->pod, asked);
  if (!container.ok()) co_return failure(container.status());
  static const core::PodStatus kNoStatus;
  const auto instance = log_instance(view->status ? *view->status : kNoStatus, name, *container, options->previous);
  if (!instance.ok()) co_return failure(instance.status());

  const std::string directory = fmt::format("{}_{}_{}/{}", ns, name, view->uid.value, *container);
  const std::string live = fmt::format("{}.log", instance->restart_count);
  auto work = [this, directory, live, options = *options] {
    return open_cursor(sources_.logs, directory, live, options);
  };
  auto cursor = co_await offload(sources_.loop, sources_.offload, std::move(work));
  if (!cursor.ok()) co_return failure(annotate(cursor.status(), "log of container {}", *container));

  HttpResponse response;
  response.headers.set("Content-Type", "text/plain");
  const bool follow = options->follow && instance->running;
  response.stream = [this, cursor = *cursor, path = fmt::format("{}/{}/{}", sources_.pod_logs_dir, directory, live),
                     uid = view->uid, container = *container, id = instance->container_id,
                     follow](BodyWriter& out) { return send_log(cursor, path, uid, container, id, follow, out); };
  co_return response;
}

Co<void> Handlers::send_log(std::shared_ptr<LogCursor> cursor, std::string path, PodUid uid, std::string container,
                            std::string container_id, bool follow, BodyWriter& out) {
  const auto bell = std::make_shared<Bell>(sources_.loop);
  std::unique_ptr<TreeWatch> watch;
  while (!co_await is_stopping()) {
    // Asked before the read, so that what was written before the container's end is read after it was seen.
    const bool goes_on = follow && still_runs(sources_.board.find(uid), container, container_id);
    if (goes_on && !watch) {
      // A log that cannot be watched (it is being rotated now) is looked at once a second.
      auto watched = sources_.tree.watch(path, [bell](const TreeEvent&) { bell->ring(); });
      if (watched.ok()) watch = *std::move(watched);
    }
    auto work = [cursor] { return read_piece(cursor); };
    auto piece = co_await offload(sources_.loop, sources_.offload, std::move(work));
    if (!piece.ok()) {
      log_warning({}, "reading a log failed", {{"path", path}, {"error", text_of(piece.status())}});
      std::string told = fmt::format("podwright: {}\n", text_of(piece.status()));
      (void)co_await out.write(std::move(told));
      co_return;
    }
    if (!piece->empty()) {
      const absl::Status wrote = co_await out.write(*std::move(piece));
      if (!wrote.ok()) co_return;
      continue;
    }
    if (!goes_on || cursor->is_over()) co_return;
    const Wait woken = co_await bell->wait_until(sources_.loop.now() + kFollowLook);
    if (woken == Wait::kCancelled) co_return;
    // The path names another file after a rotation.
    if (woken == Wait::kLate) watch.reset();
  }
}

}  // namespace podwright::server
