// Channel: calls to one gRPC server as coroutines. Each call has our own deadline; gRPC's is a backstop one second
// later. Cancelling the caller, or the deadline, cancels the call in gRPC and waits for its (prompt, local) end, so
// that nothing of it is left behind. Messages are protobuf; methods are named by their path
// ("/runtime.v1.RuntimeService/Version").
//
// A call to a server that is not there fails with Unavailable as soon as a connection was tried; with `wait_for_ready`
// it waits for the server until its deadline.
#pragma once

#include <absl/status/status.h>
#include <absl/status/statusor.h>

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "base/rpc/payload.h"
#include "base/rpc/poller.h"

namespace podwright::rpc {

enum class Connectivity { kIdle, kConnecting, kReady, kFailing, kShut };

struct ChannelOptions {
  Duration first_backoff = std::chrono::milliseconds(100);
  Duration longest_backoff = std::chrono::seconds(5);
  // One attempt to connect, up to the end of the HTTP/2 handshake.
  Duration connect = std::chrono::seconds(5);
};

struct CallOptions {
  bool wait_for_ready = false;
  // Sent along: "containerd-namespace".
  std::map<std::string, std::string> metadata;
};

class StreamCall;  // the inside of a Reader

// A server's stream of messages, as bytes.
class RawReader {
 public:
  explicit RawReader(std::shared_ptr<StreamCall> call);
  // Cuts the call where it has not ended.
  ~RawReader();
  RawReader(RawReader&&) noexcept;
  RawReader& operator=(RawReader&&) noexcept;

  // The next message; nothing where the server ended the stream well; its error otherwise, at each further call too.
  // DeadlineExceeded or Cancelled leave the stream as it is: the message then comes with the next call.
  Co<absl::StatusOr<std::optional<Payload>>> next(Instant deadline = Instant::max());

  // Cuts the call and waits for its end.
  Co<void> close();

 private:
  std::shared_ptr<StreamCall> call_;
};

template <class Response>
class Reader {
 public:
  explicit Reader(RawReader raw) : raw_(std::move(raw)) {}

  // See RawReader::next().
  Co<absl::StatusOr<std::optional<Response>>> next(Instant deadline = Instant::max()) {
    absl::StatusOr<std::optional<Payload>> bytes = co_await raw_.next(deadline);
    if (!bytes.ok()) co_return bytes.status();
    if (!*bytes) co_return std::nullopt;
    Response message;
    if (!(*bytes)->decode(message)) co_return absl::UnknownError("a message of the stream cannot be read");
    co_return std::optional<Response>(std::move(message));
  }
  Co<void> close() { return raw_.close(); }

 private:
  RawReader raw_;
};

class Channel {
 public:
  // `target`: "unix:///run/containerd/containerd.sock" or "host:port", in plain text. Connects when first used, and
  // again with back-off whenever the server went.
  Channel(Poller& poller, std::string target, ChannelOptions options = {});
  ~Channel();
  Channel(const Channel&) = delete;
  Channel& operator=(const Channel&) = delete;

  Co<absl::StatusOr<Payload>> call(std::string method, Payload request, Instant deadline, CallOptions options = {});

  // One request, one response. Unknown where the response cannot be read: the call may have had its effect.
  template <class Response, class Request>
  Co<absl::StatusOr<Response>> unary(std::string method, Request request, Instant deadline, CallOptions options = {}) {
    Payload bytes = Payload::encode(request);
    absl::StatusOr<Payload> answer = co_await call(std::move(method), std::move(bytes), deadline, std::move(options));
    if (!answer.ok()) co_return answer.status();
    Response response;
    if (!answer->decode(response)) co_return absl::UnknownError("the answer cannot be read");
    co_return response;
  }

  // One request, a stream of responses. The call starts at once; what becomes of it is told by next().
  template <class Response, class Request>
  Reader<Response> read(const std::string& method, const Request& request, CallOptions options = {}) {
    return Reader<Response>(open_stream(method, Payload::encode(request), std::move(options)));
  }
  RawReader open_stream(const std::string& method, Payload request, CallOptions options = {});

  Connectivity connectivity() const;
  // Forgets the back-off: for who knows that the server is back.
  void reconnect_now();

  const std::string& target() const { return target_; }
  Loop& loop() const { return loop_; }

 private:
  struct State;
  Loop& loop_;
  std::string target_;
  std::shared_ptr<State> state_;
};

}  // namespace podwright::rpc
