// What the server reads, handed in by the composition root: it never includes agent/sync. All of it is used on the loop
// thread, except what a comment says of offloaded work.
#pragma once

#include <absl/status/statusor.h>

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "agent/pods/node_view.h"
#include "agent/server/log_files.h"
#include "agent/server/routes.h"
#include "agent/server/streams.h"
#include "api/types.h"
#include "base/co/bell.h"
#include "base/co/loop.h"
#include "base/co/offload.h"
#include "base/files/tree.h"
#include "base/metrics/metrics.h"
#include "base/step/step.h"

namespace podwright::server {

using EventPtr = std::shared_ptr<const core::Event>;

// Who asks, as the TLS port saw it.
struct Asker {
  std::string client_certificates_pem;
  std::string authorization;  // the header, a secret
};

struct ServerSources {
  Loop& loop;
  Offload& offload;
  Steps& steps;
  pods::NodeBoard& board;
  Registry& registry;
  // For watches of log files; their content is read through `logs`, from offloaded work.
  Tree& tree;
  LogFiles& logs;
  std::string pod_logs_dir = "/var/log/pods";

  // The ring of events, oldest first, and a wait for the next one.
  std::function<std::vector<EventPtr>()> events;
  std::function<Co<Wait>(Instant)> events_changed;
  // This node as the API would show it.
  std::function<std::shared_ptr<const core::Node>()> node;
  // {"kubeletconfig":...} of /configz; empty: 404.
  std::string configz;
  // When the sync loop last took an event, and how often it does at the least; null: no such check.
  std::function<Instant()> sync_loop_entered;
  Duration sync_frequency = std::chrono::minutes(1);
  // stats v1alpha1 Summary as JSON, of cpu and memory alone where asked so; null: 404.
  std::function<Co<absl::StatusOr<std::string>>(bool only_cpu_and_memory)> summary = nullptr;
  // The texts of /metrics/resource and /metrics/cadvisor; null: 404.
  std::function<Co<absl::StatusOr<std::string>>()> resource_metrics = nullptr;
  std::function<Co<absl::StatusOr<std::string>>()> container_metrics = nullptr;
  // Null: exec, attach and port-forward answer 501.
  StreamSessions* sessions = nullptr;
  // The read-only port serves nothing but health and metrics.
  bool read_only_strict = false;
  // Asked of each request of the TLS port; an answer is a refusal. Null: that port refuses everything.
  std::function<Co<std::optional<HttpResponse>>(Asker, Access)> authorize;
};

}  // namespace podwright::server
