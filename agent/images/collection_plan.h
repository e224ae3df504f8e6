// Which images are removed, in which order; pure. Source: pkg/kubelet/images/image_gc_manager.go.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "base/time/time.h"
#include "cri/types.h"

namespace podwright::images {

struct CollectionOptions {
  // Between two looks. Source: kubelet.go, ImageGCPeriod.
  Duration period = std::chrono::minutes(5);
  // Younger ones are kept (imageMinimumGCAge).
  Duration minimum_age = std::chrono::minutes(2);
  // Unused for longer ones are removed whatever the disk has (imageMaximumGCAge); zero: never.
  Duration maximum_age{0};
  // Of the file system's capacity, in percent: from `high` on images are removed until `low` is reached.
  int high_percent = 85, low_percent = 80;
  // Of one call of the runtime.
  Duration call_deadline = std::chrono::minutes(2);
};

// What is known of an image since the agent started.
struct ImageAge {
  // Instant::min() where it was there at the first look.
  Instant first_seen;
  // Instant::min() where no use of it was seen.
  Instant last_used = Instant::min();
};
using ImageAges = std::map<std::string, ImageAge>;  // by image ID

// Every way in which images are named that must stay: by containers, sandboxes, pods and pulls at work.
using ImageNames = std::set<std::string>;

bool is_used(const cri::Image& image, const ImageNames& used);

// Brings `ages` up to what is there now.
void note_images(const std::vector<cri::Image>& images, const ImageNames& used, bool first_look, Instant now,
                 ImageAges& ages);

// Those that may be removed, the one that was unused for the longest first.
std::vector<cri::Image> removable(const std::vector<cri::Image>& images, const ImageNames& used, const ImageAges& ages,
                                  Duration minimum_age, Instant now);

// Of `removable`, those unused for longer than `maximum_age`. What was used before the agent started counts from then.
std::vector<cri::Image> too_old(const std::vector<cri::Image>& removable, const ImageAges& ages, Duration maximum_age,
                                Instant agent_started, Instant now);

// How much is to be freed: nothing below the high mark, else what brings the use down to the low one.
uint64_t bytes_to_free(uint64_t capacity, uint64_t available, const CollectionOptions& options);

}  // namespace podwright::images
