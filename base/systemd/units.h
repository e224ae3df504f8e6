// The port to systemd's manager, for what the agent has it do: slices for pods. The real one is SdBusUnits
// (base/systemd/sd_bus_units.h), the one for tests and the simulation MemoryUnits (base/systemd/memory_units.h).
#pragma once

#include <absl/status/status.h>

#include <cstdint>
#include <optional>
#include <string>

#include "base/co/co.h"
#include "base/time/time.h"

namespace podwright {

// Values of a unit in systemd's terms; what is not set is left alone. kInfinity lifts a bound.
struct SliceProperties {
  static constexpr uint64_t kInfinity = UINT64_MAX;
  std::optional<uint64_t> cpu_weight;
  std::optional<uint64_t> cpu_quota_per_sec_us;
  std::optional<uint64_t> cpu_quota_period_us;
  std::optional<uint64_t> memory_max;
  std::optional<uint64_t> tasks_max;

  bool operator==(const SliceProperties&) const = default;
};

class Units {
 public:
  virtual ~Units() = default;
  // Starts the slice `name` ("kubepods-burstable.slice"), with its parents, as a transient unit that accounts for CPU,
  // memory, IO and tasks; one that exists is started where it is not, and given the properties. Calling it again is
  // safe, also after an unknown outcome.
  virtual Co<absl::Status> start_slice(std::string name, SliceProperties properties, Instant deadline) = 0;
  // Stops the unit and all below it; one that is not there is fine.
  virtual Co<absl::Status> stop(std::string name, Instant deadline) = 0;
};

}  // namespace podwright
