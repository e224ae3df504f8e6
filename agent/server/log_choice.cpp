// Which log is meant and how it is to be read: the pure part of the log endpoints.
#include <absl/strings/numbers.h>

#include "agent/server/handlers.h"
#include "base/status/annotate.h"

namespace podwright::server {
namespace {

absl::StatusOr<bool> yes_no(const HttpRequest& request, std::string_view key) {
  const auto text = request.query_value(key);
  if (!text) return false;
  if (text->empty() || *text == "true" || *text == "1") return true;
  if (*text == "false" || *text == "0") return false;
  return make_status(absl::StatusCode::kInvalidArgument, "{}: must be true or false, got \"{}\"", key, *text);
}

absl::StatusOr<std::optional<int64_t>> number(const HttpRequest& request, std::string_view key, int64_t least) {
  const auto text = request.query_value(key);
  if (!text || text->empty()) return std::nullopt;
  int64_t value = 0;
  if (!absl::SimpleAtoi(*text, &value) || value < least) {
    return make_status(absl::StatusCode::kInvalidArgument, "{}: must be a whole number from {} on, got \"{}\"", key,
                       least, *text);
  }
  return value;
}

// Of the waiting reasons upstream words two in its own way.
std::string waiting_text(const std::string& reason) {
  if (reason == "ErrImagePull") return "image can't be pulled";
  if (reason == "ImagePullBackOff") return "trying and failing to pull image";
  return reason;
}

}  // namespace

absl::StatusOr<std::string> container_of(const core::Pod& pod, const std::string& asked) {
  const auto& spec = pod.spec();
  if (asked.empty()) {
    const auto chosen = pod.metadata().annotations().find("kubectl.kubernetes.io/default-container");
    if (chosen != pod.metadata().annotations().end()) return container_of(pod, chosen->second);
    if (spec.containers_size() > 0) return spec.containers(0).name();
    return absl::NotFoundError("the pod has no container");
  }
  std::string known;
  for (const auto& each : spec.containers()) {
    if (each.name() == asked) return asked;
    known += (known.empty() ? "" : ", ") + each.name();
  }
  for (const auto& each : spec.initcontainers()) {
    if (each.name() == asked) return asked;
    known += ", " + each.name();
  }
  for (const auto& each : spec.ephemeralcontainers()) {
    if (each.ephemeralcontainercommon().name() == asked) return asked;
    known += ", " + each.ephemeralcontainercommon().name();
  }
  return make_status(absl::StatusCode::kNotFound, "container {} is not in pod {} (it has: {})", asked,
                     pod.metadata().name(), known);
}

const core::ContainerStatus* find_status(const core::PodStatus& status, std::string_view container) {
  for (const auto* statuses :
       {&status.containerstatuses(), &status.initcontainerstatuses(), &status.ephemeralcontainerstatuses()}) {
    for (const auto& each : *statuses) {
      if (each.name() == container) return &each;
    }
  }
  return nullptr;
}

absl::StatusOr<LogInstance> log_instance(const core::PodStatus& status, const std::string& pod,
                                         const std::string& container, bool previous) {
  using absl::StatusCode;
  const core::ContainerStatus* found = find_status(status, container);
  if (found == nullptr) {
    return make_status(StatusCode::kFailedPrecondition, "container \"{}\" in pod \"{}\" is not available", container,
                       pod);
  }
  const auto& state = found->state();
  const auto& last = found->laststate().terminated();
  const bool has_last = found->laststate().has_terminated() && !last.containerid().empty();
  if (previous) {
    if (!has_last) {
      return make_status(StatusCode::kFailedPrecondition,
                         "previous terminated container \"{}\" in pod \"{}\" not found", container, pod);
    }
    // While the container waits for its next start, the newest instance is the last one.
    const bool newest = last.containerid() == found->containerid();
    return LogInstance{newest ? found->restartcount() : std::max(0, found->restartcount() - 1), last.containerid(),
                       false};
  }
  if (state.has_running()) return LogInstance{found->restartcount(), found->containerid(), true};
  if (state.has_terminated()) {
    if (!state.terminated().containerid().empty()) {
      return LogInstance{found->restartcount(), state.terminated().containerid(), false};
    }
    if (has_last) return LogInstance{found->restartcount(), last.containerid(), false};
    return make_status(StatusCode::kFailedPrecondition, "container \"{}\" in pod \"{}\" is terminated", container, pod);
  }
  if (has_last) return LogInstance{found->restartcount(), last.containerid(), false};
  if (state.has_waiting() && !state.waiting().reason().empty()) {
    return make_status(StatusCode::kFailedPrecondition, "container \"{}\" in pod \"{}\" is waiting to start: {}",
                       container, pod, waiting_text(state.waiting().reason()));
  }
  return make_status(StatusCode::kFailedPrecondition,
                     "container \"{}\" in pod \"{}\" is waiting to start - no logs yet", container, pod);
}

absl::StatusOr<LogOptions> log_options(const HttpRequest& request, WallTime now) {
  LogOptions options;
  for (const auto& [key, into] : {std::pair<const char*, bool*>{"follow", &options.follow},
                                  {"previous", &options.previous},
                                  {"timestamps", &options.timestamps}}) {
    const auto value = yes_no(request, key);
    if (!value.ok()) return value.status();
    *into = *value;
  }
  const bool by_alias = !request.query_value("tailLines") && request.query_value("tail") != "all";
  const auto tail = number(request, by_alias ? "tail" : "tailLines", 0);
  if (!tail.ok()) return tail.status();
  options.tail_lines = *tail;
  const auto limit = number(request, "limitBytes", 1);
  if (!limit.ok()) return limit.status();
  options.limit_bytes = *limit;
  const auto since_seconds = number(request, "sinceSeconds", 1);
  if (!since_seconds.ok()) return since_seconds.status();
  const auto since_time = request.query_value("sinceTime");
  if (*since_seconds && since_time) {
    return absl::InvalidArgumentError("at most one of sinceTime or sinceSeconds may be specified");
  }
  if (*since_seconds) options.since = now - std::chrono::seconds(**since_seconds);
  if (since_time) {
    options.since = parse_rfc3339(*since_time);
    if (!options.since) {
      return make_status(absl::StatusCode::kInvalidArgument, "sinceTime: must be an RFC 3339 time, got \"{}\"",
                         *since_time);
    }
  }
  const std::string stream = request.query_value("stream").value_or("All");
  if (!stream.empty() && stream != "All") {
    return absl::InvalidArgumentError("stream: only All is served (PodLogsQuerySplitStreams is off)");
  }
  return options;
}

}  // namespace podwright::server
