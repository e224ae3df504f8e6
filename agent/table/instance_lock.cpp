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

absl::StatusOr<std::unique_ptr<InstanceLock>> InstanceLock::acquire(const std::string& path) {
  const std::filesystem::path directory = std::filesystem::path(path).parent_path();
  std::error_code error;
  if (std::filesystem::create_directories(directory, error)) {
    std::filesystem::permissions(directory, std::filesystem::perms::owner_all, error);
  }
  if (error) return errno_status(error.value(), "make " + directory.string());
  const int descriptor = open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
  if (descriptor < 0) return errno_status(errno, "open " + path);
  std::unique_ptr<InstanceLock> lock(new InstanceLock(descriptor));
  if (flock(descriptor, LOCK_EX | LOCK_NB) != 0) {
    if (errno != EWOULDBLOCK) return errno_status(errno, "lock " + path);
    return make_status(absl::StatusCode::kFailedPrecondition, "another podwright (pid {}) holds {}", holder(descriptor),
                       path);
  }
  const std::string pid = fmt::format("{}\n", getpid());
  if (ftruncate(descriptor, 0) != 0 ||
      pwrite(descriptor, pid.data(), pid.size(), 0) != static_cast<ssize_t>(pid.size())) {
    // A full disk is no reason not to start: the lock itself holds.
    return lock;
  }
  return lock;
}

InstanceLock::~InstanceLock() {
  close(descriptor_);
}

}  // namespace podwright::table
