// InstanceLock: the file <root>/podwright/lock, locked (flock) for as long as the agent lives, with its pid inside. The
// kernel gives it back when the process ends, however it ends.
#pragma once

#include <absl/status/statusor.h>

#include <memory>
#include <string>

namespace podwright::table {

class InstanceLock {
 public:
  // FailedPrecondition where another instance holds it; the message names its pid. Makes the directory (0700).
  static absl::StatusOr<std::unique_ptr<InstanceLock>> acquire(const std::string& path);
  ~InstanceLock();
  InstanceLock(const InstanceLock&) = delete;
  InstanceLock& operator=(const InstanceLock&) = delete;

 private:
  explicit InstanceLock(int descriptor) : descriptor_(descriptor) {}
  int descriptor_;
};

}  // namespace podwright::table
