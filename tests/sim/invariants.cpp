#include "tests/sim/invariants.h"

#include <algorithm>

#include "agent/pods/containers.h"

namespace podwright::sim {
namespace {

using pods::ContainerKind;

// How long a status may contradict the runtime.
constexpr Duration kStatusLag = std::chrono::seconds(2);
// What a termination may take beyond its grace: the calls themselves, and the agent's start where it was killed.
constexpr Duration kStopSlack = std::chrono::seconds(5);
constexpr Duration kStartOfAgent = std::chrono::seconds(3);
constexpr Duration kBetweenLooks = std::chrono::milliseconds(100);

bool is_terminal(const std::string& phase) {
  return phase == "Succeeded" || phase == "Failed";
}

std::string bare_id(const std::string& id) {
  const auto slash = id.rfind('/');
  return slash == std::string::npos ? id : id.substr(slash + 1);
}

const core::Container* find_container(const core::Pod& pod, const ContainerName& name) {
  for (const auto* list : {&pod.spec().initcontainers(), &pod.spec().containers()}) {
    for (const auto& container : *list) {
      if (container.name() == name.value) return &container;
    }
  }
  return nullptr;
}

bool is_sidecar(const core::Container& init) {
  return init.restartpolicy() == "Always";
}

bool is_regular(const core::Pod& pod, const ContainerName& name) {
  return std::any_of(pod.spec().containers().begin(), pod.spec().containers().end(),
                     [&name](const auto& container) { return container.name() == name.value; });
}

}  // namespace

void Invariants::note_reboot() {
  note_fault();
  ++boots_;
  counts_.clear();
}

bool Invariants::quiet() const {
  return world_.loop().now() - last_fault_ > kQuietAfter && !world_.runtime().is_down();
}

const core::Pod* Invariants::spec_of(const PodUid& uid) const {
  const auto found = specs_.find(uid);
  return found == specs_.end() ? nullptr : found->second.get();
}

std::string Invariants::told(const PodUid& uid) const {
  const auto* pod = spec_of(uid);
  return pod != nullptr ? pods::key_of(*pod).text() + " (" + uid.value.substr(0, 8) + ")" : uid.value;
}

std::string Invariants::check() {
  if (auto broken = follow_statuses(); !broken.empty()) return broken;
  if (auto broken = follow_truth(); !broken.empty()) return broken;
  const Instant now = world_.loop().now();
  if (now - last_look_ < kBetweenLooks || !quiet()) return "";
  last_look_ = now;
  if (auto broken = ends_in_time(); !broken.empty()) return broken;
  return statuses_are_true();
}

// ---- what the runtime did ----

std::string Invariants::follow_truth() {
  const auto& all = world_.runtime().truth().containers;
  for (; lives_ < all.size(); ++lives_) {
    open_.push_back({lives_, false, false});
    by_id_[all[lives_].id] = lives_;
  }
  std::string broken;
  for (auto& open : open_) {
    const auto& life = all[open.index];
    if (!open.started && life.started_at) {
      open.started = true;
      if (broken.empty()) broken = on_start(life);
    }
    if (!open.termed && life.term_at) {
      open.termed = true;
      if (broken.empty()) broken = ends_in_its_turn(life);
    }
  }
  std::erase_if(open_, [&all](const Open& open) {
    const auto& life = all[open.index];
    return life.ended_at || life.removed_at;
  });
  return broken;
}

std::string Invariants::on_start(const cri::ContainerLife& life) {
  if (auto broken = runs_alone(life); !broken.empty()) return broken;
  if (auto broken = runs_as_often_as_it_may(life); !broken.empty()) return broken;
  return runs_in_its_turn(life);
}

// No two containers of one (pod, name) run at once, nor two pods of one full name.
std::string Invariants::runs_alone(const cri::ContainerLife& life) const {
  const auto& all = world_.runtime().truth().containers;
  const auto* pod = spec_of(life.uid);
  for (const auto& open : open_) {
    const auto& other = all[open.index];
    if (&other == &life || !other.started_at || other.ended_at) continue;
    if (other.uid == life.uid && other.name == life.name) {
      return fmt::format("container {} of pod {} started while an earlier one ran", life.name, told(life.uid));
    }
    const auto* other_pod = spec_of(other.uid);
    if (other.uid != life.uid && pod != nullptr && other_pod != nullptr &&
        pods::full_name(*pod) == pods::full_name(*other_pod)) {
      return fmt::format("pod {} started while an earlier pod of the name ran: {}", told(life.uid), told(other.uid));
    }
  }
  return "";
}

// Never: at most once. OnFailure: not after a success that was shown.
std::string Invariants::runs_as_often_as_it_may(const cri::ContainerLife& life) {
  const int runs = ++runs_[{life.uid, life.name}];
  const auto* pod = spec_of(life.uid);
  if (pod == nullptr) return fmt::format("container {} of a pod that was never shown started", life.name);
  if (!is_regular(*pod, life.name)) return "";
  const std::string& policy = pod->spec().restartpolicy();
  if (policy == "Never" && runs > 1) {
    return fmt::format("container {} of pod {} ran {} times under policy Never", life.name, told(life.uid), runs);
  }
  if (policy != "Always" && succeeded_.contains({life.uid, life.name})) {
    return fmt::format("container {} of pod {} ran again after its success under policy {}", life.name, told(life.uid),
                       policy);
  }
  return "";
}

// In one sandbox: init containers one after the other, each after the success of the one before; sidecars begin in
// their place among them; the others after all of these.
std::string Invariants::runs_in_its_turn(const cri::ContainerLife& life) const {
  const auto* pod = spec_of(life.uid);
  for (const auto& earlier : pod->spec().initcontainers()) {
    if (earlier.name() == life.name.value) break;
    const auto runs = world_.runtime().truth().runs_of(life.uid, ContainerName(earlier.name()));
    const bool done = std::any_of(runs.begin(), runs.end(), [&](const auto* run) {
      if (run->sandbox != life.sandbox) return false;
      return is_sidecar(earlier) || (run->ended_at && run->exit_code == 0);
    });
    if (!done) {
      return fmt::format("container {} of pod {} started before {} {}", life.name, told(life.uid), earlier.name(),
                         is_sidecar(earlier) ? "had begun" : "had succeeded");
    }
  }
  return "";
}

// A sidecar is told to end only after the containers it serves, or once their grace is over.
std::string Invariants::ends_in_its_turn(const cri::ContainerLife& life) const {
  const auto* pod = spec_of(life.uid);
  const auto* container = pod != nullptr ? find_container(*pod, life.name) : nullptr;
  if (container == nullptr || is_regular(*pod, life.name) || !is_sidecar(*container)) return "";
  const auto since = terminating_since_.find(life.uid);
  const auto grace = std::chrono::seconds(pod->spec().terminationgraceperiodseconds());
  if (since == terminating_since_.end() ? !quiet() : world_.loop().now() >= since->second + grace) return "";
  const auto& all = world_.runtime().truth().containers;
  for (const auto& open : open_) {
    const auto& other = all[open.index];
    if (other.uid != life.uid || !other.started_at || other.ended_at || !is_regular(*pod, other.name)) continue;
    if (!other.term_at) {
      return fmt::format("sidecar {} of pod {} was told to end while {} ran", life.name, told(life.uid), other.name);
    }
  }
  return "";
}

// A container that was told to end has ended within the grace of its pod.
std::string Invariants::ends_in_time() const {
  const auto& all = world_.runtime().truth().containers;
  const Instant now = world_.loop().now();
  for (const auto& open : open_) {
    const auto& life = all[open.index];
    const auto* pod = spec_of(life.uid);
    if (!life.term_at || pod == nullptr || *life.term_at - last_fault_ <= kQuietAfter) continue;
    const auto grace = std::chrono::seconds(std::max<int64_t>(pod->spec().terminationgraceperiodseconds(), 1));
    const Instant limit = std::max(*life.term_at + grace, world_.started_at() + kStartOfAgent) + kStopSlack;
    if (now <= limit) continue;
    return fmt::format("container {} of pod {} runs {} after it was told to end, with a grace of {}", life.name,
                       told(life.uid), to_text(now - *life.term_at), to_text(grace));
  }
  return "";
}

// ---- what the agent said ----

std::string Invariants::follow_statuses() {
  const auto& published = world_.published();
  for (; statuses_ < published.size(); ++statuses_) {
    const auto& one = published[statuses_];
    if (one.pod) specs_[one.uid] = one.pod;
    if (auto broken = goes_on(one); !broken.empty()) return broken;
    if (one.state == "Terminating") terminating_since_.emplace(one.uid, one.at);
    if (!one.status) continue;
    if (auto broken = phase_is_final(one); !broken.empty()) return broken;
    for (const auto* list : {&one.status->initcontainerstatuses(), &one.status->containerstatuses()}) {
      for (const auto& container : *list) {
        if (auto broken = exits_are_true(one, container); !broken.empty()) return broken;
        if (auto broken = shows_no_step_back(one, container); !broken.empty()) return broken;
        if (auto broken = counts_only_grow(one, container); !broken.empty()) return broken;
        const auto& state = container.state();
        if (state.has_terminated() && state.terminated().exitcode() == 0) {
          succeeded_.insert({one.uid, ContainerName(container.name())});
        }
      }
    }
  }
  return "";
}

// A pod's life goes one way; only one whose manifest came anew begins again, and one of which a power cut lost what was
// not synced.
std::string Invariants::goes_on(const Published& one) {
  constexpr const char* kStates[] = {"Waiting", "Syncing", "Terminating", "Terminated", "Finished"};
  const int rank = static_cast<int>(std::find(std::begin(kStates), std::end(kStates), one.state) - std::begin(kStates));
  const std::string name = one.key.name.substr(0, one.key.name.find('-'));
  const int generation = generations_[name];
  const auto known = incarnations_.find(one.uid);
  if (known == incarnations_.end()) {
    incarnations_[one.uid] = {generation, rank, boots_};
    return "";
  }
  auto& before = known->second;
  // An agent that starts looks first whether what had ended is really gone, so that it may be shown one state earlier.
  const bool back = rank <= 1 && before.rank > rank;
  before.rank = rank;
  if (!back) return "";
  if (generation == before.generation && boots_ == before.boots) {
    return fmt::format("pod {} begins again as {}, though nobody asked for it", told(one.uid), one.state);
  }
  if (generation != before.generation) forget(one.uid);
  before.generation = generation;
  before.boots = boots_;
  return "";
}

void Invariants::forget(const PodUid& uid) {
  const auto of_pod = [&uid](const auto& one) { return one.first.first == uid; };
  phases_.erase(uid);
  terminating_since_.erase(uid);
  std::erase_if(runs_, of_pod);
  std::erase_if(counts_, of_pod);
  std::erase_if(succeeded_, [&uid](const Whose& one) { return one.first == uid; });
}

// A terminal phase is final (a static pod's included, as long as its UID is the same).
std::string Invariants::phase_is_final(const Published& one) {
  auto& phase = phases_[one.uid];
  if (is_terminal(phase) && one.status->phase() != phase) {
    return fmt::format("pod {} was {} and is shown as {}", told(one.uid), phase, one.status->phase());
  }
  phase = one.status->phase();
  return "";
}

// Exit codes are never invented.
std::string Invariants::exits_are_true(const Published& one, const core::ContainerStatus& container) const {
  const auto& all = world_.runtime().truth().containers;
  for (const auto* state : {&container.state(), &container.laststate()}) {
    if (!state->has_terminated() || state->terminated().reason() == "ContainerStatusUnknown") continue;
    const std::string& id = state->terminated().containerid();
    if (id.empty()) {
      // Upstream's shape for an init container of which nothing is left: it must have succeeded.
      const auto runs = world_.runtime().truth().runs_of(one.uid, ContainerName(container.name()));
      const bool succeeded =
          std::any_of(runs.begin(), runs.end(), [](const auto* run) { return run->ended_at && run->exit_code == 0; });
      if (succeeded && state->terminated().exitcode() == 0) continue;
    }
    auto found = by_id_.find(ContainerId(bare_id(id)));
    const cri::ContainerLife* life = found == by_id_.end() ? nullptr : &all[found->second];
    for (std::size_t i = lives_; life == nullptr && i < all.size(); ++i) {
      if (all[i].id.value == bare_id(id)) life = &all[i];
    }
    if (life == nullptr)
      return fmt::format("pod {} shows an end of a container that never was: {} of {}", told(one.uid), id,
                         container.name());
    if (!life->ended_at && life->started_at)
      return fmt::format("pod {} shows container {} as ended while it runs", told(one.uid), container.name());
    if (life->ended_at && life->exit_code != state->terminated().exitcode()) {
      return fmt::format("pod {} shows exit code {} of container {}, which ended with {}", told(one.uid),
                         state->terminated().exitcode(), container.name(), life->exit_code);
    }
  }
  return "";
}

// What was shown as running, and runs, is not shown as waiting again; a restart of the agent is no reason either.
std::string Invariants::shows_no_step_back(const Published& one, const core::ContainerStatus& container) {
  if (container.state().has_running()) shown_running_.insert(bare_id(container.containerid()));
  if (!container.state().has_waiting()) return "";
  const auto& all = world_.runtime().truth().containers;
  for (const auto& open : open_) {
    const auto& life = all[open.index];
    if (life.uid != one.uid || life.name.value != container.name() || !life.started_at || life.ended_at) continue;
    if (!shown_running_.contains(life.id.value)) continue;
    return fmt::format("container {} of pod {} runs, was shown so, and is shown as waiting: {} {}", life.name,
                       told(one.uid), container.state().waiting().reason(), container.state().waiting().message());
  }
  return "";
}

// A restart count does not go back within a boot.
std::string Invariants::counts_only_grow(const Published& one, const core::ContainerStatus& container) {
  auto& count = counts_[{one.uid, ContainerName(container.name())}];
  if (container.restartcount() < count) {
    return fmt::format("the restart count of container {} of pod {} went from {} to {}", container.name(),
                       told(one.uid), count, container.restartcount());
  }
  count = container.restartcount();
  return "";
}

// What runs is shown as running and the other way round, but for kStatusLag.
std::string Invariants::statuses_are_true() {
  const Instant now = world_.loop().now();
  if (world_.agent() == nullptr || now - world_.started_at() < kStartOfAgent) return "";
  const auto& all = world_.runtime().truth().containers;
  std::set<std::string> shown;
  for (const auto& pod : world_.agent()->board().snapshot()->pods) {
    if (!pod->status) continue;
    for (const auto* list : {&pod->status->initcontainerstatuses(), &pod->status->containerstatuses()}) {
      for (const auto& container : *list) {
        if (!container.state().has_running()) continue;
        const std::string id = bare_id(container.containerid());
        shown.insert(id);
        const auto found = by_id_.find(ContainerId(id));
        const auto* life = found == by_id_.end() ? nullptr : &all[found->second];
        if (life == nullptr) return fmt::format("pod {} shows a container that never was: {}", told(pod->uid), id);
        if (life->ended_at && now - *life->ended_at > kStatusLag) {
          return fmt::format("container {} of pod {} ended {} ago and is shown as running ({}, {})", container.name(),
                             told(pod->uid), to_text(now - *life->ended_at), pod->state, pod->waiting_for);
        }
      }
    }
  }
  for (const auto& open : open_) {
    const auto& life = all[open.index];
    if (!life.started_at || life.ended_at || now - *life.started_at <= kStatusLag) continue;
    // As upstream, a container shows as being created until its postStart hook has ended.
    const auto* pod = spec_of(life.uid);
    const auto* container = pod != nullptr ? find_container(*pod, life.name) : nullptr;
    if (container != nullptr && container->lifecycle().has_poststart()) continue;
    if (!shown.contains(life.id.value)) {
      return fmt::format("container {} of pod {} runs since {} and is not shown so", life.name, told(life.uid),
                         to_text(now - *life.started_at));
    }
  }
  return "";
}

// ---- at the end ----

std::string Invariants::nothing_is_left(const std::set<PodUid>& known) const {
  for (const auto& sandbox : world_.runtime().sandboxes()) {
    if (!known.contains(sandbox.uid)) return fmt::format("sandbox {} of pod {} is left", sandbox.id, told(sandbox.uid));
  }
  for (const auto& life : world_.runtime().truth().containers) {
    if (life.removed_at || known.contains(life.uid)) continue;
    return fmt::format("container {} of pod {}, which is gone, is left", life.name, told(life.uid));
  }
  // Directories and cgroups whose name ends in the pod's UID: "<uid>", "<ns>_<name>_<uid>", "pod<uid>".
  const std::string cgroups = "/sys/fs/cgroup/kubepods";
  for (const std::string& path : {std::string("/var/lib/kubelet/pods"), std::string("/var/log/pods"), cgroups,
                                  cgroups + "/burstable", cgroups + "/besteffort"}) {
    const auto entries = world_.tree().list(path);
    if (!entries.ok()) continue;
    for (const auto& entry : *entries) {
      if (path.starts_with(cgroups) && !entry.name.starts_with("pod")) continue;
      const bool wanted = std::any_of(known.begin(), known.end(),
                                      [&entry](const PodUid& uid) { return entry.name.ends_with(uid.value); });
      if (!wanted) return fmt::format("{} of a pod that is gone is left", join_path(path, entry.name));
    }
  }
  return "";
}

// Every manifest has its pod, and that is as it wants to be.
std::string Invariants::converged() const {
  const auto view = world_.agent()->board().snapshot();
  if (view->pods.size() != world_.manifests().size()) {
    return fmt::format("{} manifests and {} pods", world_.manifests().size(), view->pods.size());
  }
  for (const auto& pod : view->pods) {
    const std::string phase = pod->status ? pod->status->phase() : "";
    const auto& policy = pod->pod->spec().restartpolicy();
    if (is_terminal(phase) && policy != "Always") continue;
    bool stands = phase == "Running";
    for (const auto& container : pods::containers_of(pod->pod)) {
      if (container.kind == ContainerKind::kInit || container.kind == ContainerKind::kEphemeral) continue;
      const auto runs = world_.runtime().truth().runs_of(pod->uid, container.name);
      const bool alive = std::any_of(runs.begin(), runs.end(), [](const auto* run) { return !run->ended_at; });
      const bool done = policy != "Always" && container.kind == ContainerKind::kRegular &&
                        succeeded_.contains({pod->uid, container.name});
      stands = stands && (alive || done);
    }
    if (!stands) {
      return fmt::format("pod {} did not converge: {} ({}, {})\n{}", told(pod->uid), phase, pod->state,
                         pod->waiting_for, pod->status ? pod->status->ShortDebugString() : "");
    }
  }
  return "";
}

std::string Invariants::check_end() const {
  if (world_.agent() == nullptr) return "no agent runs at the end";
  if (auto broken = converged(); !broken.empty()) return broken;
  std::set<PodUid> known;
  for (const auto& pod : world_.agent()->board().snapshot()->pods) known.insert(pod->uid);
  return nothing_is_left(known);
}

}  // namespace podwright::sim
