// An HTTP/1.1 server over a Listener: one flow for each connection, requests one after the other, every size and every
// wait bounded. It lives on the loop thread; its owner closes it before it dies.
//
//   accept --> wait for a request (idle) --> read it --> handler --> answer --> wait again
//                                                          |---> stream: a body in chunks as it comes
//                                                          `---> 101: the raw connection goes to the handler's
//                                                          `upgrade`
#pragma once

#include <list>
#include <memory>
#include <string>

#include "base/co/scope.h"
#include "base/http/message.h"
#include "base/http/router.h"
#include "base/limits.h"
#include "base/log/log.h"
#include "base/net/net.h"

namespace podwright {

// A connection once it is secured.
struct SecuredStream {
  std::unique_ptr<Stream> stream;
  // The client's verified chain in PEM, leaf first; empty without a certificate.
  std::string client_certificates_pem;
};

struct HttpServerOptions {
  std::string name = "http";  // for people
  uint32_t header_bytes = limits::kHttpServerHeaderBytes;
  std::size_t body_bytes = limits::kHttpServerBodyBytes;
  std::size_t connections = limits::kHttpServerConnections;
  // Between two requests. Source: the kubelet's servers, pkg/kubelet/server/server.go.
  Duration idle = 90s;
  // From the first byte of a request to its last.
  Duration request = 60s;
  // For an answer to be taken; of a streaming body for one write: a person may have stopped a pager.
  Duration answer = 60s;
  Duration stream_write = 15min;
  // Null: cleartext. Else done to each new connection first, with `request` as its bound.
  std::function<Co<absl::StatusOr<SecuredStream>>(std::unique_ptr<Stream>, Instant)> secure;
};

class HttpServer {
 public:
  // `handler` is called for each request, on the loop; what it refers to outlives the server.
  HttpServer(Loop& loop, std::unique_ptr<Listener> listener, HttpHandler handler, HttpServerOptions options = {});
  ~HttpServer();

  void start();
  Endpoint local() const { return local_; }
  std::size_t connections() const { return connections_.size(); }

  // Takes no more connections, ends idle ones and streaming bodies at once, lets other answers and upgraded connections
  // go on until the deadline, and cuts them then. Afterwards no flow of the server runs.
  Co<void> close(Instant deadline);

 private:
  struct Connection;
  class ChunkWriter;
  using ConnectionPtr = std::shared_ptr<Connection>;

  Co<void> accept_all();
  Co<void> serve_connection(ConnectionPtr connection, Slots::Slot slot);
  Co<void> serve_requests(ConnectionPtr connection);
  Co<bool> wait_for_request(ConnectionPtr connection);
  Co<absl::StatusOr<HttpRequest>> read_request(ConnectionPtr connection);
  Co<bool> answer(ConnectionPtr connection, bool head, int minor_version, HttpResponse response);
  Co<bool> answer_stream(ConnectionPtr connection, std::string head, bool chunked, HttpResponse response);
  Co<void> refuse(ConnectionPtr connection, int status, std::string why);
  Co<void> run_part(ConnectionPtr connection, Co<void> part);
  static Co<void> read_first(ConnectionPtr connection, Instant deadline);
  static Co<void> watch_client(ConnectionPtr connection, std::shared_ptr<Scope> body);
  Instant soon(Duration time) { return after(loop_.now(), time); }

  Loop& loop_;
  std::unique_ptr<Listener> listener_;
  Endpoint local_;
  HttpHandler handler_;
  HttpServerOptions options_;
  LogSubject who_;
  Slots slots_;
  std::list<ConnectionPtr> connections_;
  bool closing_ = false;
  Scope accepting_;
  Scope scope_;
};

}  // namespace podwright
