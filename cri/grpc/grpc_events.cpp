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

std::optional<Event> event_of_cri(const std::string& bytes) {
  runtime::v1::ContainerEventResponse message;
  if (!message.ParseFromString(bytes)) return std::nullopt;
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

std::optional<Event> event_of_containerd(const std::string& bytes) {
  containerd::types::Envelope envelope;
  if (!envelope.ParseFromString(bytes) || envelope.namespace_() != kNamespace) return std::nullopt;
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

Co<absl::Status> GrpcEvents::watch_cri(Sink<Event> sink, Sink<bool> open) {
  // The server refuses an unknown method only after the call was accepted, so openness is told by the first event.
  co_return co_await channel_.stream(
      "/runtime.v1.RuntimeService/GetContainerEvents", "",
      [&sink, &open](const std::string& bytes) {
        open(true);
        if (const auto event = event_of_cri(bytes)) sink(*event);
        return true;
      },
      [&sink] { sink(Event{}); });
}

Co<absl::Status> GrpcEvents::watch_containerd(Sink<Event> sink, Sink<bool> open) {
  containerd::services::events::v1::SubscribeRequest request;
  request.add_filters(std::string("namespace==") + kNamespace + ",topic~=\"^/tasks/(exit|oom|start)$\"");
  request.add_filters(std::string("namespace==") + kNamespace + ",topic==\"/containers/delete\"");
  co_return co_await channel_.stream(
      "/containerd.services.events.v1.Events/Subscribe", request.SerializeAsString(),
      [&sink](const std::string& bytes) {
        if (const auto event = event_of_containerd(bytes)) sink(*event);
        return true;
      },
      [&sink, &open] {
        open(true);
        sink(Event{});
      });
}

Co<void> GrpcEvents::watch(Sink<Event> sink, Sink<bool> open) {
  Duration retry = kFirstRetry;
  bool told = false;
  while (!co_await is_stopping()) {
    const Instant begin = loop_.now();
    absl::Status status = absl::UnimplementedError("not tried");
    if (!no_cri_events_) {
      status = co_await watch_cri(sink, open);
      if (absl::IsUnimplemented(status)) no_cri_events_ = true;
    }
    if (no_cri_events_) status = co_await watch_containerd(sink, open);
    open(false);
    if (co_await is_stopping()) break;
    if (absl::IsUnimplemented(status)) {
      // Neither service: the list does the work; look again now and then, since the runtime may be upgraded.
      no_cri_events_ = false;
      retry = std::chrono::minutes(5);
      if (!std::exchange(told, true)) log_info(kWho, "the runtime has no event stream, listing instead");
    } else {
      log_v(2, kWho, "event stream ended", {{"error", text_of(status)}});
      retry = loop_.now() - begin > kLongestRetry ? kFirstRetry : std::min(2 * retry, kLongestRetry);
    }
    if (co_await sleep_until(loop_, after(loop_.now(), retry)) == Wait::kCancelled) break;
  }
}

}  // namespace podwright::cri
