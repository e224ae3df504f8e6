// What exec, attach and port-forward need from above: the composition root implements StreamSessions with the runtime's
// streaming server (cri/streaming).
#pragma once

#include <absl/status/statusor.h>

#include <memory>
#include <string>
#include <vector>

#include "api/ids.h"
#include "base/co/co.h"
#include "base/net/net.h"

namespace podwright::server {

// One thing that the client of a session sent.
struct SessionInput {
  enum class Kind { kStdin, kStdinEnd, kResize };
  Kind kind = Kind::kStdin;
  std::string bytes;
  uint16_t width = 0, height = 0;
};

// The client's end of a session.
class SessionPeer {
 public:
  virtual ~SessionPeer() = default;
  // Unavailable where the client is gone, Cancelled where the session ends.
  virtual Co<absl::StatusOr<SessionInput>> next() = 0;
  virtual Co<absl::Status> write_stdout(std::string bytes) = 0;
  virtual Co<absl::Status> write_stderr(std::string bytes) = 0;
};

struct SessionRequest {
  PodUid pod;
  ContainerId container;
  std::vector<std::string> command;  // of exec only
  bool stdin = false, stdout = false, stderr = false;
  bool tty = false;  // then stdout carries both
};

class StreamSessions {
 public:
  virtual ~StreamSessions() = default;
  // Runs until the command has ended, and gives its exit code. One user of `peer` at a time for reading and for
  // writing.
  virtual Co<absl::StatusOr<int32_t>> exec(SessionRequest request, SessionPeer& peer) = 0;
  // Runs until the container or the client ends.
  virtual Co<absl::Status> attach(SessionRequest request, SessionPeer& peer) = 0;
  // Carries one connection to a port of the pod, until both sides have ended.
  virtual Co<absl::Status> port_forward(PodUid pod, uint16_t port, std::unique_ptr<Stream> client) = 0;
};

}  // namespace podwright::server
