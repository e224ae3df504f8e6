// Cgroups as slices of systemd (cgroup version 2 only): systemd makes them and keeps their values over its own reload.
// The same values are then written to the files, so that they hold when make() returns and are exact where systemd
// rounds; what systemd has no property for (huge pages) is only there.
#pragma once

#include "agent/cgroups/driver.h"
#include "base/systemd/units.h"

namespace podwright::cgroups {

class SystemdDriver final : public Driver {
 public:
  // `hierarchy` is of version 2.
  SystemdDriver(Loop& loop, Offload& offload, Tree& tree, Hierarchy hierarchy, Units& units)
      : loop_(loop), offload_(offload), tree_(tree), hierarchy_(std::move(hierarchy)), units_(units) {}

  DriverKind kind() const override { return DriverKind::kSystemd; }
  Co<absl::Status> make(Name name, Limits limits, Instant deadline) override;
  Co<absl::Status> remove(Name name, Instant deadline) override;

 private:
  Loop& loop_;
  Offload& offload_;
  Tree& tree_;
  Hierarchy hierarchy_;
  Units& units_;
};

// Pure. systemd knows a quota only as a part of a second in steps of 10 ms: rounded up.
SliceProperties to_properties(const Limits& limits);

}  // namespace podwright::cgroups
