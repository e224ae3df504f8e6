#include "pleg/exit_hints.h"

#include "base/status/annotate.h"

namespace podwright::pleg {

ExitHints::~ExitHints() {
  for (const auto& [id, watch] : watches_) ends_.forget(watch);
}

absl::Status ExitHints::watch(const ContainerId& id, int32_t pid) {
  if (watches_.contains(id)) return absl::OkStatus();
  // Both cgroup drivers name a container's cgroup by its ID.
  const auto watch = ends_.watch(pid, id.value, [this, id] {
    watches_.erase(id);
    ended_(id);
  });
  if (!watch.ok()) return annotate(watch.status(), "watch container {}", short_id(id));
  watches_[id] = *watch;
  return absl::OkStatus();
}

void ExitHints::forget(const ContainerId& id) {
  const auto found = watches_.find(id);
  if (found == watches_.end()) return;
  ends_.forget(found->second);
  watches_.erase(found);
}

}  // namespace podwright::pleg
