// The port for ending processes that are not our children. A pid read from a file may be another process's by the time
// of the signal, so the process is held by a descriptor first, then looked at, then signalled.
#pragma once

#include <absl/status/status.h>
#include <sys/types.h>

#include <functional>

namespace podwright {

class Signals {
 public:
  virtual ~Signals() = default;
  // Holds process `pid`, asks `still_meant` (is it still in that cgroup?) and sends SIGKILL where the answer is yes.
  // Nothing, and no error, where it is gone. Any thread.
  virtual absl::Status kill_if(pid_t pid, const std::function<bool()>& still_meant) = 0;
};

// pidfd_open(2) and pidfd_send_signal(2).
class RealSignals final : public Signals {
 public:
  absl::Status kill_if(pid_t pid, const std::function<bool()>& still_meant) override;
};

}  // namespace podwright
