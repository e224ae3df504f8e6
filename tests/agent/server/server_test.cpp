#include "agent/server/server.h"

#include <doctest/doctest.h>

#include <nlohmann/json.hpp>

#include "base/co/sim_loop.h"
#include "base/files/memory_tree.h"
#include "base/frames/frames.h"
#include "base/http/server.h"
#include "base/log/log.h"
#include "base/net/memory_net.h"
#include "tests/agent/server/memory_logs.h"

using namespace podwright;
using namespace podwright::server;
using namespace std::chrono_literals;

namespace {

// A runtime that upper-cases nothing and echoes everything: what comes on stdin goes to stdout until stdin ends.
class EchoSessions final : public StreamSessions {
 public:
  Co<absl::StatusOr<int32_t>> exec(SessionRequest request, SessionPeer& peer) override {
    last = request;
    while (true) {
      const auto input = co_await peer.next();
      if (!input.ok()) co_return input.status();
      if (input->kind == SessionInput::Kind::kStdinEnd) co_return 7;
      if (input->kind == SessionInput::Kind::kResize) {
        width = input->width;
        continue;
      }
      std::string bytes = input->bytes;
      const absl::Status wrote = co_await peer.write_stdout(std::move(bytes));
      if (!wrote.ok()) co_return wrote;
    }
  }
  Co<absl::Status> attach(SessionRequest request, SessionPeer& peer) override {
    last = request;
    co_return co_await peer.write_stderr("attached");
  }
  Co<absl::Status> port_forward(PodUid, uint16_t port, std::unique_ptr<Stream> client) override {
    last_port = port;
    const auto bytes = co_await client->read_some(100, Instant::max());
    if (!bytes.ok()) co_return bytes.status();
    std::string answer = "echo " + *bytes;
    co_return co_await client->write_all(std::move(answer), Instant::max());
  }

  SessionRequest last;
  uint16_t width = 0, last_port = 0;
};

struct Answered {
  int status = 0;
  std::string head, body;
};

// A node's server with all its listeners in memory.
struct Node {
  SimLoop loop;
  MemoryNet net{loop};
  SimOffload offload{loop};
  Steps steps{loop.clock()};
  pods::NodeBoard board{loop, "node-1"};
  Registry registry;
  MemoryTree tree{loop};
  MemoryLogs logs;
  EchoSessions sessions;
  std::vector<EventPtr> events;
  std::shared_ptr<core::Node> node = std::make_shared<core::Node>();
  Instant entered = loop.now();
  ServerSources sources{.loop = loop,
                        .offload = offload,
                        .steps = steps,
                        .board = board,
                        .registry = registry,
                        .tree = tree,
                        .logs = logs,
                        .events = [this] { return events; },
                        .events_changed = {},
                        .node = [this] { return node; },
                        .configz = R"({"kubeletconfig":{"maxPods":110}})",
                        .sync_loop_entered = [this] { return entered; },
                        .summary = {},
                        .sessions = &sessions,
                        .authorize = {}};
  std::unique_ptr<Server> server;
  std::vector<std::unique_ptr<HttpServer>> listeners;

  static Endpoint at(server::Listener which) { return Endpoint::tcp("127.0.0.1", static_cast<uint16_t>(1000 + which)); }

  void start() {
    node->mutable_metadata()->set_name("node-1");
    server = std::make_unique<Server>(sources);
    for (const server::Listener which : {kMain, kReadOnly, kHealth, kLocal}) {
      auto listener = net.listen(at(which), 0600);
      REQUIRE(listener.ok());
      listeners.push_back(std::make_unique<HttpServer>(loop, *std::move(listener), server->handler(which)));
      listeners.back()->start();
    }
  }
  ~Node() {
    for (auto& each : listeners) run_to_end(loop, each->close(loop.now() + 1s));
  }

