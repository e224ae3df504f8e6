// The port to the network: names, streams and listeners, in bytes. HTTP stands above it (base/http).
#pragma once

#include <absl/status/status.h>
#include <absl/status/statusor.h>

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/co/co.h"
#include "base/time/time.h"

namespace podwright {

// Where a stream goes or a listener stands: "10.1.2.3:80", "[::1]:80", "unix:/run/x.sock".
struct Endpoint {
  std::string host;  // an address, or a name that dial() resolves
  uint16_t port = 0;
  std::string unix_path;  // instead of both

  static Endpoint tcp(std::string host, uint16_t port) { return {std::move(host), port, {}}; }
  static Endpoint unix_socket(std::string path) { return {{}, 0, std::move(path)}; }
  std::string text() const;
};

// A connected byte stream. Destroying it closes it. One reader and one writer at a time.
class Stream {
 public:
  virtual ~Stream() = default;
  // At least one byte, at most `limit`; an empty string at the end of the stream.
  virtual Co<absl::StatusOr<std::string>> read_some(std::size_t limit, Instant deadline) = 0;
  virtual Co<absl::Status> write_all(std::string bytes, Instant deadline) = 0;
  // No more writes; the other side reads the end.
  virtual absl::Status shutdown_write() = 0;
  // For probes: closes with a reset, leaving no TIME_WAIT behind.
  virtual void set_linger_reset() = 0;
};

class Listener {
 public:
  virtual ~Listener() = default;
  // Cancelled ends it.
  virtual Co<absl::StatusOr<std::unique_ptr<Stream>>> accept() = 0;
  virtual Endpoint local() const = 0;
};

class Net {
 public:
  virtual ~Net() = default;
  // Names are resolved with c-ares (cancellable, no thread), each address tried in turn. Refused, unreachable: an
  // Unavailable whose text says which.
  virtual Co<absl::StatusOr<std::unique_ptr<Stream>>> dial(Endpoint to, Instant deadline) = 0;
  virtual Co<absl::StatusOr<std::vector<std::string>>> resolve(std::string name, Instant deadline) = 0;
  // Port 0 picks one. A unix socket is made with `mode`, replacing a dead one of the same path.
  virtual absl::StatusOr<std::unique_ptr<Listener>> listen(const Endpoint& at, mode_t mode = 0600) = 0;
};

}  // namespace podwright
