#include "agent/local_server.h"

#include "agent/node_object.h"
#include "base/http/client.h"
#include "base/log/log.h"
#include "base/status/annotate.h"
#include "cri/streaming/session.h"

namespace podwright {
namespace {

// For the way to an open session with the runtime, not for the session.
constexpr auto kSessionOpen = std::chrono::seconds(30);
// Connections get this long at the end.
constexpr auto kGoodbye = std::chrono::milliseconds(500);

cri::SessionSides sides_of(const server::SessionRequest& request) {
  return {
      .stdin = request.stdin, .stdout = request.stdout, .stderr = request.stderr && !request.tty, .tty = request.tty};
}

std::string configz_of(const config::Config& config) {
  if (config.effective_json.empty()) return {};
  return fmt::format("{{\"kubeletconfig\":{}}}\n", config.effective_json);
}

// What is counted elsewhere, or written from the last snapshot.
void add_samples(Agent& agent, Samples& samples) {
  const auto add = [&samples](const char* name, const char* help, const char* label, const auto& counts) {
    for (const auto& [value, count] : counts) {
      samples.add(name, Samples::Type::kCounter, help, {{label, value}}, static_cast<double>(count));
    }
  };
  add("kubelet_evictions", "Pods stopped for want of a resource, by signal.", "eviction_signal",
      agent.evictor().evictions());
  add("kubelet_image_garbage_collected_total", "Unused images removed, by reason.", "reason",
      agent.image_collector().removed());
  const usage::SnapshotPtr used = agent.usage().last();
  if (!used) return;
  for (const usage::PodUsagePtr& pod : used->pods) {
    for (const usage::ContainerUsage& container : pod->containers) {
      if (!container.logs) continue;
      samples.add("kubelet_container_log_filesystem_used_bytes", Samples::Type::kGauge,
                  "Bytes used by the container's logs.",
                  {{"uid", pod->uid.value},
                   {"namespace", pod->key.ns},
                   {"pod", pod->key.name},
                   {"container", container.name.value}},
                  static_cast<double>(container.logs->bytes));
    }
  }
}

}  // namespace

Co<absl::StatusOr<int32_t>> RuntimeSessions::exec(server::SessionRequest request, server::SessionPeer& peer) {
  const Instant deadline = after(loop_.now(), kSessionOpen);
  const cri::SessionSides sides = sides_of(request);
  cri::ExecRequest asked{.container = request.container,
                         .command = request.command,
                         .tty = sides.tty,
                         .stdin = sides.stdin,
                         .stdout = sides.stdout,
                         .stderr = sides.stderr};
  auto url = co_await runtime_.exec_url(std::move(asked), deadline);
  if (!url.ok()) co_return annotate(url.status(), "ask the runtime for an exec session");
  co_return co_await cri::run_exec(loop_, net_, *std::move(url), sides, peer, deadline);
}

Co<absl::Status> RuntimeSessions::attach(server::SessionRequest request, server::SessionPeer& peer) {
  const Instant deadline = after(loop_.now(), kSessionOpen);
  const cri::SessionSides sides = sides_of(request);
  cri::AttachRequest asked{.container = request.container,
                           .tty = sides.tty,
                           .stdin = sides.stdin,
                           .stdout = sides.stdout,
                           .stderr = sides.stderr};
  auto url = co_await runtime_.attach_url(std::move(asked), deadline);
  if (!url.ok()) co_return annotate(url.status(), "ask the runtime for an attach session");
  co_return co_await cri::run_attach(loop_, net_, *std::move(url), sides, peer, deadline);
}

Co<absl::Status> RuntimeSessions::port_forward(PodUid pod, uint16_t port, std::unique_ptr<Stream> client) {
  const Instant deadline = after(loop_.now(), kSessionOpen);
  const pleg::PodRuntimePtr seen = cache_.get(pod);
  if (!seen || seen->sandboxes.empty()) co_return absl::UnavailableError("the pod has no sandbox");
  SandboxId sandbox = seen->sandboxes.front().id;
  std::vector<int32_t> ports{port};
  auto url = co_await runtime_.port_forward_url(std::move(sandbox), std::move(ports), deadline);
  if (!url.ok()) co_return annotate(url.status(), "ask the runtime for a port-forward session");
  co_return co_await cri::run_port_forward(loop_, net_, *std::move(url), port, std::move(client), deadline);
}

LocalServer::LocalServer(Loop& loop, Offload& offload, Tree& tree, Net& net, const config::Config& config,
                         cri::Runtime& runtime, Agent& agent)
    : loop_(loop),
      net_(net),
      config_(config),
      loop_metrics_(registry_),
      sessions_(loop, net, runtime, agent.cache()),
      log_files_(server::real_log_files(agent.node().pod_logs_dir)),
      pages_(agent.usage(), tree),
      sources_{.loop = loop,
               .offload = offload,
               .steps = agent.steps(),
               .board = agent.board(),
               .registry = registry_,
               .tree = tree,
               .logs = *log_files_,
               .pod_logs_dir = agent.node().pod_logs_dir,
               .events = [&agent] { return agent.events().list(); },
               .events_changed = [&agent](Instant deadline) { return agent.events().changed(deadline); },
               .node = [&agent] { return node_object(agent); },
               .configz = configz_of(config),
               .sync_loop_entered = [&agent] { return agent.sync_loop().last_turn(); },
               .sync_frequency = config.pods.sync_frequency,
               .summary = [this](bool only_cpu_and_memory) { return pages_.summary(only_cpu_and_memory); },
               .resource_metrics = [this] { return pages_.resource_metrics(); },
               .container_metrics = [this] { return pages_.container_metrics(); },
               .sessions = &sessions_,
               .read_only_strict = config.serving.read_only_port_strict,
               .authorize = {}},
      server_(sources_) {
  registry_.at_scrape([&agent](Samples& samples) { add_samples(agent, samples); });
}

absl::Status LocalServer::listen(server::Listener which, const Endpoint& at) {
  auto listener = net_.listen(at, 0600);
  if (!listener.ok()) return annotate(listener.status(), "listen on {}", at.text());
  HttpServerOptions options;
  options.name = at.text();
  servers_.push_back(
      std::make_unique<HttpServer>(loop_, *std::move(listener), server_.handler(which), std::move(options)));
  servers_.back()->start();
  return absl::OkStatus();
}

absl::Status LocalServer::start() {
  absl::Status status;
  if (!config_.serving.local_socket.empty()) {
    // Under systemd it is there (RuntimeDirectory); else it is made for root alone.
    const std::string directory = parent_path(config_.serving.local_socket);
    if (absl::IsNotFound(sources_.tree.info_followed(directory).status())) {
      status = sources_.tree.make_directories(directory, 0700);
    }
    if (status.ok()) status = listen(server::kLocal, Endpoint::unix_socket(config_.serving.local_socket));
  }
  if (status.ok() && config_.serving.healthz_port != 0) {
    status = listen(server::kHealth, Endpoint::tcp(config_.serving.healthz_bind_address, config_.serving.healthz_port));
  }
  if (status.ok() && config_.serving.read_only_port != 0) {
    status = listen(server::kReadOnly, Endpoint::tcp(config_.serving.address, config_.serving.read_only_port));
  }
  return status;
}

Co<void> LocalServer::stop() {
  const Instant deadline = after(loop_.now(), kGoodbye);
  std::vector<Co<void>> closing;
  for (auto& server : servers_) closing.push_back(server->close(deadline));
  co_await run_all(loop_, std::move(closing));
}

void LocalServer::observe_turn(Duration busy) {
  loop_metrics_.busy.observe(busy);
}

sources::Fetch http_fetch(Loop& loop, Net& net) {
  using FieldValues = std::map<std::string, std::vector<std::string>>;
  struct Once {
    static Co<absl::StatusOr<std::string>> run(Loop& loop, Net& net, std::string url, FieldValues fields,
                                               std::size_t limit, Instant deadline) {
      auto parsed = parse_url(url);
      if (!parsed.ok()) co_return parsed.status();
      std::shared_ptr<const TlsClient> tls;
      if (parsed->https) {
        auto made = TlsClient::make({.trust = TlsClientOptions::Trust::kSystem});
        if (!made.ok()) co_return made.status();
        tls = *std::move(made);
      }
      HttpCall call;
      for (const auto& [name, values] : fields) {
        for (const std::string& value : values) call.headers.add(name, value);
      }
      // A longer answer is refused below, so that a cut list never looks like a whole one.
      HttpBounds bounds{.keep_bytes = limit, .drain_bytes = 0};
      auto answer = co_await podwright::http_fetch(loop, net, *std::move(parsed), std::move(call), bounds,
                                                   std::move(tls), deadline);
      if (!answer.ok()) co_return answer.status();
      if (answer->status != 200) {
        co_return make_status(absl::StatusCode::kUnavailable, "{}: status {}", url, answer->status);
      }
      if (answer->truncated) {
        co_return make_status(absl::StatusCode::kResourceExhausted, "{}: longer than {} bytes", url, limit);
      }
      co_return std::move(answer->body);
    }
  };
  return [&loop, &net](std::string url, FieldValues fields, std::size_t limit, Instant deadline) {
    return Once::run(loop, net, std::move(url), std::move(fields), limit, deadline);
  };
}

}  // namespace podwright
