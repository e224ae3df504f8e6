// NodeView: what readers (the server, the command line, metrics) get to see: one immutable snapshot of the node's pods.
// NodeBoard is where the sync loop puts each pod's newest view; a snapshot is a handful of shared pointers.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "agent/pods/pod.h"
#include "base/co/bell.h"

namespace podwright::pods {

// One pod as a reader sees it.
struct PodView {
  PodUid uid;
  PodPtr pod;
  PodStatusPtr status;
  SourceKind source = SourceKind::kFile;
  std::string origin;
  // The worker's state, for people: "Syncing", "Terminating", ...
  std::string state;
  // What it is waiting for and what happens next, in one line; empty where it waits for nothing.
  std::string waiting_for;
  // Grows with each change of this pod; the resourceVersion that `-w` shows.
  uint64_t version = 0;
};
using PodViewPtr = std::shared_ptr<const PodView>;

struct NodeView {
  std::string node_name;
  uint64_t version = 0;
  std::vector<PodViewPtr> pods;  // by namespace and name
  std::vector<SourceProblem> problems;
};

class NodeBoard {
 public:
  NodeBoard(Loop& loop, std::string node_name) : node_name_(std::move(node_name)), changed_(loop) {}

  void put(PodView view);
  void erase(const PodUid& uid);
  void put_problem(SourceProblem problem);

  std::shared_ptr<const NodeView> snapshot() const;
  PodViewPtr find(const PodUid& uid) const;
  uint64_t version() const { return version_; }

  // Waits for the next change.
  Co<Wait> changed(Instant deadline) { return changed_.wait_until(deadline); }

 private:
  std::string node_name_;
  uint64_t version_ = 1;
  std::map<PodUid, PodViewPtr> pods_;
  std::map<std::string, SourceProblem> problems_;
  mutable std::shared_ptr<const NodeView> cached_;
  Notice changed_;
};

}  // namespace podwright::pods
