// Server: answers gRPC calls with coroutines, on the poller's one thread and the loop. Each call is a flow of its own,
// cancelled when its client goes away or the server closes.
//
//   Services services;
//   services.unary<RegisterRequest, Empty>("/v1beta1.Registration/Register", [this](RegisterRequest r) {
//     return add(std::move(r));                         // Co<absl::StatusOr<Empty>>
//   });
//   services.stream<ListRequest, ListResponse>("/v1beta1.X/Watch", [this](ListRequest r, Writer<ListResponse> out) {
//     return watch(std::move(r), std::move(out));       // Co<absl::Status>; OK ends the stream well
//   });
//   auto server = Server::listen(poller, "unix:/run/x.sock", std::move(services));
//   ...
//   co_await (*server)->close();
#pragma once

#include <absl/status/status.h>
#include <absl/status/statusor.h>

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>

#include "base/co/scope.h"
#include "base/rpc/payload.h"
#include "base/rpc/poller.h"

namespace podwright::rpc {

class ServerCall;  // the inside of a call

// Where a streaming handler writes.
class RawWriter {
 public:
  explicit RawWriter(std::shared_ptr<ServerCall> call) : call_(std::move(call)) {}
  // Returns once the transport took the message. Cancelled where the client is gone or the server closes;
  // DeadlineExceeded where the client did not read in time, which ends the call.
  Co<absl::Status> write(Payload message, Instant deadline);

 private:
  std::shared_ptr<ServerCall> call_;
};

template <class Response>
class Writer {
 public:
  explicit Writer(RawWriter raw) : raw_(std::move(raw)) {}
  Co<absl::Status> write(const Response& message, Instant deadline = Instant::max()) {
    return raw_.write(Payload::encode(message), deadline);
  }

 private:
  RawWriter raw_;
};

// What a server answers, by the path of the method; anything else is Unimplemented. Handlers are plain functions that
// return a coroutine (no coroutine lambdas with captures).
class Services {
 public:
  using Unary = std::function<Co<absl::StatusOr<Payload>>(Payload)>;
  using Stream = std::function<Co<absl::Status>(Payload, RawWriter)>;
  struct Method {
    Unary unary;
    Stream stream;  // instead
  };

  template <class Request, class Response>
  void unary(std::string path, std::function<Co<absl::StatusOr<Response>>(Request)> handler) {
    methods_[std::move(path)].unary = [handler = std::move(handler)](Payload request) {
      return answer<Request, Response>(handler, std::move(request));
    };
  }

  template <class Request, class Response>
  void stream(std::string path, std::function<Co<absl::Status>(Request, Writer<Response>)> handler) {
    methods_[std::move(path)].stream = [handler = std::move(handler)](Payload request, RawWriter out) {
      return feed<Request, Response>(handler, std::move(request), std::move(out));
    };
  }

  const Method* find(const std::string& path) const {
    const auto found = methods_.find(path);
    return found == methods_.end() ? nullptr : &found->second;
  }

 private:
  template <class Request, class Response>
  static Co<absl::StatusOr<Payload>> answer(std::function<Co<absl::StatusOr<Response>>(Request)> handler,
                                            Payload payload) {
    Request request;
    if (!payload.decode(request)) co_return absl::InvalidArgumentError("the request cannot be read");
    absl::StatusOr<Response> response = co_await handler(std::move(request));
    if (!response.ok()) co_return response.status();
    co_return Payload::encode(*response);
  }

  template <class Request, class Response>
  static Co<absl::Status> feed(std::function<Co<absl::Status>(Request, Writer<Response>)> handler, Payload payload,
                               RawWriter out) {
    Request request;
    if (!payload.decode(request)) co_return absl::InvalidArgumentError("the request cannot be read");
    Writer<Response> writer(std::move(out));
    co_return co_await handler(std::move(request), std::move(writer));
  }

  std::map<std::string, Method> methods_;
};

struct ServerOptions {
  // Calls at work at once; more are refused with ResourceExhausted.
  std::size_t concurrent = 256;
  // Of a unix socket's file.
  mode_t mode = 0600;
};

class Server {
 public:
  // `address`: "unix:/run/x.sock" (a socket that stands there already is replaced) or "127.0.0.1:0".
  static absl::StatusOr<std::unique_ptr<Server>> listen(Poller& poller, const std::string& address, Services services,
                                                        ServerOptions options = {});
  // Cuts what close() did not end.
  ~Server();
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;

  // Takes no more calls, cancels and joins the handlers, and ends the listener. The socket's file is gone then.
  Co<void> close();

  // The bound port; 0 of a unix socket.
  int port() const { return port_; }
  std::size_t calls() const;

 private:
  struct State;
  explicit Server(std::shared_ptr<State> state, int port) : state_(std::move(state)), port_(port) {}
  std::shared_ptr<State> state_;
  int port_;
};

}  // namespace podwright::rpc
