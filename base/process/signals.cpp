#include "base/process/signals.h"

#include <fmt/format.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>

#include "base/files/descriptor.h"
#include "base/status/annotate.h"

namespace podwright {

absl::Status RealSignals::kill_if(pid_t pid, const std::function<bool()>& still_meant) {
  const Descriptor process(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0)));
  if (!process.ok()) {
    // EINVAL: the number is a thread's.
    if (errno == ESRCH || errno == EINVAL) return absl::OkStatus();
    return errno_status(errno, fmt::format("open process {}", pid));
  }
  if (!still_meant()) return absl::OkStatus();
  if (::syscall(SYS_pidfd_send_signal, process.get(), SIGKILL, nullptr, 0) != 0 && errno != ESRCH) {
    return errno_status(errno, fmt::format("kill process {}", pid));
  }
  return absl::OkStatus();
}

}  // namespace podwright
