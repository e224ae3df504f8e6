#include "base/process/process_ends.h"

#include <fcntl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <cerrno>

#include "base/status/annotate.h"

namespace podwright {
namespace {

// Of /proc/PID/cgroup: a line a hierarchy (at most 14 with cgroup v1), each with a path of at most PATH_MAX; what
// counts stands in the first ones.
constexpr std::size_t kCgroupFileBytes = 16 << 10;

absl::Status status_of(int error, const std::string& what) {
  return absl::ErrnoToStatus(error, what);
}

absl::StatusOr<std::string> cgroup_of(int32_t pid) {
  const std::string path = fmt::format("/proc/{}/cgroup", pid);
  const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0) return status_of(errno, "open " + path);
  std::string text;
  std::array<char, 4096> part;
  while (text.size() < kCgroupFileBytes) {
    const ssize_t count = ::read(file, part.data(), part.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) {
      const int error = errno;
      ::close(file);
      // A process that ended after open(2) reads as ESRCH.
      return error == ESRCH ? absl::NotFoundError("process has ended") : status_of(error, "read " + path);
    }
    if (count == 0) break;
    text.append(part.data(), static_cast<std::size_t>(count));
  }
  ::close(file);
  return text;
}

}  // namespace

struct PidfdProcessEnds::Watch {
  explicit Watch(RealLoop& loop) : process(loop.io()) {}
  boost::asio::posix::stream_descriptor process;
  Loop::Work ended;
};

PidfdProcessEnds::PidfdProcessEnds(RealLoop& loop) : loop_(loop) {}
PidfdProcessEnds::~PidfdProcessEnds() {
  watches_->clear();
}

absl::StatusOr<uint64_t> PidfdProcessEnds::watch(int32_t pid, std::string cgroup_part, Loop::Work ended) {
  const int descriptor = static_cast<int>(::syscall(SYS_pidfd_open, pid, 0));
  if (descriptor < 0) {
    const int error = errno;
    if (error == ESRCH) return absl::NotFoundError(fmt::format("process {} has ended", pid));
    if (error == EMFILE || error == ENFILE) return absl::UnavailableError("too many open files");
    return status_of(error, fmt::format("open process {}", pid));
  }
  const auto watch = std::make_shared<Watch>(loop_);
  boost::system::error_code error;
  watch->process.assign(descriptor, error);
  if (error) {
    ::close(descriptor);
    return status_of(error.value(), fmt::format("watch process {}", pid));
  }
  // After the opening: from here on the pid cannot come to mean another process unnoticed, since a descriptor of a
  // process that has ended is readable at once.
  const auto cgroup = cgroup_of(pid);
  if (!cgroup.ok()) return annotate(cgroup.status(), "cgroup of process {}", pid);
  if (cgroup->find(cgroup_part) == std::string::npos) {
    return absl::FailedPreconditionError(fmt::format("process {} is in another cgroup", pid));
  }
  watch->ended = std::move(ended);
  const uint64_t number = next_++;
  watches_->emplace(number, watch);
  watch->process.async_wait(boost::asio::posix::stream_descriptor::wait_read,
                            [weak = std::weak_ptr<Watches>(watches_), number](const boost::system::error_code& error) {
                              const auto watches = weak.lock();
                              if (error || !watches) return;
                              const auto found = watches->find(number);
                              if (found == watches->end()) return;
                              Loop::Work work = std::move(found->second->ended);
                              watches->erase(found);
                              work();
                            });
  return number;
}

void PidfdProcessEnds::forget(uint64_t watch) {
  watches_->erase(watch);
}

}  // namespace podwright
