#include "agent/cgroups/driver.h"

namespace podwright::cgroups {

Co<absl::Status> CgroupfsDriver::make(Name name, Limits limits, Instant) {
  const std::string path = to_path(name, DriverKind::kCgroupfs);
  co_return co_await offload(loop_, offload_, [this, path, limits = std::move(limits)] {
    absl::Status status = hierarchy_.make(tree_, path);
    if (status.ok()) status = hierarchy_.set(tree_, path, limits);
    return status;
  });
}

Co<absl::Status> CgroupfsDriver::remove(Name name, Instant) {
  const std::string path = to_path(name, DriverKind::kCgroupfs);
  co_return co_await offload(loop_, offload_, [this, path] { return hierarchy_.remove(tree_, path); });
}

}  // namespace podwright::cgroups
