// exec, attach and port-forward over the local socket: the upgraded connection carries frames (base/frames) or, for
// port-forward, the bytes themselves.
#include <absl/strings/numbers.h>

#include <nlohmann/json.hpp>

#include "agent/server/handlers.h"
#include "base/frames/frames.h"
#include "base/log/log.h"
#include "base/status/annotate.h"

namespace podwright::server {
namespace {

constexpr std::size_t kReadBytes = 64 << 10;

class FramePeer final : public SessionPeer {
 public:
  explicit FramePeer(Stream& stream) : stream_(stream) {}

  Co<absl::StatusOr<SessionInput>> next() override {
    while (true) {
      auto frame = reader_.next();
      if (!frame.ok()) co_return frame.status();
      if (*frame) {
        auto input = to_input(**std::move(frame));
        if (input) co_return *std::move(input);
        continue;
      }
      auto bytes = co_await stream_.read_some(kReadBytes, Instant::max());
      if (!bytes.ok()) co_return bytes.status();
      if (bytes->empty()) co_return absl::UnavailableError("the client is gone");
      reader_.feed(*bytes);
    }
  }

  Co<absl::Status> write_stdout(std::string bytes) override {
    std::string frame = to_frame(StreamChannel::kStdout, bytes);
    co_return co_await stream_.write_all(std::move(frame), Instant::max());
  }

  Co<absl::Status> write_stderr(std::string bytes) override {
    std::string frame = to_frame(StreamChannel::kStderr, bytes);
    co_return co_await stream_.write_all(std::move(frame), Instant::max());
  }

 private:
  // Nothing for a frame that says nothing to us.
  static std::optional<SessionInput> to_input(Frame frame) {
    if (frame.channel == StreamChannel::kStdin) {
      const auto kind = frame.payload.empty() ? SessionInput::Kind::kStdinEnd : SessionInput::Kind::kStdin;
      return SessionInput{kind, std::move(frame.payload), 0, 0};
    }
    if (frame.channel != StreamChannel::kResize) return std::nullopt;
    const auto size = nlohmann::json::parse(frame.payload, nullptr, false);
    if (!size.is_object()) return std::nullopt;
    const auto side = [&size](const char* key) -> uint16_t {
      const auto found = size.find(key);
      return found != size.end() && found->is_number_unsigned() ? found->get<uint16_t>() : 0;
    };
    return SessionInput{SessionInput::Kind::kResize, {}, side("Width"), side("Height")};
  }

