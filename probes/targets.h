// Where probes and hooks may go. The default target is the pod. Other hosts are the node's policy; the addresses of
// cloud metadata services are refused unless the pod uses the host's network.
#pragma once

#include <absl/status/statusor.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/net/net.h"
#include "probes/spec.h"

namespace podwright::probes {

enum class TargetPolicy { kAllow, kWarn, kDeny };
std::optional<TargetPolicy> target_policy_from(std::string_view text);

// How many probes and hooks went, or wanted to go, elsewhere than to their pod.
struct TargetCounts {
  uint64_t foreign = 0;           // to another host, allowed
  uint64_t denied = 0;            // refused by policy
  uint64_t metadata_refused = 0;  // refused: a metadata service
};

// Whether `address` is 169.254.169.254 or fd00:ec2::254, in any spelling that a socket would take (v4-mapped too).
bool is_metadata_address(std::string_view address);

class Targets {
 public:
  Targets(Net& net, TargetPolicy policy) : net_(net), policy_(policy) {}

  struct Resolved {
    std::vector<std::string> addresses;
    bool foreign = false;  // and the policy is to warn
  };

  // The addresses to dial for `host` (empty: the pod). PermissionDenied where the target is refused, NotFound where
  // the pod has no address yet, another error where the name does not resolve.
  Co<absl::StatusOr<Resolved>> resolve(ProbeTarget target, std::string host, Instant deadline);

  // Connects to the first address that answers.
  Co<absl::StatusOr<std::unique_ptr<Stream>>> dial(Resolved to, uint16_t port, Instant deadline);

  const TargetCounts& counts() const { return counts_; }

 private:
  Net& net_;
  TargetPolicy policy_;
  TargetCounts counts_;
};

}  // namespace podwright::probes
