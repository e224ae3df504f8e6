#include "agent/kube/reflector.h"

#include <algorithm>
#include <map>

#include "base/status/annotate.h"
#include "base/work_queue/rate_limit.h"

namespace podwright::kube {
namespace {

// A watch that ends sooner, without an event, is a failure: the server is about to do the same again.
constexpr Duration kShortWatch = 1s;
// How much later than asked for a server may end a watch before it counts as dead.
constexpr Duration kWatchSlack = 1min;

// Whether a watch from the last version may still give all that happened since.
bool may_resume(const absl::Status& why) {
  switch (why.code()) {
    case absl::StatusCode::kUnavailable:
    case absl::StatusCode::kResourceExhausted:
    case absl::StatusCode::kDeadlineExceeded:
    case absl::StatusCode::kCancelled:
    case absl::StatusCode::kUnauthenticated:
    case absl::StatusCode::kPermissionDenied: return true;
    default: return false;
  }
}

bool knows_no_streaming_list(const absl::Status& why) {
  return absl::IsInvalidArgument(why) || absl::IsUnimplemented(why);
}

}  // namespace

Reflector::Reflector(Loop& loop, Steps& steps, ApiServer& server, const Resource& of, Selection selection,
                     ReflectorTarget& target, ReflectorOptions options)
    : loop_(loop),
      steps_(steps),
      server_(server),
      of_(of),
      selection_(std::move(selection)),
      target_(target),
      options_(options),
      flow_{"reflector/" + of.text(), LogSubject{{"resource", of.text()}}} {
  if (!selection_.field_selector.empty()) flow_.subject = flow_.subject.with({"selector", selection_.field_selector});
}

Co<void> Reflector::run() {
  while (!co_await is_stopping()) {
    absl::Status status = needs_list_ ? co_await list() : absl::OkStatus();
    if (status.ok()) {
      recovered();
      status = co_await follow();
    }
    watch_.reset();
    if (co_await is_stopping()) co_return;
    if (status.ok()) continue;
    if (!may_resume(status)) {
      wants_newest_ = absl::IsOutOfRange(status);
      needs_list_ = true;
    }
    // The first list after a version that was too old needs no wait; that follows from no fault of the server's.
    const bool at_once = absl::IsOutOfRange(status) && trouble_.ok();
    failed(status);
    if (!at_once) co_await back_off();
  }
}

Co<absl::Status> Reflector::list() {
  absl::Status status;
  if (options_.streaming_list) {
    status = co_await list_stream();
    if (knows_no_streaming_list(status)) {
      log_v(2, flow_.subject, "server has no streaming list", {{"error", text_of(status)}});
      options_.streaming_list = false;
      watch_.reset();
    }
  }
  if (!options_.streaming_list) status = co_await list_pages();
  if (!status.ok()) co_return annotate(status, "list {}", of_.text());
  needs_list_ = false;
  wants_newest_ = false;
  ++lists_;
  co_return absl::OkStatus();
}

Co<absl::Status> Reflector::list_pages() {
  std::vector<ObjectPtr> objects;
  ListOptions options;
  options.selection = selection_;
  options.limit = options_.page;
  // The server's cache is as good as any at first; after a 410 it may be what is behind.
  options.resource_version = wants_newest_ ? "" : "0";
  std::string version;
  do {
    const Instant deadline = after(loop_.now(), options_.answer);
    Step step(steps_, flow_, StepKind::kList, "list " + of_.text(), deadline);
    auto page = co_await server_.list(of_, options, deadline);
    step.end(page.status());
    // A token that is too old ends this list; the next one asks for the newest.
    if (!page.ok()) co_return page.status();
    for (auto& object : page->objects) objects.push_back(std::move(object));
    version = page->resource_version;
    options.continue_token = page->continue_token;
    // A token says which version it belongs to.
    options.resource_version.clear();
  } while (!options.continue_token.empty());
  version_ = std::move(version);
  target_.replace(std::move(objects));
  co_return absl::OkStatus();
}

Co<absl::Status> Reflector::list_stream() {
  const absl::Status opened = co_await open_watch(true);
  if (!opened.ok()) co_return opened;
  Step step(steps_, flow_, StepKind::kList, "initial events of " + of_.text());
  std::map<ObjectKey, ObjectPtr> objects;
  while (true) {
    auto event = co_await watch_->next(after(loop_.now(), options_.answer));
    absl::Status status = event.status();
    if (status.ok() && !*event) status = absl::UnavailableError("the watch ended before all objects had come");
    if (!status.ok()) {
      step.end(status);
      co_return status;
    }
    const WatchEvent& one = **event;
    switch (one.type) {
      case WatchEvent::Type::kAdded:
      case WatchEvent::Type::kModified: objects[key_of(*one.object)] = one.object; break;
      case WatchEvent::Type::kDeleted: objects.erase(key_of(*one.object)); break;
      case WatchEvent::Type::kBookmark: break;
    }
    if (!one.initial_events_end) continue;
    version_ = metadata_of(*one.object).resourceversion();
    break;
  }
  step.end();
  std::vector<ObjectPtr> all;
  for (auto& [key, object] : objects) all.push_back(std::move(object));
  target_.replace(std::move(all));
  co_return absl::OkStatus();
}

Co<absl::Status> Reflector::open_watch(bool initial_events) {
  WatchOptions options;
  options.selection = selection_;
  options.resource_version = initial_events ? "" : version_;
  options.send_initial_events = initial_events;
  options.timeout =
      options_.watch + std::chrono::seconds(loop_.rng().below(static_cast<uint64_t>(options_.watch.count())));
  const Instant deadline = after(loop_.now(), options_.answer);
  Step step(steps_, flow_, StepKind::kEvents, "watch " + of_.text(), deadline);
  auto opened = co_await server_.watch(of_, options, deadline);
  step.end(opened.status());
  if (!opened.ok()) co_return annotate(opened.status(), "watch {}", of_.text());
  watch_ = *std::move(opened);
  watch_opened_ = loop_.now();
  watch_deadline_ = after(watch_opened_, options.timeout + kWatchSlack);
  co_return absl::OkStatus();
}

Co<absl::Status> Reflector::follow() {
  if (watch_ == nullptr) {
    const absl::Status opened = co_await open_watch(false);
    if (!opened.ok()) co_return opened;
    recovered();
  }
  bool had_event = false;
  while (true) {
    auto event = co_await watch_->next(watch_deadline_);
    if (!event.ok()) co_return annotate(event.status(), "watch {}", of_.text());
    if (!*event) break;
    had_event = true;
    apply(**event);
  }
  if (!had_event && loop_.now() - watch_opened_ < kShortWatch) {
    co_return absl::UnavailableError(fmt::format("watch {}: ended at once", of_.text()));
  }
  co_return absl::OkStatus();
}

void Reflector::apply(const WatchEvent& event) {
  const std::string& version = metadata_of(*event.object).resourceversion();
  if (!version.empty()) version_ = version;
  switch (event.type) {
    case WatchEvent::Type::kAdded:
    case WatchEvent::Type::kModified: target_.put(event.object); break;
    case WatchEvent::Type::kDeleted: target_.erase(event.object); break;
    case WatchEvent::Type::kBookmark: break;
  }
}

void Reflector::failed(const absl::Status& why) {
  if (trouble_.ok() && !absl::IsOutOfRange(why)) {
    log_warning(flow_.subject, "lost touch with the API server, trying again", {{"error", text_of(why)}});
  } else {
    log_v(2, flow_.subject, "still no touch with the API server", {{"error", text_of(why)}});
  }
  trouble_ = why;
}

void Reflector::recovered() {
  if (!trouble_.ok()) log_info(flow_.subject, "in touch with the API server again");
  trouble_ = absl::OkStatus();
}

Co<void> Reflector::back_off() {
  const Instant now = loop_.now();
  if (last_failure_ != Instant::min() && now - last_failure_ > options_.calm) failures_ = 0;
  const Duration wait = GrowingWait{options_.first_wait, options_.longest_wait}.of(failures_++);
  last_failure_ = now;
  (void)co_await sleep_until(loop_, after(now, loop_.rng().jitter(wait, 1.0)));
}

}  // namespace podwright::kube
