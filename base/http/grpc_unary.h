// One unary gRPC call on an HTTP/2 connection of ours, for peers to which a channel would be too much: health probes of
// pods. (Calls to the runtime and to plugins go through base/rpc.)
#pragma once

#include <cstddef>
#include <string>

#include "base/http/http2.h"

namespace podwright {

struct GrpcUnaryCall {
  std::string authority;
  std::string path;          // "/grpc.health.v1.Health/Check"
  std::string message;       // serialized
  Headers metadata;          // user-agent among it
  std::size_t answer_bytes;  // a longer message is refused
};

// The serialized answer. An error has the gRPC code and message of the peer; where the peer speaks no gRPC, the code
// that gRPC gives its HTTP status, or Unknown; ResourceExhausted where the answer is too long; DeadlineExceeded and
// Unavailable as they came.
Co<absl::StatusOr<std::string>> grpc_unary(Loop& loop, Http2Connection& connection, GrpcUnaryCall call,
                                           Instant deadline);

}  // namespace podwright
