// Mux: turns the sets that sources deliver into changes (behaviours 18): REMOVE, ADD, UPDATE, DELETE, in this order,
// and the flag that a source has delivered its first complete list.
#pragma once

#include <map>
#include <vector>

#include "agent/pods/pod.h"
#include "base/co/sink.h"

namespace podwright::sources {

// A complete set of one source.
struct PodSet {
  struct One {
    pods::PodPtr pod;
    std::string origin;
  };
  pods::SourceKind source = pods::SourceKind::kFile;
  std::vector<One> pods;
};

class Mux {
 public:
  Mux(Clock& clock, Sink<pods::SourceUpdate> updates, Sink<pods::SourceProblem> problems)
      : clock_(clock), updates_(std::move(updates)), problems_(std::move(problems)) {}

  void put(PodSet set);

 private:
  struct Known {
    pods::PodPtr pod;
    std::string origin;
  };

  Clock& clock_;
  Sink<pods::SourceUpdate> updates_;
  Sink<pods::SourceProblem> problems_;
  std::map<pods::SourceKind, std::map<PodUid, Known>> sets_;
  // Problems told of pods that share a name, by the origin.
  std::map<std::string, pods::SourceProblem> clashes_;
};

// Whether the newer form asks for a sync: spec, labels, annotations (but for the local ones) or deletion differ.
bool differs(const core::Pod& older, const core::Pod& newer);

}  // namespace podwright::sources