  Stream& stream_;
  FrameReader reader_;
};

bool is_on(const HttpRequest& request, std::string_view key) {
  const auto value = request.query_value(key);
  return value && (*value == "1" || *value == "true");
}

bool asks_for(const HttpRequest& request, std::string_view protocol) {
  return request.headers.has_token("Connection", "upgrade") &&
         equal_no_case(request.headers.get("Upgrade").value_or(""), protocol);
}

HttpResponse switching(std::string_view protocol) {
  HttpResponse response;
  response.status = 101;
  response.headers.set("Connection", "Upgrade");
  response.headers.set("Upgrade", std::string(protocol));
  return response;
}

// "containerd://abc" to "abc".
ContainerId plain_id(const std::string& id) {
  const auto scheme = id.find("://");
  return ContainerId(scheme == std::string::npos ? id : id.substr(scheme + 3));
}

}  // namespace

Co<HttpResponse> Handlers::exec(HttpRequest request) {
  return session(std::move(request), true);
}

Co<HttpResponse> Handlers::attach(HttpRequest request) {
  return session(std::move(request), false);
}

Co<HttpResponse> Handlers::session(HttpRequest request, bool exec) {
  if (sources_.sessions == nullptr) co_return failure(501, "NotImplemented", "this agent has no streaming client");
  if (!asks_for(request, kStreamProtocol)) co_return failure(400, "BadRequest", "Upgrade request required");
  const std::string name = request.param("name");
  const pods::PodViewPtr view = find_pod(request.param("ns"), name);
  if (!view) co_return failure(404, "NotFound", fmt::format("pods \"{}\" not found", name));
  const auto container = container_of(*view->pod, request.query_value("container").value_or(""));
  if (!container.ok()) co_return failure(container.status());
  const core::ContainerStatus* status = view->status ? find_status(*view->status, *container) : nullptr;
  if (status == nullptr || !status->state().has_running()) {
    co_return failure(400, "BadRequest", fmt::format("container {} of pod {} does not run", *container, name));
  }
  SessionRequest wanted;
  wanted.pod = view->uid;
  wanted.container = plain_id(status->containerid());
  wanted.stdin = is_on(request, "stdin");
  wanted.stdout = is_on(request, "stdout");
  wanted.tty = is_on(request, "tty");
  wanted.stderr = is_on(request, "stderr") && !wanted.tty;
  if (!wanted.stdin && !wanted.stdout && !wanted.stderr) {
    co_return failure(400, "BadRequest", "you must specify at least 1 of stdin, stdout, stderr");
  }
  if (exec) {
    wanted.command = request.query_values("command");
    if (wanted.command.empty()) co_return failure(400, "BadRequest", "you must specify a command");
  }
  HttpResponse response = switching(kStreamProtocol);
  response.upgrade = [this, wanted, exec](std::unique_ptr<Stream> stream) {
    return run_session(wanted, exec, std::move(stream));
  };
  co_return response;
}

Co<void> Handlers::run_session(SessionRequest request, bool exec, std::unique_ptr<Stream> stream) {
  FramePeer peer(*stream);
  std::string result;
  if (exec) {
    const auto code = co_await sources_.sessions->exec(std::move(request), peer);
    result = code.ok() ? fmt::format(R"({{"exitCode":{}}})", *code)
                       : fmt::format(R"({{"error":{}}})", json_text(text_of(code.status())));
  } else {
    const absl::Status ended = co_await sources_.sessions->attach(std::move(request), peer);
    result = ended.ok() ? R"({"exitCode":0})" : fmt::format(R"({{"error":{}}})", json_text(text_of(ended)));
  }
  std::string frame = to_frame(StreamChannel::kResult, result);
  // The client may have gone first: it needs no result then.
  const absl::Status told = co_await stream->write_all(std::move(frame), sources_.loop.now() + std::chrono::seconds(5));
  if (!told.ok()) log_v(4, {}, "a session's client left before its result", {{"error", text_of(told)}});
}

Co<HttpResponse> Handlers::port_forward(HttpRequest request) {
  if (sources_.sessions == nullptr) co_return failure(501, "NotImplemented", "this agent has no streaming client");
  if (!asks_for(request, kPortProtocol)) co_return failure(400, "BadRequest", "Upgrade request required");
  const std::string name = request.param("name");
  const pods::PodViewPtr view = find_pod(request.param("ns"), name);
  if (!view) co_return failure(404, "NotFound", fmt::format("pods \"{}\" not found", name));
  int port = 0;
  if (!absl::SimpleAtoi(request.query_value("port").value_or(""), &port) || port < 1 || port > 65535) {
    co_return failure(400, "BadRequest", "port: must be a number from 1 to 65535");
  }
  HttpResponse response = switching(kPortProtocol);
  response.upgrade = [this, uid = view->uid, port](std::unique_ptr<Stream> stream) {
    return forward_port(uid, static_cast<uint16_t>(port), std::move(stream));
  };
  co_return response;
}

Co<void> Handlers::forward_port(PodUid pod, uint16_t port, std::unique_ptr<Stream> client) {
  const absl::Status ended = co_await sources_.sessions->port_forward(std::move(pod), port, std::move(client));
  if (!ended.ok()) log_v(2, {}, "a forwarded connection failed", {{"port", port}, {"error", text_of(ended)}});
}

}  // namespace podwright::server
