// Pages: the texts that are served of snapshots. A text is made once for each snapshot, in offloaded work, and shared
// by those who ask meanwhile, so that many scrapes cost little more than one. Loop thread only.
#pragma once

#include <absl/status/statusor.h>

#include <array>
#include <memory>
#include <optional>
#include <string>

#include "agent/usage/machine.h"
#include "agent/usage/usage.h"

namespace podwright::usage {

class Pages {
 public:
  explicit Pages(Usage& usage, Tree& tree) : usage_(usage), tree_(tree) {}

  // stats v1alpha1 Summary as JSON. Unavailable where the caller is stopping.
  Co<absl::StatusOr<std::string>> summary(bool only_cpu_and_memory);
  Co<absl::StatusOr<std::string>> resource_metrics();
  Co<absl::StatusOr<std::string>> container_metrics();

 private:
  enum Kind { kSummary, kLightSummary, kResource, kContainers, kKinds };
  struct Cached {
    uint64_t number = 0;
    std::string text;
  };
  Co<absl::StatusOr<std::string>> page(Kind kind, Depth depth);

  Usage& usage_;
  Tree& tree_;
  std::shared_ptr<const Machine> machine_;
  std::array<Cached, kKinds> cached_;
};

}  // namespace podwright::usage
