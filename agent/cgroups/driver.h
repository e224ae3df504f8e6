// Who makes cgroups: the agent itself in the cgroup file systems, or systemd on its behalf. Calling anything twice is
// safe; what exists is adopted.
#pragma once

#include <memory>

#include "agent/cgroups/hierarchy.h"
#include "agent/cgroups/names.h"
#include "base/co/offload.h"
#include "base/co/scope.h"

namespace podwright::cgroups {

class Driver {
 public:
  virtual ~Driver() = default;
  virtual DriverKind kind() const = 0;
  // Makes the cgroup (with parents) and sets `limits`.
  virtual Co<absl::Status> make(Name name, Limits limits, Instant deadline) = 0;
  // Takes away the cgroup once it holds no process; FailedPrecondition while one does.
  virtual Co<absl::Status> remove(Name name, Instant deadline) = 0;
};

class CgroupfsDriver final : public Driver {
 public:
  CgroupfsDriver(Loop& loop, Offload& offload, Tree& tree, const Hierarchy& hierarchy)
      : loop_(loop), offload_(offload), tree_(tree), hierarchy_(hierarchy) {}

  DriverKind kind() const override { return DriverKind::kCgroupfs; }
  Co<absl::Status> make(Name name, Limits limits, Instant deadline) override;
  Co<absl::Status> remove(Name name, Instant deadline) override;

 private:
  Loop& loop_;
  Offload& offload_;
  Tree& tree_;
  const Hierarchy& hierarchy_;
};

}  // namespace podwright::cgroups
