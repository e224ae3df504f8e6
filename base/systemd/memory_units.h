// Units in memory, for tests and the simulation: slices in a map, after a drawn time, with failures to order.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "base/co/loop.h"
#include "base/systemd/units.h"

namespace podwright {

class MemoryUnits final : public Units {
 public:
  // `changed` is told each slice that was started (true) or stopped, for those who keep the cgroups beside it.
  explicit MemoryUnits(Loop& loop, std::function<void(const std::string&, bool)> changed = {})
      : loop_(&loop), changed_(std::move(changed)) {}

  Co<absl::Status> start_slice(std::string name, SliceProperties properties, Instant deadline) override;
  Co<absl::Status> stop(std::string name, Instant deadline) override;

  const std::map<std::string, SliceProperties>& slices() const { return slices_; }
  // Calls so far: "start kubepods.slice".
  const std::vector<std::string>& calls() const { return calls_; }
  // Every call fails with it until it is set to OK.
  void fail_with(absl::Status status) { failure_ = std::move(status); }
  void attach(Loop& loop) { loop_ = &loop; }

 private:
  Co<absl::Status> take_time(Instant deadline);

  Loop* loop_;
  std::function<void(const std::string&, bool)> changed_;
  std::map<std::string, SliceProperties> slices_;
  std::vector<std::string> calls_;
  absl::Status failure_;
};

}  // namespace podwright
