// What must hold after each step of a simulation and at its end, as a readable list. Each gives a sentence for what is
// broken, or nothing. What a runtime that misbehaves makes impossible (a status that is true within two seconds) is
// asked for only while it is quiet: once the last fault is kQuietAfter ago.
#pragma once

#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "tests/sim/sim_world.h"

namespace podwright::sim {

// A call whose answer was lost is given up after the runtime's request time-out of 2 min; then comes a back-off of at
// most 30 s, and a relist.
inline constexpr Duration kQuietAfter = std::chrono::seconds(190);

class Invariants {
 public:
  explicit Invariants(SimWorld& world) : world_(world) {}

  // Something went wrong on purpose just now.
  void note_fault() { last_fault_ = world_.loop().now(); }
  // The machine began another boot: what was only in the page cache is lost.
  void note_reboot();

  // The manifest of this pod was written or removed: its pod may be another one from now on, even of the same UID.
  void note_manifest(const std::string& name) { ++generations_[name]; }

  // After each step: a sentence for the first that is broken; empty where all hold. Looks only at what is new.
  std::string check();

  // Once faults have stopped and the world had time to settle.
  std::string check_end() const;

 private:
  using Whose = std::pair<PodUid, ContainerName>;
  struct Open {
    std::size_t index = 0;
    bool started = false;
    bool termed = false;
  };

  bool quiet() const;
  const core::Pod* spec_of(const PodUid& uid) const;
  std::string told(const PodUid& uid) const;

  // ---- what the runtime did ----
  std::string follow_truth();
  std::string on_start(const cri::ContainerLife& life);
  std::string runs_alone(const cri::ContainerLife& life) const;
  std::string runs_as_often_as_it_may(const cri::ContainerLife& life);
  std::string runs_in_its_turn(const cri::ContainerLife& life) const;
  std::string ends_in_its_turn(const cri::ContainerLife& life) const;
  std::string ends_in_time() const;

  // ---- what the agent said ----
  std::string follow_statuses();
  std::string goes_on(const Published& one);
  void forget(const PodUid& uid);
  std::string phase_is_final(const Published& one);
  std::string exits_are_true(const Published& one, const core::ContainerStatus& container) const;
  std::string shows_no_step_back(const Published& one, const core::ContainerStatus& container);
  std::string counts_only_grow(const Published& one, const core::ContainerStatus& container);
  std::string statuses_are_true();

  // ---- what is left ----
  std::string nothing_is_left(const std::set<PodUid>& known) const;
  std::string converged() const;

  SimWorld& world_;
  Instant last_fault_{};
  std::size_t lives_ = 0;
  std::size_t statuses_ = 0;
  Instant last_look_{};
  std::vector<Open> open_;
  std::map<ContainerId, std::size_t> by_id_;
  std::map<PodUid, pods::PodPtr> specs_;
  std::map<PodUid, std::string> phases_;
  std::map<Whose, int> runs_;
  std::map<Whose, int> counts_;
  // A success was shown: must not run again where the policy says so.
  std::set<Whose> succeeded_;
  std::set<std::string> shown_running_;
  std::map<PodUid, Instant> terminating_since_;
  // How often the manifest of a pod's name was touched, now and when this UID began.
  std::map<std::string, int> generations_;
  struct Incarnation {
    int generation = 0;
    int rank = 0;
    int boots = 0;
  };
  std::map<PodUid, Incarnation> incarnations_;
  int boots_ = 0;
};

}  // namespace podwright::sim
