// UserNamespaces: which host IDs a pod with hostUsers: false is mapped to. Two pods never share one, and a pod keeps
// its range for its whole life, over restarts and reboots, since files in its volumes belong to these IDs. Source:
// KEP-127.
#pragma once

#include <absl/status/statusor.h>

#include <cstdint>
#include <map>

#include "api/ids.h"
#include "api/types.h"

namespace podwright::sync {

bool wants_user_namespace(const core::Pod& pod);

class UserNamespaces {
 public:
  // `ids_per_pod` is a multiple of 65536. The first range belongs to the host.
  explicit UserNamespaces(int64_t ids_per_pod) : ids_per_pod_(ids_per_pod) {}

  // Of a record: the range is the pod's already.
  void adopt(const PodUid& uid, uint32_t base) { bases_[uid] = base; }
  // The pod's range, taken now where it has none: its first host ID. ResourceExhausted where none is left.
  absl::StatusOr<uint32_t> take(const PodUid& uid);
  // Nothing of the pod is left on the node.
  void give_back(const PodUid& uid) { bases_.erase(uid); }

  uint32_t ids_per_pod() const { return static_cast<uint32_t>(ids_per_pod_); }

 private:
  int64_t ids_per_pod_;
  std::map<PodUid, uint32_t> bases_;
};

}  // namespace podwright::sync
