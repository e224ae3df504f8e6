// The launcher: a single-threaded process that starts every child of the agent. It is forked first thing in main(),
// before any thread, gRPC or seccomp filter, so that fork is safe and a child inherits nothing by accident.
//
//   agent  --order: start (request, stdin, stdout, stderr as descriptors) or kill-->  launcher  --fork, exec--> child
//          <--news: could not start, or ended---------------------------------------
//
// Each child leads a session and a process group of its own. A kill goes to the whole group, and what is left of the
// group when the child ends is killed too; a daemon that starts a session of its own (rpc.statd, FUSE) stays. When the
// agent ends, however, the launcher sees the end of the socket, kills all groups and ends.
#pragma once

#include <absl/status/statusor.h>
#include <sys/types.h>

#include "base/files/descriptor.h"

namespace podwright {

class Launcher {
 public:
  // Forks. Aborts where the process has a second thread already.
  static absl::StatusOr<Launcher> start();

  // The agent's end of the socket.
  Descriptor take_socket() { return std::move(socket_); }
  pid_t pid() const { return pid_; }

 private:
  Launcher(Descriptor socket, pid_t pid) : socket_(std::move(socket)), pid_(pid) {}

  Descriptor socket_;
  pid_t pid_;
};

}  // namespace podwright