  std::unique_ptr<Stream> send(server::Listener which, std::string request) {
    auto stream = run_and_get(loop, net.dial(at(which), loop.now() + 1s));
    REQUIRE(stream.ok());
    REQUIRE(run_and_get(loop, (*stream)->write_all(std::move(request), loop.now() + 1s)).ok());
    return *std::move(stream);
  }
  // What comes within `time`; empty at the end or where nothing does.
  std::string read(Stream& stream, Duration time = 5s) {
    const auto bytes = run_and_get(loop, stream.read_some(1 << 20, loop.now() + time));
    return bytes.ok() ? *bytes : std::string();
  }
  std::string read_until(Stream& stream, std::string_view text) {
    std::string all;
    while (all.find(text) == std::string::npos) {
      const std::string some = read(stream);
      REQUIRE_MESSAGE(!some.empty(), "missing \"", text, "\" in: ", all);
      all += some;
    }
    return all;
  }
  Answered ask(server::Listener which, const std::string& method, const std::string& target,
               const std::string& body = {}) {
    const auto stream =
        send(which, fmt::format("{} {} HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Length: {}\r\n\r\n{}",
                                method, target, body.size(), body));
    std::string all;
    while (true) {
      const std::string some = read(*stream);
      if (some.empty()) break;
      all += some;
    }
    const auto end = all.find("\r\n\r\n");
    REQUIRE(end != std::string::npos);
    return {std::stoi(all.substr(9, 3)), all.substr(0, end), all.substr(end + 4)};
  }
  Answered get(const std::string& target, server::Listener which = kLocal) { return ask(which, "GET", target); }

  void put_pod(const std::string& name, bool running = true) {
    auto pod = std::make_shared<core::Pod>();
    pod->mutable_metadata()->set_name(name);
    pod->mutable_metadata()->set_namespace_("default");
    pod->mutable_metadata()->set_uid("uid-" + name);
    pod->mutable_spec()->add_containers()->set_name("app");
    auto status = std::make_shared<core::PodStatus>();
    status->set_phase(running ? "Running" : "Pending");
    auto* container = status->add_containerstatuses();
    container->set_name("app");
    container->set_containerid("containerd://c1");
    if (running) {
      container->mutable_state()->mutable_running();
    } else {
      container->mutable_state()->mutable_waiting()->set_reason("ImagePullBackOff");
      container->clear_containerid();
    }
    board.put({.uid = PodUid("uid-" + name),
               .pod = std::move(pod),
               .status = std::move(status),
               .source = pods::SourceKind::kFile,
               .origin = "/manifests/" + name + ".yaml",
               .state = "Syncing",
               .waiting_for = running ? "" : "the image"});
  }
};

nlohmann::json json_of(const Answered& answer) {
  return nlohmann::json::parse(answer.body);
}

}  // namespace

TEST_CASE("each listener serves its own set of paths") {
  Node node;
  node.start();
  struct {
    const char* method;
    const char* path;
    int main, read_only, health, local;
  } const rows[] = {{"GET", "/healthz", 403, 200, 200, 200},
                    {"GET", "/healthz/ping", 403, 200, 200, 200},
                    {"GET", "/healthz/syncloop", 403, 200, 404, 200},
                    {"GET", "/metrics", 403, 200, 404, 200},
                    {"GET", "/pods", 403, 200, 404, 200},
                    {"GET", "/configz", 403, 404, 404, 200},
                    {"GET", "/debug/waits", 403, 404, 404, 200},
                    {"GET", "/api/v1/pods", 404, 404, 404, 200},
                    {"GET", "/containerLogs/default/web/app", 403, 405, 404, 404},
                    {"POST", "/exec/default/web/app", 404, 405, 404, 404},
                    {"POST", "/pods", 405, 405, 404, 405},
                    {"GET", "/nothing", 404, 404, 404, 404}};

  for (const auto& row : rows) {
    CAPTURE(row.path);
    CHECK(node.ask(kMain, row.method, row.path).status == row.main);
    CHECK(node.ask(kReadOnly, row.method, row.path).status == row.read_only);
    CHECK(node.ask(kHealth, row.method, row.path).status == row.health);
    CHECK(node.ask(kLocal, row.method, row.path).status == row.local);
  }
}

TEST_CASE("a strict read-only port serves health and metrics alone") {
  Node node;
  node.sources.read_only_strict = true;
  node.start();

  CHECK(node.get("/healthz", kReadOnly).status == 200);
  CHECK(node.get("/metrics", kReadOnly).status == 200);
  CHECK(node.get("/pods", kReadOnly).status == 404);
}

namespace {
Co<std::optional<HttpResponse>> only_amy(Asker asker, Access access) {
  if (asker.authorization == "Bearer amy") co_return std::nullopt;
  co_return HttpResponse::text(403, fmt::format("Forbidden ({})\n", name_of(access.subresource())));
}
}  // namespace

TEST_CASE("the main port asks who may, with the route's resource") {
  Node node;
  node.sources.authorize = only_amy;
  node.start();

  const auto stream =
      node.send(kMain, "GET /metrics HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer amy\r\nConnection: close\r\n\r\n");

  CHECK(node.read(*stream).starts_with("HTTP/1.1 200"));
  CHECK(node.get("/metrics", kMain).body == "Forbidden (metrics)\n");
}

