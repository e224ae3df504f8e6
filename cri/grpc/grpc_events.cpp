#include "cri/grpc/grpc_events.h"

#include "base/log/log.h"
#include "base/status/annotate.h"
#include "containerd/events.pb.h"
#include "containerd/services/events/v1.pb.h"
#include "containerd/types.pb.h"
#include "cri/v1.pb.h"

namespace podwright::cri {
namespace {

constexpr Duration kFirstRetry = 100ms;
constexpr Duration kLongestRetry = 5s;
constexpr Duration kRetryUnimplemented = std::chrono::minutes(5);
// An unknown method is refused locally within a few milliseconds.
constexpr Duration kRefusalTime = 250ms;
// The namespace that containerd's CRI plugin uses.
constexpr char kNamespace[] = "k8s.io";

const LogSubject kWho{{"flow", "runtime events"}};

WallTime wall_of(const google::protobuf::Timestamp& time) {
  return WallTime(std::chrono::seconds(time.seconds()) + Duration(time.nanos()));
}

template <class T>
std::optional<T> parse(const google::protobuf::Any& any, std::string_view type) {
  // containerd writes the bare type name, which Any::UnpackTo refuses.
  if (any.type_url() != type) return std::nullopt;
  T message;
  if (!message.ParseFromString(any.value())) return std::nullopt;
  return message;
}

}  // namespace

std::optional<Event> event_of(const runtime::v1::ContainerEventResponse& message) {
  Event event;
  event.id = message.container_id();
  switch (message.container_event_type()) {
    case runtime::v1::CONTAINER_CREATED_EVENT: event.kind = Event::Kind::kCreated; break;
    case runtime::v1::CONTAINER_STARTED_EVENT: event.kind = Event::Kind::kStarted; break;
    case runtime::v1::CONTAINER_STOPPED_EVENT: event.kind = Event::Kind::kStopped; break;
    case runtime::v1::CONTAINER_DELETED_EVENT: event.kind = Event::Kind::kDeleted; break;
    default: return std::nullopt;
  }
  if (event.kind == Event::Kind::kStopped) {
    for (const auto& status : message.containers_statuses()) {
      if (status.id() != event.id || status.state() != runtime::v1::CONTAINER_EXITED) continue;
      event.exit_code = status.exit_code();
      if (status.finished_at() > 0) event.at = WallTime(Duration(status.finished_at()));
    }
  }
  return event;
}

std::optional<Event> event_of(const containerd::types::Envelope& envelope) {
  if (envelope.namespace_() != kNamespace) return std::nullopt;
  Event event;
  if (const auto exit = parse<containerd::events::TaskExit>(envelope.event(), "containerd.events.TaskExit")) {
    // Execs end as tasks too; only the container's own process is its end.
    if (exit->id() != exit->container_id()) return std::nullopt;
    event.kind = Event::Kind::kStopped;
    event.id = exit->container_id();
    event.exit_code = static_cast<int32_t>(exit->exit_status());
    event.at = wall_of(exit->exited_at());
    event.pid = exit->pid();
    return event;
  }
  if (const auto oom = parse<containerd::events::TaskOOM>(envelope.event(), "containerd.events.TaskOOM")) {
    event.kind = Event::Kind::kOom;
    event.id = oom->container_id();
    return event;
  }
  if (const auto start = parse<containerd::events::TaskStart>(envelope.event(), "containerd.events.TaskStart")) {
    event.kind = Event::Kind::kStarted;
    event.id = start->container_id();
    event.pid = start->pid();
    return event;
  }
  if (const auto gone =
          parse<containerd::events::ContainerDelete>(envelope.event(), "containerd.events.ContainerDelete")) {
    event.kind = Event::Kind::kDeleted;
    event.id = gone->id();
    return event;
  }
  return std::nullopt;
}

namespace {

// Hands the events of one opened stream on until it ends. A server of events sends nothing before the first event, not
// even headers, so a stream counts as open once it was not refused for a moment on a standing connection.
template <class Message>
Co<absl::Status> follow(rpc::Channel& channel, rpc::Reader<Message> reader, Sink<Event> sink, Sink<bool> open) {
  Loop& loop = channel.loop();
  bool opened = false;
  while (true) {
    const Instant deadline = opened ? Instant::max() : after(loop.now(), kRefusalTime);
    absl::StatusOr<std::optional<Message>> next = co_await reader.next(deadline);
    if (co_await is_stopping()) {
      co_await reader.close();
      co_return absl::CancelledError("the flow is stopping");
    }
    const bool quiet = !opened && absl::IsDeadlineExceeded(next.status());
    if (quiet && channel.connectivity() != rpc::Connectivity::kReady) continue;
    if (!opened && (quiet || (next.ok() && next->has_value()))) {
      opened = true;
      open(true);
      sink(Event{});
    }
    if (quiet) continue;
    if (!next.ok()) co_return next.status();
    if (!next->has_value()) co_return absl::UnavailableError("the runtime ended the event stream");
    if (const auto event = event_of(**next)) sink(*event);
  }
}

}  // namespace

void GrpcEvents::tell(bool open, const Sink<bool>& sink) {
  if (told_open_ == open) return;
  told_open_ = open;
  sink(open);
}

Co<absl::Status> GrpcEvents::watch_cri(Sink<Event> sink, Sink<bool> open) {
  const runtime::v1::GetEventsRequest request;
  auto reader =
      channel_.read<runtime::v1::ContainerEventResponse>("/runtime.v1.RuntimeService/GetContainerEvents", request);
  co_return co_await follow(channel_, std::move(reader), std::move(sink), std::move(open));
}

Co<absl::Status> GrpcEvents::watch_containerd(Sink<Event> sink, Sink<bool> open) {
  containerd::services::events::v1::SubscribeRequest request;
  request.add_filters(std::string("namespace==") + kNamespace + ",topic~=\"^/tasks/(exit|oom|start)$\"");
  request.add_filters(std::string("namespace==") + kNamespace + ",topic==\"/containers/delete\"");
  auto reader = channel_.read<containerd::types::Envelope>("/containerd.services.events.v1.Events/Subscribe", request);
  co_return co_await follow(channel_, std::move(reader), std::move(sink), std::move(open));
}

Co<void> GrpcEvents::watch(Sink<Event> sink, Sink<bool> open) {
  Duration retry = kFirstRetry;
  bool said = false;
  const Sink<bool> tell_open = [this, open](bool is_open) { tell(is_open, open); };
  while (!co_await is_stopping()) {
    const Instant begin = loop_.now();
    absl::Status status = co_await watch_cri(sink, tell_open);
    if (absl::IsUnimplemented(status)) status = co_await watch_containerd(sink, tell_open);
    tell(false, open);
    if (co_await is_stopping()) break;
    if (absl::IsUnimplemented(status)) {
      // Neither service: the list does the work; look again now and then, since the runtime may be upgraded.
      retry = kRetryUnimplemented;
      if (!std::exchange(said, true)) log_info(kWho, "the runtime has no event stream, listing instead");
    } else {
      log_v(2, kWho, "event stream ended", {{"error", text_of(status)}});
      const bool lasted = loop_.now() - begin > kLongestRetry;
      retry = lasted ? kFirstRetry : std::min(2 * std::max(retry, kFirstRetry), kLongestRetry);
    }
    if (co_await sleep_until(loop_, after(loop_.now(), loop_.rng().jitter(retry, 0.2))) == Wait::kCancelled) break;
  }
}

}  // namespace podwright::cri
