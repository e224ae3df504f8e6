// A small HTTP/2 server for tests, on nghttp2's server side: answers each request with what a function gives.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "base/http/message.h"
#include "base/net/net.h"

namespace podwright {

struct PeerRequest {
  Headers headers;  // pseudo headers among them
  std::string body;
};

struct PeerAnswer {
  Headers headers;  // with ":status"
  std::string body;
  Headers trailers;
  bool never = false;  // no answer at all
  uint32_t reset = 0;  // instead: this error
};

using PeerScript = std::function<PeerAnswer(const PeerRequest&)>;

// Serves until the client ends. `cancelled` counts streams that the client reset.
Co<void> serve_http2(std::unique_ptr<Stream> stream, PeerScript script, int* cancelled);

}  // namespace podwright
