// The way from a streaming URL of the runtime to a connection that speaks SPDY or whatever else was asked for.
#pragma once

#include <absl/status/statusor.h>

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/co/co.h"
#include "base/net/net.h"

namespace podwright::cri {

// Where a streaming URL ("http://127.0.0.1:40321/exec/TOKEN") leads.
struct StreamingUrl {
  Endpoint endpoint;
  std::string host;    // for the Host header
  std::string target;  // path and query
};

// Unimplemented of https: runtimes serve it on loopback in plain text unless told otherwise. InvalidArgument where it
// is no URL.
absl::StatusOr<StreamingUrl> parse_streaming_url(std::string_view url);

// A connection after its upgrade, and what of it was read already.
struct Upgraded {
  std::unique_ptr<Stream> stream;
  std::string rest;
  std::string protocol;  // the X-Stream-Protocol-Version that the server chose
};

// POSTs to the URL, asking for SPDY/3.1 with one of `protocols`. An answer other than 101 is an error with its text:
// NotFound of 404 (a token lives for one minute and one use), else Unavailable.
Co<absl::StatusOr<Upgraded>> upgrade(Net& net, std::string url, std::vector<std::string> protocols, Instant deadline);

}  // namespace podwright::cri
