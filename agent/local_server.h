// LocalServer: the servers of a node without a control plane: the root-only local socket, the health port, and the
// read-only port where the configuration sets one. It hands the server (agent/server) what it needs of the agent.
#pragma once

#include <memory>
#include <vector>

#include "agent/agent.h"
#include "agent/server/log_files.h"
#include "agent/server/server.h"
#include "agent/server/sources.h"
#include "agent/server/streams.h"
#include "agent/usage/pages.h"
#include "base/http/server.h"
#include "base/metrics/metrics.h"

namespace podwright {

// exec, attach and port-forward by the runtime's streaming server.
class RuntimeSessions final : public server::StreamSessions {
 public:
  RuntimeSessions(Loop& loop, Net& net, cri::Runtime& runtime, pleg::RuntimeCache& cache)
      : loop_(loop), net_(net), runtime_(runtime), cache_(cache) {}

  Co<absl::StatusOr<int32_t>> exec(server::SessionRequest request, server::SessionPeer& peer) override;
  Co<absl::Status> attach(server::SessionRequest request, server::SessionPeer& peer) override;
  Co<absl::Status> port_forward(PodUid pod, uint16_t port, std::unique_ptr<Stream> client) override;

 private:
  Loop& loop_;
  Net& net_;
  cri::Runtime& runtime_;
  pleg::RuntimeCache& cache_;
};

class LocalServer {
 public:
  LocalServer(Loop& loop, Offload& offload, Tree& tree, Net& net, const config::Config& config, cri::Runtime& runtime,
              Agent& agent);

  // Opens the listeners. An error names the address and what to do.
  absl::Status start();
  // Ends connections; at most half a second.
  Co<void> stop();

  // One stretch of work of the loop, for the histogram.
  void observe_turn(Duration busy);

 private:
  absl::Status listen(server::Listener which, const Endpoint& at);

  Loop& loop_;
  Net& net_;
  const config::Config& config_;
  Registry registry_;
  LoopMetrics loop_metrics_;
  RuntimeSessions sessions_;
  std::unique_ptr<server::LogFiles> log_files_;
  usage::Pages pages_;
  server::ServerSources sources_;
  server::Server server_;
  std::vector<std::unique_ptr<HttpServer>> servers_;
};

// A GET for static pods by URL, over the network.
sources::Fetch http_fetch(Loop& loop, Net& net);

}  // namespace podwright
