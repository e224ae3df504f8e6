// The client and whole commands against a socket that answers fixed bytes.
#include <doctest/doctest.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <thread>

#include "agent/cli/cli.h"
#include "agent/cli/client.h"
#include "agent/cli/command.h"
#include "base/frames/frames.h"

using namespace podwright;
using namespace podwright::cli;

namespace {

class TemporaryDirectory {
 public:
  TemporaryDirectory() {
    std::string name = std::filesystem::temp_directory_path() / "podwright-cli-XXXXXX";
    REQUIRE(::mkdtemp(name.data()) != nullptr);
    path_ = name;
  }
  ~TemporaryDirectory() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  std::string at(const std::string& name) const { return path_ + "/" + name; }
  std::string write(const std::string& name, const std::string& text) const {
    std::ofstream(at(name)) << text;
    return at(name);
  }
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

// Answers each connection with the next of `answers` once the request's headers are there, and keeps the requests.
class FixedAgent {
 public:
  explicit FixedAgent(std::vector<std::string> answers) : answers_(std::move(answers)) {
    fd_ = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    std::strncpy(address.sun_path, path().c_str(), sizeof address.sun_path - 1);
    REQUIRE(::bind(fd_, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0);
    REQUIRE(::listen(fd_, 8) == 0);
    thread_ = std::thread([this] { serve(); });
  }
  ~FixedAgent() {
    ::shutdown(fd_, SHUT_RDWR);
    thread_.join();
    ::close(fd_);
  }
  std::string path() const { return directory_.at("agent.sock"); }
  // After the last answer was read.
  std::vector<std::string> requests() {
    ::shutdown(fd_, SHUT_RDWR);
    if (thread_.joinable()) thread_.join();
    thread_ = std::thread([] {});
    return requests_;
  }

 private:
  void serve() {
    for (const std::string& answer : answers_) {
      const int connection = ::accept(fd_, nullptr, nullptr);
      if (connection < 0) return;
      std::string request;
      char bytes[4096];
      while (request.find("\r\n\r\n") == std::string::npos) {
        const ssize_t got = ::read(connection, bytes, sizeof bytes);
        if (got <= 0) break;
        request.append(bytes, static_cast<std::size_t>(got));
      }
      requests_.push_back(request);
      (void)!::write(connection, answer.data(), answer.size());
      ::close(connection);
    }
  }

  TemporaryDirectory directory_;
  std::vector<std::string> answers_, requests_;
  int fd_;
  std::thread thread_;
};

std::string answer(int status, const std::string& body) {
  return fmt::format("HTTP/1.1 {} X\r\nContent-Length: {}\r\n\r\n{}", status, body.size(), body);
}

int run(std::vector<std::string> args, const OfflineFunctions& checks = {}) {
  return cli_main(args, checks);
}

}  // namespace

TEST_CASE("an answer is read whole, by its length, in chunks, or to the end") {
  FixedAgent agent({answer(200, "hello"),
                    "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nhel\r\n2\r\nlo\r\n0\r\n\r\n",
                    "HTTP/1.0 200 OK\r\n\r\nhello"});
  Client client(agent.path());

  for (int i = 0; i < 3; ++i) {
    const auto reply = client.send("GET", "/x");
    REQUIRE_MESSAGE(reply.ok(), reply.status().ToString());
    CHECK(reply->body == "hello");
  }
}

TEST_CASE("an answer that is cut off is an error") {
  FixedAgent agent({"HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhel",
                    "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nhe", "HTTP/1.1 200"});
  Client client(agent.path());

  for (int i = 0; i < 3; ++i) CHECK(!client.send("GET", "/x").ok());
}

TEST_CASE("a refusal has the agent's own words") {
  FixedAgent agent({answer(404, R"({"kind":"Status","message":"pods \"web\" not found","code":404})"),
                    answer(400, "Upgrade request required\n")});
  Client client(agent.path());

