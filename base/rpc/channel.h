// Channel: calls to one gRPC server as coroutines. Each call has our own deadline; gRPC's is a backstop one second
// later. Cancelling the caller, or the deadline, cancels the call in gRPC and waits for its (prompt) end, so nothing of
// it is left behind. Messages are protobuf; methods are named by their path ("/runtime.v1.RuntimeService/Version").
#pragma once

#include <absl/status/status.h>
#include <absl/status/statusor.h>
#include <google/protobuf/message_lite.h>

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "base/co/bell.h"
#include "base/co/loop.h"
#include "base/rpc/poller.h"

namespace podwright::rpc {

class Channel {
 public:
  // `target`: "unix:///run/containerd/containerd.sock" or "host:port". Connects when first used, and again with
  // back-off (100 ms to 5 s) whenever the socket went and comes.
  Channel(Loop& loop, Poller& poller, std::string target);
  ~Channel();

  Co<absl::Status> call(std::string method, std::string request, std::string* response, Instant deadline,
                        std::map<std::string, std::string> metadata = {});

  template <class Response, class Request>
  Co<absl::StatusOr<Response>> unary(std::string method, Request request, Instant deadline) {
    std::string bytes = request.SerializeAsString();
    std::string answer;
    const absl::Status status = co_await call(std::move(method), std::move(bytes), &answer, deadline);
    if (!status.ok()) co_return status;
    Response response;
    if (!response.ParseFromString(answer)) co_return absl::InternalError("the answer is no message of its type");
    co_return response;
  }

  // A server stream: hands each message to `sink` until the stream ends, the caller is cancelled, or `sink` says false.
  // The status is the stream's end (OK where the server ended it well). `opened` is called once the call is accepted
  // by the transport (initial metadata or the first message came).
  Co<absl::Status> stream(std::string method, std::string request, std::function<bool(const std::string&)> sink,
                          std::function<void()> opened);

  const std::string& target() const { return target_; }

 private:
  struct State;
  Loop& loop_;
  Poller& poller_;
  std::string target_;
  std::shared_ptr<State> state_;
};

}  // namespace podwright::rpc
