// ProcessEnds: told by the kernel when a process ends that is no child of ours. Pids are reused, so a process is only
// watched once its cgroup shows that it is the one that is meant. Loop thread only.
#pragma once

#include <absl/status/status.h>
#include <absl/status/statusor.h>

#include <cstdint>
#include <map>
#include <memory>
#include <string>

#include "base/co/loop.h"
#include "base/co/real_loop.h"

namespace podwright {

class ProcessEnds {
 public:
  virtual ~ProcessEnds() = default;

  // Calls `ended` once, from the loop, when process `pid` has ended. `cgroup_part` must be part of its cgroup's path.
  // NotFound where there is no such process, FailedPrecondition where it is in another cgroup, Unavailable where
  // descriptors ran out. The answer names the watch.
  virtual absl::StatusOr<uint64_t> watch(int32_t pid, std::string cgroup_part, Loop::Work ended) = 0;

  // `ended` is not called any more; one that is over is no error.
  virtual void forget(uint64_t watch) = 0;
};

// pidfd_open(2); the descriptor becomes readable when the process ends.
class PidfdProcessEnds final : public ProcessEnds {
 public:
  explicit PidfdProcessEnds(RealLoop& loop);
  ~PidfdProcessEnds() override;

  absl::StatusOr<uint64_t> watch(int32_t pid, std::string cgroup_part, Loop::Work ended) override;
  void forget(uint64_t watch) override;
  std::size_t size() const { return watches_->size(); }

 private:
  struct Watch;
  // Shared with the waits in the loop, which may outlive this.
  using Watches = std::map<uint64_t, std::shared_ptr<Watch>>;

  RealLoop& loop_;
  std::shared_ptr<Watches> watches_ = std::make_shared<Watches>();
  uint64_t next_ = 1;
};

}  // namespace podwright
