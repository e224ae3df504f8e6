// ImageCollector: removes images that nothing uses once the file system they are on fills up, or once they were unused
// for too long; and all unused ones when the node is short of disk (agent/eviction asks). An image is used while any
// container or sandbox of the runtime has it (an exited one too), while a pod of the node names it, and while it is
// pulled. Loop thread only.
#pragma once

#include <absl/status/statusor.h>

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "agent/events/event_recorder.h"
#include "agent/images/collection_plan.h"
#include "base/co/bell.h"
#include "base/files/tree.h"
#include "base/step/step.h"
#include "cri/runtime.h"

namespace podwright::images {

// What the collector is told by others.
struct CollectorSources {
  // The file system that images are on; an error where it is not known.
  std::function<Co<absl::StatusOr<FsStat>>()> image_fs;
  // Images that pods of the node name: live ones and those that wait to start.
  std::function<std::vector<std::string>()> wanted;
};

class ImageCollector {
 public:
  ImageCollector(Loop& loop, cri::Runtime& runtime, cri::Images& images, events::EventRecorder& events, Steps& steps,
                 CollectionOptions options, CollectorSources sources);

  // Looks every `period`, until cancelled.
  Co<void> run();
  // One look: ages, then the marks. ResourceExhausted where less could be freed than the marks ask for.
  Co<absl::Status> collect();
  // Removes every unused image that is old enough, the longest unused first, until `enough` says so (asked after each).
  // Gives how many went. One that cannot be removed keeps none of the others.
  Co<absl::StatusOr<std::size_t>> remove_unused(std::function<Co<bool>()> enough);

  // Images removed, by why: "age", "space".
  const std::map<std::string, uint64_t>& removed() const { return removed_; }

 private:
  // Brings ages up to date and gives what may be removed.
  Co<absl::StatusOr<std::vector<cri::Image>>> look();
  Co<absl::StatusOr<ImageNames>> used_images(Instant deadline);
  Co<absl::Status> remove(cri::Image image, std::string reason);
  void tell(const absl::Status& status);

  Loop& loop_;
  cri::Runtime& runtime_;
  cri::Images& images_;
  events::EventRecorder& events_;
  Steps& steps_;
  CollectionOptions options_;
  CollectorSources sources_;
  Instant started_;
  bool looked_ = false;
  int failures_ = 0;
  ImageAges ages_;
  std::map<std::string, uint64_t> removed_;
  // collect() and remove_unused() one after the other.
  Slots one_;
};

// The image that the runtime makes sandboxes of, from the verbose information of its status; empty where it tells none.
// Source: containerd's CRI plugin tells its configuration as JSON under "config".
std::string sandbox_image(const cri::RuntimeStatus& status);

}  // namespace podwright::images