TEST_CASE("health tells of a sync loop that stands still") {
  Node node;
  node.start();
  CHECK(node.get("/healthz", kHealth).body == "ok");
  CHECK(node.get("/healthz?verbose").body == "[+]ping ok\n[+]log ok\n[+]syncloop ok\nhealthz check passed\n");

  node.loop.run_for(6min);

  const Answered all = node.get("/healthz", kHealth);
  CHECK(all.status == 500);
  CHECK(all.body == "[+]ping ok\n[+]log ok\n[-]syncloop failed: reason withheld\nhealthz check failed\n");
  CHECK(node.get("/healthz?exclude=syncloop").status == 200);
  const Answered one = node.get("/healthz/syncloop");
  CHECK(one.status == 500);
  CHECK(one.body.starts_with("internal server error: sync Loop took longer than expected"));
  CHECK(node.get("/healthz/ping", kHealth).status == 200);
}

TEST_CASE("pods are listed with spec and status, by namespace and by name") {
  Node node;
  node.start();
  node.put_pod("web");
  node.put_pod("db", false);

  const auto all = json_of(node.get("/pods", kReadOnly));
  REQUIRE(all["items"].size() == 2);
  CHECK(all["kind"] == "PodList");
  CHECK(all["items"][0]["metadata"]["name"] == "db");
  CHECK(all["items"][1]["status"]["phase"] == "Running");
  CHECK(!all["items"][0]["metadata"].contains("annotations"));

  CHECK(json_of(node.get("/api/v1/namespaces/other/pods"))["items"].empty());
  const auto one = json_of(node.get("/api/v1/namespaces/default/pods/web"));
  CHECK(one["kind"] == "Pod");
  CHECK(one["metadata"]["annotations"][kWorkerStateAnnotation] == "Syncing");
  const Answered missing = node.get("/api/v1/namespaces/default/pods/nope");
  CHECK(missing.status == 404);
  CHECK(json_of(missing)["reason"] == "NotFound");
  CHECK(json_of(missing)["message"] == "pods \"nope\" not found");
}

TEST_CASE("nodes and events are listed") {
  Node node;
  node.start();
  auto event = std::make_shared<core::Event>();
  event->mutable_metadata()->set_name("web.1");
  event->mutable_metadata()->set_namespace_("default");
  event->mutable_involvedobject()->set_name("web");
  event->set_reason("Started");
  node.events.push_back(event);

  CHECK(json_of(node.get("/api/v1/nodes"))["items"][0]["metadata"]["name"] == "node-1");
  CHECK(json_of(node.get("/api/v1/nodes/node-1"))["kind"] == "Node");
  CHECK(node.get("/api/v1/nodes/other").status == 404);
  CHECK(json_of(node.get("/api/v1/events"))["items"][0]["reason"] == "Started");
  CHECK(json_of(node.get("/api/v1/events?fieldSelector=involvedObject.name%3Ddb"))["items"].empty());
}

TEST_CASE("a watch of pods tells each change once") {
  Node node;
  node.start();
  node.put_pod("web");
  const auto stream = node.send(kLocal, "GET /api/v1/namespaces/default/pods?watch=true HTTP/1.1\r\nHost: x\r\n\r\n");

  CHECK(node.read_until(*stream, "}\n").find(R"({"type":"ADDED")") != std::string::npos);
  node.put_pod("web", false);
  const std::string second = node.read_until(*stream, "}\n");
  CHECK(second.find(R"({"type":"MODIFIED")") != std::string::npos);
  CHECK(second.find("Pending") != std::string::npos);
  node.board.erase(PodUid("uid-web"));
  CHECK(node.read_until(*stream, "}\n").find(R"({"type":"DELETED")") != std::string::npos);
}

TEST_CASE("a watch of events tells new ones and new counts") {
  Node node;
  node.start();
  const auto stream = node.send(kLocal, "GET /api/v1/events?watch=1 HTTP/1.1\r\nHost: x\r\n\r\n");
  auto event = std::make_shared<core::Event>();
  event->mutable_metadata()->set_name("web.1");
  event->set_count(1);

  node.events = {event};
  CHECK(node.read_until(*stream, "}\n").find("ADDED") != std::string::npos);
  auto again = std::make_shared<core::Event>(*event);
  again->set_count(2);
  node.events = {again};
  CHECK(node.read_until(*stream, "}\n").find("MODIFIED") != std::string::npos);
}

