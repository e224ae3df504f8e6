// The handlers behind the routes. One object for the life of the server; coroutines of it may run until the server's
// scopes are closed.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "agent/server/answers.h"
#include "agent/server/log_cursor.h"
#include "agent/server/routes.h"
#include "agent/server/sources.h"

namespace podwright::server {

class Handlers {
 public:
  explicit Handlers(ServerSources& sources) : sources_(sources) {}

  // All routes, each with what an authorizer is asked and where it is mounted.
  std::vector<Route> routes();

  // pods_api.cpp
  Co<HttpResponse> list_pods(HttpRequest request);  // also of one namespace, also as a watch
  Co<HttpResponse> get_pod(HttpRequest request);
  Co<HttpResponse> pod_list(HttpRequest request);  // /pods
  Co<HttpResponse> describe(HttpRequest request);
  Co<HttpResponse> list_nodes(HttpRequest request);
  Co<HttpResponse> get_node(HttpRequest request);
  // events_api.cpp
  Co<HttpResponse> list_events(HttpRequest request);
  // logs_api.cpp
  Co<HttpResponse> pod_log(HttpRequest request);
  Co<HttpResponse> container_logs(HttpRequest request);
  // sessions_api.cpp
  Co<HttpResponse> exec(HttpRequest request);
  Co<HttpResponse> attach(HttpRequest request);
  Co<HttpResponse> port_forward(HttpRequest request);
  // health.cpp
  Co<HttpResponse> healthz(HttpRequest request);
  Co<HttpResponse> healthz_check(HttpRequest request);
  // debug_api.cpp
  Co<HttpResponse> metrics(HttpRequest request);
  Co<HttpResponse> summary(HttpRequest request);
  Co<HttpResponse> resource_metrics(HttpRequest request);
  Co<HttpResponse> container_metrics(HttpRequest request);
  Co<HttpResponse> configz(HttpRequest request);
  Co<HttpResponse> set_verbosity(HttpRequest request);
  Co<HttpResponse> waits(HttpRequest request);
  Co<HttpResponse> version(HttpRequest request);
  Co<HttpResponse> debugging_disabled(HttpRequest request);

 private:
  pods::PodViewPtr find_pod(const std::string& ns, const std::string& name) const;
  Co<void> watch_pods(std::string ns, std::string name, BodyWriter& out);
  Co<void> watch_events(std::string ns, std::string about, bool skip_old, BodyWriter& out);
  Co<HttpResponse> log_of(HttpRequest request, std::string ns, std::string name, std::string container);
  Co<void> send_log(std::shared_ptr<LogCursor> cursor, std::string path, PodUid uid, std::string container,
                    std::string container_id, bool follow, BodyWriter& out);
  Co<HttpResponse> session(HttpRequest request, bool exec);
  Co<void> run_session(SessionRequest request, bool exec, std::unique_ptr<Stream> stream);
  Co<void> forward_port(PodUid pod, uint16_t port, std::unique_ptr<Stream> client);
  // What is wrong with one check; nothing: it is well.
  std::optional<std::string> check(std::string_view name) const;

  ServerSources& sources_;
};

// The container that a request means: the named one, or the only or first one of the pod.
absl::StatusOr<std::string> container_of(const core::Pod& pod, const std::string& asked);
const core::ContainerStatus* find_status(const core::PodStatus& status, std::string_view container);

// Which instance's log is meant, as upstream chooses: its restart count and its ID. The error says what the container
// is waiting for. Pure. Source: pkg/kubelet/kubelet_pods.go, validateContainerLogStatus.
struct LogInstance {
  int32_t restart_count = 0;
  std::string container_id;  // with its scheme
  bool running = false;
};
absl::StatusOr<LogInstance> log_instance(const core::PodStatus& status, const std::string& pod,
                                         const std::string& container, bool previous);

// The query of a log request; InvalidArgument names the parameter.
absl::StatusOr<LogOptions> log_options(const HttpRequest& request, WallTime now);

}  // namespace podwright::server
