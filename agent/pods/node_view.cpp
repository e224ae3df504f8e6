#include "agent/pods/node_view.h"

#include <algorithm>

namespace podwright::pods {

void NodeBoard::put(PodView view) {
  view.version = ++version_;
  cached_.reset();
  PodUid uid = view.uid;
  pods_[std::move(uid)] = std::make_shared<const PodView>(std::move(view));
  changed_.notify();
}

void NodeBoard::erase(const PodUid& uid) {
  if (pods_.erase(uid) == 0) return;
  ++version_;
  cached_.reset();
  changed_.notify();
}

void NodeBoard::put_problem(SourceProblem problem) {
  const std::string key = problem.origin;
  const auto found = problems_.find(key);
  if (problem.text.empty()) {
    if (found == problems_.end()) return;
    problems_.erase(found);
  } else {
    if (found != problems_.end() && found->second == problem) return;
    problems_[key] = std::move(problem);
  }
  ++version_;
  cached_.reset();
  changed_.notify();
}

PodViewPtr NodeBoard::find(const PodUid& uid) const {
  const auto found = pods_.find(uid);
  return found == pods_.end() ? nullptr : found->second;
}

std::shared_ptr<const NodeView> NodeBoard::snapshot() const {
  if (cached_) return cached_;
  auto view = std::make_shared<NodeView>();
  view->node_name = node_name_;
  view->version = version_;
  for (const auto& [uid, pod] : pods_) view->pods.push_back(pod);
  std::sort(view->pods.begin(), view->pods.end(), [](const PodViewPtr& a, const PodViewPtr& b) {
    const PodKey left = key_of(*a->pod);
    const PodKey right = key_of(*b->pod);
    return std::tie(left, a->uid) < std::tie(right, b->uid);
  });
  for (const auto& [origin, problem] : problems_) view->problems.push_back(problem);
  cached_ = std::move(view);
  return cached_;
}

}  // namespace podwright::pods