TEST_CASE("describe tells what a pod waits for and what is wrong with its source") {
  Node node;
  node.start();
  node.put_pod("web", false);
  const auto view = node.board.find(PodUid("uid-web"));
  Step step(node.steps, pods::flow_of(*view->pod), StepKind::kPull, "image nginx", node.loop.now() + 60s);
  node.board.put_problem(
      {.source = pods::SourceKind::kFile, .origin = "/manifests/web.yaml", .text = "line 3: unknown field", .pod = {}});

  const auto told = json_of(node.get("/describe/namespaces/default/pods/web"));
  const auto waits = json_of(node.get("/debug/waits"));
  step.end();

  CHECK(told["origin"] == "file /manifests/web.yaml");
  CHECK(told["waitingFor"] == "the image");
  REQUIRE(told["waits"].size() == 1);
  CHECK(told["waits"][0]["what"] == "image nginx");
  CHECK(told["waits"][0]["secondsLeft"].get<double>() <= 60);
  CHECK(told["problems"][0] == "line 3: unknown field");
  CHECK(waits["waits"][0]["kind"] == name_of(StepKind::kPull));
}

TEST_CASE("the verbosity of the log is set while running") {
  Node node;
  node.start();
  const int before = log_verbosity();

  CHECK(node.ask(kLocal, "PUT", "/debug/flags/v", "3").body == "successfully set klog.logging.verbosity to 3");
  CHECK(log_verbosity() == 3);
  CHECK(node.ask(kLocal, "PUT", "/debug/flags/v", "many").status == 400);
  CHECK(node.get("/debug/flags/v").status == 406);
  set_log_verbosity(before);
}

TEST_CASE("metrics and configuration are served") {
  Node node;
  node.start();
  node.get("/configz");

  const Answered metrics = node.get("/metrics");
  CHECK(metrics.head.find("text/plain; version=0.0.4") != std::string::npos);
  CHECK(metrics.body.find("kubelet_http_requests_total{") != std::string::npos);
  CHECK(metrics.body.find(R"(path="configz")") != std::string::npos);
  CHECK(json_of(node.get("/configz"))["kubeletconfig"]["maxPods"] == 110);
  CHECK(node.get("/stats/summary").status == 404);
}

TEST_CASE("statistics are served to scrapers, the light summary only where it is asked for once and as true") {
  struct Told {
    static Co<absl::StatusOr<std::string>> text(std::string text) { co_return text; }
  };
  Node node;
  node.sources.summary = [](bool light) { return Told::text(light ? "{\"light\":1}" : "{\"light\":0}"); };
  node.sources.resource_metrics = [] { return Told::text("node_cpu_usage_seconds_total 1\n"); };
  node.sources.container_metrics = [] { return Told::text("machine_cpu_cores 2\n"); };
  node.start();

  CHECK(json_of(node.get("/stats/summary"))["light"] == 0);
  CHECK(json_of(node.get("/stats/summary?only_cpu_and_memory=true"))["light"] == 1);
  CHECK(json_of(node.get("/stats/summary?only_cpu_and_memory=1"))["light"] == 0);
  CHECK(json_of(node.get("/stats/summary?only_cpu_and_memory=true&only_cpu_and_memory=true"))["light"] == 0);
  const auto resource = node.get("/metrics/resource");
  CHECK(resource.body == "node_cpu_usage_seconds_total 1\n");
  CHECK(resource.head.find("text/plain; version=0.0.4") != std::string::npos);
  CHECK(node.get("/metrics/cadvisor").body == "machine_cpu_cores 2\n");
}

TEST_CASE("statistics are not there without a source") {
  Node node;
  node.start();

  for (const char* path : {"/stats/summary", "/metrics/resource", "/metrics/cadvisor"}) {
    CHECK(node.get(path).status == 404);
  }
}

TEST_CASE("a log is read from its end and refused with the container's state") {
  Node node;
  node.start();
  node.put_pod("web");
  node.put_pod("db", false);
  for (int i = 0; i < 5; ++i) node.logs.line(i);

  CHECK(node.get("/api/v1/namespaces/default/pods/web/log?tailLines=2").body.find("3\n4\n") != std::string::npos);
  CHECK(node.get("/containerLogs/default/web/app").body.find("0\n1\n2\n3\n4\n") != std::string::npos);
  const Answered waiting = node.get("/api/v1/namespaces/default/pods/db/log");
  CHECK(waiting.status == 400);
  CHECK(json_of(waiting)["message"] ==
        "container \"app\" in pod \"db\" is waiting to start: trying and failing to pull image");
  CHECK(node.get("/api/v1/namespaces/default/pods/web/log?tailLines=x").status == 400);
  CHECK(node.get("/api/v1/namespaces/default/pods/web/log?container=other").status == 404);
  CHECK(node.get("/api/v1/namespaces/default/pods/web/log?previous=true").status == 400);
}

