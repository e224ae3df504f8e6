// An HTTP/2 client on one connection: cleartext with prior knowledge, or over a TlsClient with ALPN "h2". Many streams
// run at once; the peer may send of each as much as its window, which opens again as the answer is read. nghttp2 below,
// on memory. It lives on the loop thread; its owner closes it before it dies.
//
//   Http2Connection connection(loop, std::move(stream));
//   connection.start();
//   auto asked = connection.open(std::move(request));
//   const absl::Status headed = co_await (*asked)->wait_for_headers(deadline);
//   ... (*asked)->read_some(deadline) until it gives an empty string; then trailers().
#pragma once

#include <absl/status/statusor.h>

#include <memory>
#include <string>

#include "base/co/bell.h"
#include "base/co/scope.h"
#include "base/http/message.h"
#include "base/net/net.h"

namespace podwright {

struct Http2Request {
  std::string method = "GET";
  std::string scheme = "http";
  std::string authority;
  std::string path = "/";
  Headers headers;  // names go out in lower case
  std::string body;
};

// One request and its answer. Dropping it cancels the request where it is not over. One reader.
class Http2Stream {
 public:
  virtual ~Http2Stream() = default;
  // Until the answer's status and headers are there. Unavailable: the connection or the stream was ended by the peer.
  virtual Co<absl::Status> wait_for_headers(Instant deadline) = 0;
  virtual int status() const = 0;
  virtual const Headers& headers() const = 0;
  // At least one byte of the body, or an empty string at its end.
  virtual Co<absl::StatusOr<std::string>> read_some(Instant deadline) = 0;
  // Complete once the body's end was read.
  virtual const Headers& trailers() const = 0;
};

class Http2Connection {
 public:
  Http2Connection(Loop& loop, std::unique_ptr<Stream> stream);
  ~Http2Connection();
  Http2Connection(const Http2Connection&) = delete;
  Http2Connection& operator=(const Http2Connection&) = delete;

  void start();

  // Starts a request. Unavailable once the connection has ended or takes no more streams: a new one is needed.
  absl::StatusOr<std::unique_ptr<Http2Stream>> open(Http2Request request);

  // OK while it serves; else why it ended. Its streams end with the same.
  const absl::Status& state() const;
  // Sends a ping and waits for the answer: whether the peer is there.
  Co<absl::Status> ping(Instant deadline);

  // Says goodbye where that needs no wait, ends all streams and joins the connection's flows.
  Co<void> close();

 private:
  struct Session;
  std::shared_ptr<Session> session_;
  Scope scope_;
};

}  // namespace podwright
