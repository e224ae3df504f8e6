// `describe pod`: a page in kubectl's manner, with what the agent itself knows on top: where the pod came from, what
// its worker does and what it waits for. Pure.
#pragma once

#include <string>
#include <vector>

#include "api/types.h"
#include "base/time/time.h"

namespace podwright::cli {

struct WaitLine {
  std::string kind, what;
  Duration since{0};
  std::optional<Duration> left;  // until its deadline; nothing: none
};

struct PodDescription {
  core::Pod pod;
  std::vector<core::Event> events;  // oldest first
  std::string origin;               // "file /etc/kubernetes/manifests/web.yaml"
  std::string state;                // the worker's
  std::string waiting_for;
  std::vector<WaitLine> waits;        // oldest first
  std::vector<std::string> problems;  // of its source
};

std::string describe_pod(const PodDescription& about, WallTime now);

}  // namespace podwright::cli
