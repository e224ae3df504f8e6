// One exchange of HTTP/1.1 as a client. Nothing is added to the headers that the caller gives except a body's length,
// and no redirect is followed: probes, hooks and sources each have rules of their own.
#pragma once

#include <string>

#include "base/co/loop.h"
#include "base/http/message.h"
#include "base/http/tls.h"
#include "base/http/url.h"
#include "base/limits.h"
#include "base/net/net.h"

namespace podwright {

struct HttpCall {
  std::string method = "GET";
  std::string target = "/";  // escaped
  Headers headers;           // as they go out, Host among them
  std::string body;
};

struct HttpBounds {
  uint32_t header_bytes = limits::kHttpClientHeaderBytes;
  // Of the body: what is kept, and what is read and dropped beyond it.
  std::size_t keep_bytes = limits::kProbeBodyBytes;
  std::size_t drain_bytes = limits::kHttpDrainBytes;
  // How long dropping may go on: the answer is known by then.
  Duration drain_time = 100ms;
};

struct HttpAnswer {
  int status = 0;
  Headers headers;
  std::string body;
  bool truncated = false;  // the body was longer than what is kept
};

// Sends the call and reads the answer. Errors: DeadlineExceeded, Cancelled, Unavailable where the peer ended or reset,
// InvalidArgument where the answer is malformed, ResourceExhausted where its headers are too large. Once what is kept
// of the body is full, nothing is an error. `stream` is not used again afterwards.
Co<absl::StatusOr<HttpAnswer>> http_exchange(Loop& loop, Stream& stream, HttpCall call, HttpBounds bounds,
                                             Instant deadline);

// Dials the URL's host, over TLS where it says https, and makes one exchange. The call's target is the URL's, and its
// Host is set where it has none. Null `tls` with https: InvalidArgument.
Co<absl::StatusOr<HttpAnswer>> http_fetch(Loop& loop, Net& net, Url url, HttpCall call, HttpBounds bounds,
                                          std::shared_ptr<const TlsClient> tls, Instant deadline);

}  // namespace podwright
