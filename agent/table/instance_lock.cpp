#include "agent/table/instance_lock.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <filesystem>
#include <system_error>

#include "base/status/annotate.h"

namespace podwright::table {
namespace {

std::string holder(int descriptor) {
  std::array<char, 32> text{};
  const ssize_t length = pread(descriptor, text.data(), text.size() - 1, 0);
  std::string pid(text.data(), length > 0 ? static_cast<std::size_t>(length) : 0);
  std::erase_if(pid, [](char c) { return c < '0' || c > '9'; });
  return pid.empty() ? "unknown" : pid;
}

}  // namespace

namespace {

// The file, made with its directory (0700) where it is not there; -1 with `status` set.
int open_file(const std::string& path, absl::Status* status) {
  const std::filesystem::path directory = std::filesystem::path(path).parent_path();
  std::error_code error;
  if (std::filesystem::create_directories(directory, error)) {
    std::filesystem::permissions(directory, std::filesystem::perms::owner_all, error);
  }
  if (error) {
    *status = errno_status(error.value(), "make " + directory.string());
    return -1;
  }
  const int descriptor = open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
  if (descriptor < 0) *status = errno_status(errno, "open " + path);
  return descriptor;
}

// A full disk is no reason not to start: the lock itself holds.
void write_pid(int descriptor) {
  const std::string pid = fmt::format("{}\n", getpid());
  if (ftruncate(descriptor, 0) == 0) (void)!pwrite(descriptor, pid.data(), pid.size(), 0);
}

}  // namespace

absl::StatusOr<std::unique_ptr<InstanceLock>> InstanceLock::acquire(const std::string& path) {
  absl::Status status;
  const int descriptor = open_file(path, &status);
  if (descriptor < 0) return status;
  std::unique_ptr<InstanceLock> lock(new InstanceLock(descriptor));
  if (flock(descriptor, LOCK_EX | LOCK_NB) != 0) {
    if (errno != EWOULDBLOCK) return errno_status(errno, "lock " + path);
    return make_status(absl::StatusCode::kFailedPrecondition, "another podwright (pid {}) holds {}", holder(descriptor),
                       path);
  }
  write_pid(descriptor);
  return lock;
}

absl::StatusOr<std::unique_ptr<InstanceLock>> InstanceLock::wait(
    const std::string& path, const std::function<void(const std::string& pid)>& waiting) {
  absl::Status status;
  const int descriptor = open_file(path, &status);
  if (descriptor < 0) return status;
  std::unique_ptr<InstanceLock> lock(new InstanceLock(descriptor));
  int taken = flock(descriptor, LOCK_EX | LOCK_NB);
  if (taken != 0 && errno == EWOULDBLOCK) {
    waiting(holder(descriptor));
    // A signal ends the process by its default action, or is retried here.
    do {
      taken = flock(descriptor, LOCK_EX);
    } while (taken != 0 && errno == EINTR);
  }
  if (taken != 0) return errno_status(errno, "lock " + path);
  write_pid(descriptor);
  return lock;
}

InstanceLock::~InstanceLock() {
  close(descriptor_);
}

}  // namespace podwright::table
