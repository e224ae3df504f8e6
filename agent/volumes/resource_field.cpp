#include "agent/volumes/resource_field.h"

#include "api/amount.h"
#include "api/resources.h"
#include "base/status/annotate.h"

namespace podwright::volumes {

absl::StatusOr<std::string> resource_field(const core::Pod& pod, const core::Container& container,
                                           const core::ResourceFieldSelector& ref, const NodeShare& node) {
  const std::string& which = ref.resource();
  const auto dot = which.find('.');
  const std::string kind = which.substr(0, dot);
  if (dot == std::string::npos || (kind != "limits" && kind != "requests")) {
    return make_status(absl::StatusCode::kInvalidArgument, "resource {:?} is not supported", which);
  }
  const std::string resource = which.substr(dot + 1);
  // cpu counts in thousandths here, all others in units.
  int64_t amount = 0;
  if (kind == "requests") {
    amount = api::request_of(container, resource);
  } else if (api::has_limit(container, resource)) {
    amount = api::limit_of(container, resource);
  } else {
    const auto pod_limits = pod.spec().resources().limits().find(resource);
    const bool pod_has = pod_limits != pod.spec().resources().limits().end();
    if (resource == "cpu") amount = pod_has ? api::milli_of(pod_limits->second) : node.cpu_milli;
    if (resource == "memory") amount = pod_has ? api::units_of(pod_limits->second) : node.memory_bytes;
  }
  const bool has_divisor = ref.has_divisor() && !ref.divisor().string().empty() && ref.divisor().string() != "0";
  int64_t divisor = 1;
  if (resource == "cpu") {
    divisor = has_divisor ? api::milli_of(ref.divisor()) : 1000;
  } else if (has_divisor) {
    divisor = api::units_of(ref.divisor());
  }
  if (divisor <= 0) return absl::InvalidArgumentError("divisor must be positive");
  return fmt::format("{}", amount / divisor + (amount % divisor > 0 ? 1 : 0));
}

}  // namespace podwright::volumes
