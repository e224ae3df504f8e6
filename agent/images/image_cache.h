// ImageCache: makes sure that a container's image is on the node. Pulls run in flows of their own, one for each image,
// shared by every pod that wants it: a slow pull holds nobody else, and a waiter leaves at once. A pull that nobody
// wants any more is cancelled. Pull policies, pull back-off and the parallel limit as a kubelet's (behaviours 20);
// the pull rate limit queues instead of failing.
#pragma once

#include <absl/status/statusor.h>

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "agent/events/event_recorder.h"
#include "agent/pods/containers.h"
#include "agent/pods/pod.h"
#include "base/co/bell.h"
#include "base/co/scope.h"
#include "base/step/step.h"
#include "cri/runtime.h"

namespace podwright::images {

struct Options {
  // serializeImagePulls unset: parallel, 4; explicitly true: 1; maxParallelImagePulls as set; nothing: no limit.
  std::optional<std::size_t> parallel_pulls = 4;
  // registryPullQPS and registryBurst; 0: no limit.
  double pulls_per_second = 5;
  int pull_burst = 10;
  std::chrono::seconds backoff_initial{10};
  std::chrono::seconds backoff_max{300};
};

// The image could not be had now: what the container's waiting state says, and when to try again.
struct ImageWait {
  std::string reason;  // ErrImagePull, ImagePullBackOff, ErrImageNeverPull, InvalidImageName, ImageInspectError ...
  std::string message;
  std::optional<Instant> retry_at;
};

// What EnsureImage came to: the reference to create the container from, or the wait.
struct ImageOutcome {
  std::string ref;                // the runtime's reference; set where the image is there
  cri::Image image;               // its metadata, for runAsNonRoot
  std::optional<ImageWait> wait;  // set otherwise
};

class ImageCache {
 public:
  ImageCache(Loop& loop, cri::Images& images, events::EventRecorder& events, Steps& steps, Options options);
  ~ImageCache();

  // Ends when the image is there, was refused or is in back-off; records the events of behaviours 20 (Pulling, Pulled,
  // Failed, BackOff ...). Cancelled: leaves a pull that others share to them.
  Co<absl::StatusOr<ImageOutcome>> ensure(pods::PodPtr pod, pods::ContainerRef container,
                                          cri::SandboxConfig for_sandbox, std::optional<cri::Auth> auth);

  // How far a pull in flight (of the image with its tag) is, in one line for `describe`; empty where none is.
  std::string pull_in_flight(const std::string& image) const;

  // Forgets the back-off entries of a pod.
  void forget(const PodUid& uid);

  // Cancels all pulls and joins.
  Co<void> close();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

// "box" -> "docker.io/library/box:latest"-free rule of the kubelet: appends ":latest" only where there is neither tag
// nor digest; an error for a malformed reference ("couldn't parse image name ...").
absl::StatusOr<std::string> with_default_tag(const std::string& image);

}  // namespace podwright::images
