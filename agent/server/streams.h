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
#include "cri/streaming/session.h"

namespace podwright::server {

// The client's end of a session. next() is Unavailable where the client is gone, Cancelled where the session ends.
using SessionPeer = cri::SessionClient;
using SessionInput = cri::SessionInput;

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
