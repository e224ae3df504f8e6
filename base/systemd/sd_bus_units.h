// Units of the running systemd, over one bus connection. Loop thread only.
#pragma once

#include <map>
#include <memory>
#include <string>

#include "base/co/bell.h"
#include "base/systemd/bus.h"
#include "base/systemd/units.h"

namespace podwright {

class SdBusUnits final : public Units {
 public:
  // The system bus; tests give another.
  explicit SdBusUnits(RealLoop& loop, Bus::Open open = sd_bus_open_system);

  Co<absl::Status> start_slice(std::string name, SliceProperties properties, Instant deadline) override;
  Co<absl::Status> stop(std::string name, Instant deadline) override;

 private:
  // A call under way, and where it answers with a job, that job.
  struct Exchange;
  Co<absl::Status> run(BusMessage message, bool gives_job, Instant deadline);
  absl::StatusOr<BusMessage> method(const char* member);
  static int job_removed(sd_bus_message* message, void* self, sd_bus_error* error);

  RealLoop& loop_;
  std::map<std::string, std::shared_ptr<Exchange>> jobs_;
  Bus bus_;
};

}  // namespace podwright
