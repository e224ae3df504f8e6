#include "tests/sim/invariants.h"

#include <algorithm>

#include "agent/pods/containers.h"

namespace podwright::sim {
namespace {

bool is_terminal(const std::string& phase) {
  return phase == "Succeeded" || phase == "Failed";
}

}  // namespace

std::string StepInvariants::check(SimWorld& world) {
  const auto& truth = world.runtime().truth();
  // No two containers of one (pod, name) run at once.
  if (truth.containers.size() != lives_) {
    lives_ = truth.containers.size();
    const auto overlaps = truth.overlapping_containers();
    if (!overlaps.empty()) return "two containers of one name ran at once: " + overlaps.front();
  }
  // A terminal phase is final (a static pod's included, as long as its UID is the same).
  const auto& published = world.published();
  for (; statuses_ < published.size(); ++statuses_) {
    const auto& one = published[statuses_];
    if (!one.status) continue;
    auto& phase = phases_[one.uid];
    if (is_terminal(phase) && one.status->phase() != phase) {
      return fmt::format("pod {} was {} and is shown as {}", one.key, phase, one.status->phase());
    }
    phase = one.status->phase();
    // Exit codes are never invented.
    for (const auto& container : one.status->containerstatuses()) {
      for (const auto* state : {&container.state(), &container.laststate()}) {
        if (!state->has_terminated() || state->terminated().reason() == "ContainerStatusUnknown") continue;
        const std::string id = state->terminated().containerid();
        const auto slash = id.rfind('/');
        const std::string bare = slash == std::string::npos ? id : id.substr(slash + 1);
        const auto life = std::find_if(truth.containers.begin(), truth.containers.end(),
                                       [&bare](const auto& l) { return l.id.value == bare; });
        if (life == truth.containers.end())
          return fmt::format("pod {} shows an end of a container that never was: {}", one.key, id);
        if (!life->ended_at)
          return fmt::format("pod {} shows container {} as ended while it runs", one.key, container.name());
        if (life->exit_code != state->terminated().exitcode()) {
          return fmt::format("pod {} shows exit code {} of container {}, which ended with {}", one.key,
                             state->terminated().exitcode(), container.name(), life->exit_code);
        }
      }
    }
  }
  return "";
}

std::string check_end(SimWorld& world) {
  const auto& truth = world.runtime().truth();
  std::map<PodUid, pods::PodPtr> known;
  if (world.agent() == nullptr) return "no agent runs at the end";
  const auto view = world.agent()->board().snapshot();
  for (const auto& pod : view->pods) known[pod->uid] = pod->pod;

  // Every manifest has its pod, settled: as it wants to be.
  if (view->pods.size() != world.manifests().size()) {
    return fmt::format("{} manifests and {} pods", world.manifests().size(), view->pods.size());
  }
  for (const auto& pod : view->pods) {
    const std::string& phase = pod->status ? pod->status->phase() : "";
    if (phase != "Running" && !is_terminal(phase)) {
      const bool waits = std::any_of(pod->status->containerstatuses().begin(), pod->status->containerstatuses().end(),
                                     [](const auto& c) { return c.state().has_waiting(); });
      return fmt::format("pod {} did not converge: {} ({}{})", pods::key_of(*pod->pod), phase, pod->waiting_for,
                         waits ? ", a container waits" : "");
    }
  }
  // Nothing is left of pods that are gone.
  for (const auto& sandbox : world.runtime().sandboxes()) {
    if (!known.contains(sandbox.uid)) return fmt::format("sandbox {} of pod {} is left", sandbox.id, sandbox.pod);
  }
  for (const auto& life : truth.containers) {
    if (life.removed_at || known.contains(life.uid) || life.forgotten) continue;
    return fmt::format("container {} of a pod that is gone is left", life.name);
  }
  const auto directories = world.tree().list("/var/lib/kubelet/pods");
  if (directories.ok()) {
    for (const auto& entry : *directories) {
      if (!known.contains(PodUid(entry.name))) return "the directory of a pod that is gone is left: " + entry.name;
    }
  }
  // Policy Never: at most once.
  for (const auto& [uid, pod] : known) {
    if (pod->spec().restartpolicy() != "Never") continue;
    for (const auto& container : pods::containers_of(pod)) {
      if (container.kind != pods::ContainerKind::kRegular) continue;
      int runs = 0;
      for (const auto* life : truth.runs_of(uid, container.name)) runs += life->started_at ? 1 : 0;
      if (runs > 1)
        return fmt::format("container {} of pod {} ran {} times under policy Never", container.name, pods::key_of(*pod),
                           runs);
    }
  }
  return "";
}

}  // namespace podwright::sim