  const auto found = fetch(client, "/x");
  CHECK(absl::IsNotFound(found.status()));
  CHECK(found.status().message() == "pods \"web\" not found");
  const auto upgraded = client.upgrade("/x", "p");
  CHECK(upgraded.status().message() == "Upgrade request required");
}

TEST_CASE("an upgraded connection keeps the bytes that came behind the headers") {
  FixedAgent agent({"HTTP/1.1 101 Switching Protocols\r\nUpgrade: p\r\nConnection: Upgrade\r\n\r\nearly"});
  Client client(agent.path());

  const auto upgraded = client.upgrade("/x", "p");

  REQUIRE(upgraded.ok());
  std::string all = upgraded->early;
  char bytes[16];
  while (true) {
    const ssize_t got = ::read(upgraded->fd, bytes, sizeof bytes);
    if (got <= 0) break;
    all.append(bytes, static_cast<std::size_t>(got));
  }
  ::close(upgraded->fd);
  CHECK(all == "early");
}

TEST_CASE("commands ask for what their words and flags say") {
  const std::string list = R"({"kind":"PodList","items":[{"metadata":{"name":"web","namespace":"default"}}]})";
  struct {
    std::vector<std::string> args;
    const char* request;
    std::string body;
  } const rows[] = {
      {{"get", "pods"}, "GET /api/v1/namespaces/default/pods HTTP/1.1", list},
      {{"get", "po", "-A", "-o", "wide"}, "GET /api/v1/pods HTTP/1.1", list},
      {{"get", "pods", "web", "-n", "a b", "-o", "yaml"}, "GET /api/v1/namespaces/a%20b/pods HTTP/1.1", list},
      {{"get", "pod/web", "-o", "name"}, "GET /api/v1/namespaces/default/pods HTTP/1.1", list},
      {{"get", "pods", "-w"}, "GET /api/v1/namespaces/default/pods?watch=true HTTP/1.1", ""},
      {{"get", "nodes", "-o", "json"}, "GET /api/v1/nodes HTTP/1.1", R"({"items":[]})"},
      {{"get", "events"}, "GET /api/v1/namespaces/default/events HTTP/1.1", R"({"items":[{"reason":"Started"}]})"},
      {{"logs", "web", "-f", "--tail=5", "--since", "1h30m", "-c", "app"},
       "GET /api/v1/namespaces/default/pods/web/log?container=app&follow=true&tailLines=5&sinceSeconds=5400 HTTP/1.1",
       "line\n"},
      {{"top", "pods"}, "GET /stats/summary HTTP/1.1", R"({"pods":[]})"},
      {{"top", "node"},
       "GET /stats/summary HTTP/1.1",
       R"({"node":{"nodeName":"n","cpu":{"usageNanoCores":5},"memory":{"workingSetBytes":1,"availableBytes":3}}})"},
      {{"waits"}, "GET /debug/waits HTTP/1.1", R"({"waits":[]})"},
      {{"log-level", "4"}, "PUT /debug/flags/v HTTP/1.1", "successfully set"},
      {{"version"}, "GET /version HTTP/1.1", R"({"podwright":"1"})"},
  };

  for (const auto& row : rows) {
    CAPTURE(row.request);
    FixedAgent agent({answer(200, row.body)});
    std::vector<std::string> args = row.args;
    args.push_back("--local-socket=" + agent.path());

    CHECK(run(args) == 0);

    const auto requests = agent.requests();
    REQUIRE(requests.size() == 1);
    CHECK(requests[0].substr(0, requests[0].find("\r\n")) == row.request);
  }
}

TEST_CASE("exit codes tell what went wrong") {
  TemporaryDirectory directory;
  const std::string socket = "--local-socket=" + directory.at("none.sock");
  CHECK(run({"get", "pods", socket}) == kExitNoAgent);
  CHECK(run({"get"}) == kExitUsage);
  CHECK(run({"get", "secrets"}) == kExitUsage);
  CHECK(run({"get", "pods", "-o", "xml"}) == kExitUsage);
  CHECK(run({"get", "pods", "--nonsense"}) == kExitUsage);
  CHECK(run({"gett", "pods"}) == kExitUsage);
  CHECK(run({"logs", "web", "--since=soon"}) == kExitUsage);
  CHECK(run({"exec", "web"}) == kExitUsage);
  CHECK(run({"port-forward", "web", "x:y", socket}) == kExitNoAgent);
  CHECK(run({"help"}) == 0);
  CHECK(run({"help", "exec"}) == 0);
  CHECK(run({"logs", "--help"}) == 0);

  FixedAgent agent({answer(404, R"({"message":"pods \"web\" not found"})")});
  CHECK(run({"logs", "web", "--local-socket=" + agent.path()}) == kExitFailed);
}

TEST_CASE("exec ends with its command's exit code") {
  FixedAgent agent({std::string("HTTP/1.1 101 X\r\nUpgrade: p\r\nConnection: Upgrade\r\n\r\n") +
                    to_frame(StreamChannel::kStdout, "out\n") + to_frame(StreamChannel::kResult, R"({"exitCode":7})")});

  CHECK(run({"exec", "web", "--local-socket=" + agent.path(), "--", "sh", "-c", "exit 7"}) == 7);

  CHECK(agent.requests()[0].starts_with(
      "POST /api/v1/namespaces/default/pods/web/exec?command=sh&command=-c&command=exit%207&stdout=1&stderr=1 "));
}

TEST_CASE("check looks at a file or at all files of a directory") {
  TemporaryDirectory directory;
  directory.write("good.yaml", "kind: Pod");
  const std::string bad = directory.write("bad.yaml", "kind: Pud");
  directory.write(".hidden", "kind: Pud");
  std::vector<std::string> seen;
  OfflineFunctions checks;
  checks.document = [&seen](std::string_view text) -> std::vector<std::string> {
    seen.emplace_back(text);
    if (text == "kind: Pod") return {};
    return {"line 1: kind: unknown"};
  };

  CHECK(run({"check", directory.at("good.yaml")}, checks) == 0);
  CHECK(run({"check", bad}, checks) == kExitFailed);
  CHECK(run({"check", directory.path()}, checks) == kExitFailed);
  CHECK(run({"check", directory.at("missing.yaml")}, checks) == kExitFailed);
  CHECK(run({"check"}, checks) == kExitUsage);
  CHECK(seen.size() == 4);
}

TEST_CASE("times of --since are read as sums") {
  CHECK(since_seconds("90s") == 90);
  CHECK(since_seconds("1h30m") == 5400);
  CHECK(since_seconds("2h") == 7200);
  for (const char* wrong : {"", "5", "m", "5x", "-5m", "0s"}) CHECK(!since_seconds(wrong));
}

TEST_CASE("state asks the table below the root directory, and is called with its own words only") {
  std::vector<std::string> asked;
  OfflineFunctions offline;
  offline.state = [&asked](const StateQuery& query) -> absl::StatusOr<std::string> {
    asked.push_back(fmt::format("{} {} {}", static_cast<int>(query.kind), query.root_dir, query.pod));
    if (query.kind == StateQuery::Kind::kCheck) return absl::DataLossError("a page is torn");
    return "text\n";
  };

  CHECK(cli_main({"state"}, offline) == 0);
  CHECK(cli_main({"state", "show", "pod/web", "--root-dir=/x"}, offline) == 0);
  CHECK(cli_main({"state", "export"}, offline) == 0);
  CHECK(cli_main({"state", "check"}, offline) == kExitFailed);
  CHECK(cli_main({"state", "burn"}, offline) == kExitUsage);
  CHECK(cli_main({"state", "check", "web"}, offline) == kExitUsage);
  CHECK(asked ==
        std::vector<std::string>{"0 /var/lib/kubelet ", "0 /x web", "2 /var/lib/kubelet ", "1 /var/lib/kubelet "});
}
