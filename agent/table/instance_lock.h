// InstanceLock: the file <root>/podwright/lock, locked (flock) for as long as the agent lives, with its pid inside. The
// kernel gives it back when the process ends, however it ends.
#pragma once

#include <absl/status/statusor.h>

#include <functional>
#include <memory>
#include <string>

namespace podwright::table {

class InstanceLock {
 public:
  // FailedPrecondition where another instance holds it; the message names its pid. Makes the directory (0700).
  static absl::StatusOr<std::unique_ptr<InstanceLock>> acquire(const std::string& path);
  // --lock-file of upstream: waits for as long as another process holds it, after telling `waiting` its pid.
  static absl::StatusOr<std::unique_ptr<InstanceLock>> wait(const std::string& path,
                                                            const std::function<void(const std::string& pid)>& waiting);
  ~InstanceLock();
  InstanceLock(const InstanceLock&) = delete;
  InstanceLock& operator=(const InstanceLock&) = delete;

 private:
  explicit InstanceLock(int descriptor) : descriptor_(descriptor) {}
  int descriptor_;
};

}  // namespace podwright::table
