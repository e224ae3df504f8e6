#include "pleg/relist.h"

#include <set>

namespace podwright::pleg {
namespace {

using Kind = PodEvent::Kind;

std::string label(const cri::Labels& labels, const char* name) {
  const auto found = labels.find(name);
  return found == labels.end() ? "" : found->second;
}

Seen seen_of(cri::ContainerState state) {
  switch (state) {
    case cri::ContainerState::kRunning: return Seen::kRunning;
    case cri::ContainerState::kExited: return Seen::kExited;
    case cri::ContainerState::kCreated:
    case cri::ContainerState::kUnknown: return Seen::kUnknown;
  }
  std::abort();  // not one of the enumerators: memory is broken
}

Seen at(const std::map<std::string, Seen>& states, const std::string& id) {
  const auto found = states.find(id);
  return found == states.end() ? Seen::kGone : found->second;
}

void compare(const PodUid& uid, const std::map<std::string, Seen>& before, const std::map<std::string, Seen>& now,
             bool sandboxes, std::vector<PodEvent>& events) {
  std::set<std::string> ids;
  for (const auto& [id, state] : before) ids.insert(id);
  for (const auto& [id, state] : now) ids.insert(id);
  for (const auto& id : ids) {
    const Seen was = at(before, id);
    const Seen is = at(now, id);
    if (was == is) continue;
    if (sandboxes) {
      events.push_back({uid, Kind::kSandboxChanged, id});
      continue;
    }
    switch (is) {
      case Seen::kRunning: events.push_back({uid, Kind::kStarted, id}); break;
      case Seen::kExited: events.push_back({uid, Kind::kDied, id}); break;
      case Seen::kUnknown: events.push_back({uid, Kind::kChanged, id}); break;
      case Seen::kGone:
        if (was != Seen::kExited) events.push_back({uid, Kind::kDied, id});
        events.push_back({uid, Kind::kRemoved, id});
        break;
    }
  }
}

}  // namespace

std::optional<std::pair<PodUid, PodKey>> pod_of(const cri::Labels& labels) {
  const std::string uid = label(labels, cri::kPodUidLabel);
  if (uid.empty()) return std::nullopt;
  return std::pair(PodUid(uid), PodKey{label(labels, cri::kPodNamespaceLabel), label(labels, cri::kPodNameLabel)});
}

PodStates states_of_pod(const std::vector<cri::SandboxStatus>& sandboxes,
                        const std::vector<cri::ContainerStatus>& containers) {
  PodStates states;
  for (const auto& sandbox : sandboxes) {
    states.sandboxes[sandbox.id.value] = sandbox.state == cri::SandboxState::kReady ? Seen::kRunning : Seen::kExited;
  }
  for (const auto& container : containers) states.containers[container.id.value] = seen_of(container.state);
  return states;
}

AllStates states_of(const std::vector<cri::SandboxStatus>& sandboxes,
                    const std::vector<cri::ContainerStatus>& containers) {
  AllStates all;
  for (const auto& sandbox : sandboxes) {
    if (sandbox.uid.empty()) continue;
    all[sandbox.uid].sandboxes[sandbox.id.value] =
        sandbox.state == cri::SandboxState::kReady ? Seen::kRunning : Seen::kExited;
  }
  for (const auto& container : containers) {
    const auto owner = pod_of(container.labels);
    if (owner) all[owner->first].containers[container.id.value] = seen_of(container.state);
  }
  return all;
}

std::vector<PodEvent> generate_events(const AllStates& before, const AllStates& now) {
  static const PodStates kNone;
  std::set<PodUid> uids;
  for (const auto& [uid, states] : before) uids.insert(uid);
  for (const auto& [uid, states] : now) uids.insert(uid);
  std::vector<PodEvent> events;
  for (const auto& uid : uids) {
    const auto old_place = before.find(uid);
    const auto new_place = now.find(uid);
    const PodStates& was = old_place == before.end() ? kNone : old_place->second;
    const PodStates& is = new_place == now.end() ? kNone : new_place->second;
    compare(uid, was.sandboxes, is.sandboxes, true, events);
    compare(uid, was.containers, is.containers, false, events);
  }
  return events;
}

}  // namespace podwright::pleg
