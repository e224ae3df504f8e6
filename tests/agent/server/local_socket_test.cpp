// The command line's client against the server, over a unix socket of this machine.
#include <doctest/doctest.h>
#include <stdlib.h>
#include <unistd.h>

#include <filesystem>
#include <thread>

#include "agent/cli/cli.h"
#include "agent/cli/client.h"
#include "agent/server/server.h"
#include "base/co/real_loop.h"
#include "base/files/real_tree.h"
#include "base/http/server.h"
#include "base/net/real_net.h"

using namespace podwright;
using namespace podwright::server;

namespace {

class ExitWithSeven final : public StreamSessions {
 public:
  Co<absl::StatusOr<int32_t>> exec(SessionRequest, SessionPeer& peer) override {
    const absl::Status wrote = co_await peer.write_stdout("out\n");
    if (!wrote.ok()) co_return wrote;
    co_return 7;
  }
  Co<absl::Status> attach(SessionRequest, SessionPeer&) override { co_return absl::OkStatus(); }
  Co<absl::Status> port_forward(PodUid, uint16_t, std::unique_ptr<Stream>) override { co_return absl::OkStatus(); }
};

struct TemporaryDirectory {
  std::string path = std::filesystem::temp_directory_path() / "podwright-server-XXXXXX";
  TemporaryDirectory() { REQUIRE(::mkdtemp(path.data()) != nullptr); }
  ~TemporaryDirectory() {
    std::error_code ignored;
    std::filesystem::remove_all(path, ignored);
  }
};

// In production the log is written by the runtime while the container runs; here it is whole from the start.
void write_log(const std::string& path, int lines) {
  std::filesystem::create_directories(std::filesystem::path(path).parent_path());
  FILE* file = std::fopen(path.c_str(), "w");
  REQUIRE(file != nullptr);
  for (int i = 0; i < lines; ++i) {
    std::fputs(fmt::format("2026-01-01T00:00:00.{:09}Z stdout F line {}\n", i, i).c_str(), file);
  }
  std::fclose(file);
}

pods::PodView running_pod() {
  auto pod = std::make_shared<core::Pod>();
  pod->mutable_metadata()->set_name("web");
  pod->mutable_metadata()->set_namespace_("default");
  pod->mutable_metadata()->set_uid("u1");
  pod->mutable_spec()->add_containers()->set_name("app");
  auto status = std::make_shared<core::PodStatus>();
  status->set_phase("Running");
  auto* container = status->add_containerstatuses();
  container->set_name("app");
  container->set_containerid("containerd://c1");
  container->mutable_state()->mutable_running();
  return {.uid = PodUid("u1"),
          .pod = std::move(pod),
          .status = std::move(status),
          .source = pods::SourceKind::kFile,
          .origin = "/m/web.yaml",
          .state = "Syncing",
          .waiting_for = {}};
}

Co<void> close_and_stop(HttpServer& server, RealLoop& loop) {
  co_await server.close(after(loop.now(), std::chrono::seconds(1)));
  loop.stop();
}

}  // namespace

TEST_CASE("commands see, read and enter pods over the local socket") {
  TemporaryDirectory directory;
  const std::string socket = directory.path + "/agent.sock";
  constexpr int kLines = 20'000;
  write_log(directory.path + "/logs/default_web_u1/app/0.log", kLines);
  RealLoop loop;
  RealTree tree(loop);
  RealNet net(loop);
  ThreadOffload offload(loop, 2);
  Steps steps(loop.clock());
  pods::NodeBoard board(loop, "node-1");
  Registry registry;
  ExitWithSeven sessions;
  const auto logs = real_log_files(directory.path + "/logs");
  board.put(running_pod());
  ServerSources sources{.loop = loop,
                        .offload = offload,
                        .steps = steps,
                        .board = board,
                        .registry = registry,
                        .tree = tree,
                        .logs = *logs,
                        .pod_logs_dir = directory.path + "/logs",
                        .events = {},
                        .events_changed = {},
                        .node = {},
                        .configz = {},
                        .sync_loop_entered = {},
                        .summary = {},
                        .sessions = &sessions,
                        .authorize = {}};
  Server server(sources);
  auto listener = net.listen(Endpoint::unix_socket(socket), 0600);
  REQUIRE(listener.ok());
  HttpServer local(loop, *std::move(listener), server.handler(kLocal));
  local.start();
  Scope ending(loop);

  int get = -1, described = -1, missing = -1, exec = -1, lines = 0, followed = 0;
  std::thread person([&] {
    const std::string at = "--local-socket=" + socket;
    get = cli::cli_main({"get", "pods", "-o", "wide", at}, {});
    described = cli::cli_main({"describe", "pod", "web", at}, {});
    missing = cli::cli_main({"describe", "pod", "nope", at}, {});
    exec = cli::cli_main({"exec", "web", at, "--", "true"}, {});
    cli::Client client(socket);
    const std::string target = "/api/v1/namespaces/default/pods/web/log";
    const auto whole = client.send("GET", target);
    if (whole.ok()) lines = static_cast<int>(std::count(whole->body.begin(), whole->body.end(), '\n'));
    // A follower that has seen enough goes away while the container runs on.
    (void)client.stream(target + "?follow=true&tailLines=10", [&followed](std::string_view piece) {
      followed += static_cast<int>(std::count(piece.begin(), piece.end(), '\n'));
      return followed < 10;
    });
    loop.post([&] { ending.spawn("end", close_and_stop(local, loop)); });
  });
  loop.run();
  person.join();

  CHECK(get == 0);
  CHECK(described == 0);
  CHECK(missing == cli::kExitFailed);
  CHECK(exec == 7);
  CHECK(lines == kLines);
  CHECK(followed == 10);
}
