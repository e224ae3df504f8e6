// Exec, attach and port-forward sessions with the runtime's streaming server, whose URL came from the runtime
// (Runtime::exec_url and its like). Each function is the whole life of one session: it returns when the session has
// ended, and cancelling it cuts the connection.
#pragma once

#include <absl/status/status.h>
#include <absl/status/statusor.h>

#include <cstdint>
#include <memory>
#include <string>

#include "base/co/loop.h"
#include "base/net/net.h"

namespace podwright::cri {

// One thing that the person at the other end sent.
struct SessionInput {
  enum class Kind { kStdin, kStdinEnd, kResize };
  Kind kind = Kind::kStdin;
  std::string bytes;
  uint16_t width = 0, height = 0;
};

// The person's end of a session. One user for reading and one for writing.
class SessionClient {
 public:
  virtual ~SessionClient() = default;
  // An error where the client is gone; that ends the session.
  virtual Co<absl::StatusOr<SessionInput>> next() = 0;
  // Return once the client took the bytes; until then nothing more is read from the runtime.
  virtual Co<absl::Status> write_stdout(std::string bytes) = 0;
  virtual Co<absl::Status> write_stderr(std::string bytes) = 0;
};

struct SessionSides {
  bool stdin = false, stdout = false, stderr = false;
  // With a terminal stdout carries both, and sizes are passed on.
  bool tty = false;
};

// Runs until the command has ended, and gives its exit code. `deadline` bounds the way to the open session, not the
// session. Unavailable where the connection or the client went first, Unknown with the runtime's text where the command
// could not be run.
Co<absl::StatusOr<int32_t>> run_exec(Loop& loop, Net& net, std::string url, SessionSides sides, SessionClient& client,
                                     Instant deadline);

// Runs until the container or the client ends. OK where the runtime ended it well.
Co<absl::Status> run_attach(Loop& loop, Net& net, std::string url, SessionSides sides, SessionClient& client,
                            Instant deadline);

// Carries one connection to a port of the sandbox, until both sides have ended. Unavailable with the runtime's text
// where nothing listens there.
Co<absl::Status> run_port_forward(Loop& loop, Net& net, std::string url, uint16_t port, std::unique_ptr<Stream> client,
                                  Instant deadline);

// The exit code that the error stream's last word tells: a metav1.Status in JSON. For tests.
absl::StatusOr<int32_t> exit_code_of(const std::string& status_json);

}  // namespace podwright::cri