// K92
TEST_CASE("a follower gets every line over rotations, until the container ends") {
  Node node;
  node.start();
  node.put_pod("web");
  node.logs.line(0);
  const auto stream =
      node.send(kLocal, "GET /api/v1/namespaces/default/pods/web/log?follow=true HTTP/1.0\r\nHost: x\r\n\r\n");
  std::string all = node.read_until(*stream, "0\n");

  node.logs.line(1);
  node.logs.rotate("20260101-000001");
  node.logs.line(2);
  node.logs.rotate("20260101-000002");
  node.logs.line(3);
  all += node.read_until(*stream, "3\n");
  node.logs.line(4);
  node.put_pod("web", false);
  while (true) {
    const std::string some = node.read(*stream);
    if (some.empty()) break;
    all += some;
  }

  CHECK(all.substr(all.find("\r\n\r\n") + 4) == "0\n1\n2\n3\n4\n");
}

TEST_CASE("a command's input, output, size and exit code go through") {
  Node node;
  node.start();
  node.put_pod("web");
  const auto stream = node.send(
      kLocal, fmt::format("POST /api/v1/namespaces/default/pods/web/exec?command=sh&command=-c&stdin=1&stdout=1&tty=1 "
                          "HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: {}\r\n\r\n",
                          kStreamProtocol));
  const std::string head = node.read_until(*stream, "\r\n\r\n");
  CHECK(head.starts_with("HTTP/1.1 101"));

  std::string sent = to_frame(StreamChannel::kResize, R"({"Width":80,"Height":24})");
  sent += to_frame(StreamChannel::kStdin, "hello") + to_frame(StreamChannel::kStdin, "");
  REQUIRE(run_and_get(node.loop, stream->write_all(std::move(sent), node.loop.now() + 1s)).ok());
  FrameReader reader;
  reader.feed(node.read_until(*stream, "exitCode\":7}"));

  const auto out = reader.next(), result = reader.next();
  CHECK((*out)->channel == StreamChannel::kStdout);
  CHECK((*out)->payload == "hello");
  CHECK((*result)->channel == StreamChannel::kResult);
  CHECK(node.sessions.last.command == std::vector<std::string>{"sh", "-c"});
  CHECK(node.sessions.last.container == ContainerId("c1"));
  CHECK(node.sessions.width == 80);
}

TEST_CASE("attach and port-forward go through, and what cannot be is refused before the upgrade") {
  Node node;
  node.start();
  node.put_pod("web");
  node.put_pod("db", false);
  const auto upgrade = [&node](const std::string& what, const char* protocol) {
    return node.send(kLocal,
                     fmt::format("POST /api/v1/namespaces/default/pods/{} HTTP/1.1\r\nHost: x\r\nContent-Length: "
                                 "0\r\nConnection: Upgrade\r\nUpgrade: {}\r\n\r\n",
                                 what, protocol));
  };

  const auto attached = upgrade("web/attach?stderr=1&stdout=1", kStreamProtocol);
  CHECK(node.read_until(*attached, "exitCode\":0}").find("attached") != std::string::npos);

  const auto forwarded = upgrade("web/portforward?port=8080", kPortProtocol);
  (void)node.read_until(*forwarded, "\r\n\r\n");
  REQUIRE(run_and_get(node.loop, forwarded->write_all("ping", node.loop.now() + 1s)).ok());
  CHECK(node.read_until(*forwarded, "ping") == "echo ping");
  CHECK(node.sessions.last_port == 8080);

  for (const char* what :
       {"db/exec?command=sh&stdout=1", "web/exec?stdout=1", "web/exec?command=sh",
        "web/exec?command=sh&stdout=1&container=x", "web/portforward?port=70000", "nope/attach?stdout=1"}) {
    CAPTURE(what);
    const bool port = std::string_view(what).find("port") != std::string_view::npos;
    const auto stream = upgrade(what, port ? kPortProtocol : kStreamProtocol);
    CHECK(node.read(*stream).starts_with("HTTP/1.1 40"));
  }
  CHECK(node.ask(kLocal, "POST", "/api/v1/namespaces/default/pods/web/exec?command=sh&stdout=1").status == 400);
}
