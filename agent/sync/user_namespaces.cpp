#include "agent/sync/user_namespaces.h"

#include <set>

#include "base/status/annotate.h"

namespace podwright::sync {

bool wants_user_namespace(const core::Pod& pod) {
  return pod.spec().has_hostusers() && !pod.spec().hostusers();
}

absl::StatusOr<uint32_t> UserNamespaces::take(const PodUid& uid) {
  const auto own = bases_.find(uid);
  if (own != bases_.end()) return own->second;
  std::set<uint32_t> used;
  for (const auto& [other, base] : bases_) used.insert(base);
  // An adopted range may have been made with another length, so overlap counts and not equality.
  for (int64_t base = ids_per_pod_; base + ids_per_pod_ <= (int64_t{1} << 32); base += ids_per_pod_) {
    const auto above = used.lower_bound(static_cast<uint32_t>(base));
    if (above != used.end() && *above < base + ids_per_pod_) continue;
    if (above != used.begin() && *std::prev(above) + ids_per_pod_ > base) continue;
    bases_[uid] = static_cast<uint32_t>(base);
    return static_cast<uint32_t>(base);
  }
  return make_status(absl::StatusCode::kResourceExhausted, "no range of {} user IDs is free for the pod's namespace",
                     ids_per_pod_);
}

}  // namespace podwright::sync
