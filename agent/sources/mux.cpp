#include "agent/sources/mux.h"

#include <algorithm>
#include <set>

namespace podwright::sources {
namespace {

std::map<std::string, std::string> compared_annotations(const core::Pod& pod) {
  std::map<std::string, std::string> annotations(pod.metadata().annotations().begin(),
                                                 pod.metadata().annotations().end());
  annotations.erase(pods::kConfigSourceAnnotation);
  annotations.erase(pods::kConfigSeenAnnotation);
  return annotations;
}

// Maps have no order in protobuf, so bytes are compared of a form that has one.
std::string canonical(const google::protobuf::Message& message) {
  std::string bytes;
  google::protobuf::io::StringOutputStream stream(&bytes);
  google::protobuf::io::CodedOutputStream coded(&stream);
  coded.SetSerializationDeterministic(true);
  message.SerializePartialToCodedStream(&coded);
  coded.Trim();
  return bytes;
}

}  // namespace

bool differs(const core::Pod& older, const core::Pod& newer) {
  const std::map<std::string, std::string> old_labels(older.metadata().labels().begin(),
                                                      older.metadata().labels().end());
  const std::map<std::string, std::string> new_labels(newer.metadata().labels().begin(),
                                                      newer.metadata().labels().end());
  return canonical(older.spec()) != canonical(newer.spec()) || old_labels != new_labels ||
         compared_annotations(older) != compared_annotations(newer) ||
         older.metadata().has_deletiontimestamp() != newer.metadata().has_deletiontimestamp() ||
         older.metadata().deletiongraceperiodseconds() != newer.metadata().deletiongraceperiodseconds();
}

void Mux::put(PodSet set) {
  using Op = pods::PodUpdate::Op;
  auto& known = sets_[set.source];
  pods::SourceUpdate update;
  update.source = set.source;
  update.complete = true;

  // Of two pods of one name the first counts, and the other is told.
  std::map<std::string, std::string> names;
  std::map<PodUid, Known> wanted;
  std::map<std::string, pods::SourceProblem> clashes;
  for (auto& one : set.pods) {
    const std::string name = pods::full_name(*one.pod);
    const auto [place, fresh] = names.try_emplace(name, one.origin);
    if (!fresh) {
      clashes[one.origin] = {
          set.source, one.origin,
          fmt::format("pod {} is already defined in {}, which counts; rename one of them", name, place->second),
          pods::key_of(*one.pod)};
      continue;
    }
    wanted[pods::uid_of(*one.pod)] = {one.pod, one.origin};
  }
  for (const auto& [origin, problem] : clashes) problems_(problem);
  for (const auto& [origin, problem] : clashes_) {
    if (!clashes.contains(origin)) problems_({problem.source, origin, "", std::nullopt});
  }
  clashes_ = std::move(clashes);

  const auto add = [&](Op op, const Known& one) {
    update.changes.push_back({op, set.source, one.pod, nullptr, one.origin});
  };
  for (const auto& [uid, one] : known) {
    if (!wanted.contains(uid)) add(Op::kRemove, one);
  }
  for (auto& [uid, one] : wanted) {
    if (!known.contains(uid)) {
      // When it was first seen is part of the pod, so it is set once, here.
      auto dated = std::make_shared<core::Pod>(*one.pod);
      (*dated->mutable_metadata()->mutable_annotations())[pods::kConfigSeenAnnotation] = to_rfc3339_nano(clock_.wall());
      one.pod = std::move(dated);
      add(Op::kAdd, one);
    }
  }
  for (auto& [uid, one] : wanted) {
    const auto before = known.find(uid);
    if (before == known.end()) continue;
    if (!differs(*before->second.pod, *one.pod)) {
      one.pod = before->second.pod;
      continue;
    }
    const bool deleted = one.pod->metadata().has_deletiontimestamp();
    add(deleted ? Op::kDelete : Op::kUpdate, one);
  }
  known = std::move(wanted);
  updates_(std::move(update));
}

}  // namespace podwright::sources
