// What must hold after each step of a simulation and at its end, as a readable list. Each gives a sentence for what is
// broken, or nothing.
#pragma once

#include <string>
#include <vector>

#include "tests/sim/sim_world.h"

namespace podwright::sim {

// Cheap ones, looked at after each step (each looks only at what is new).
class StepInvariants {
 public:
  // A sentence for the first that is broken; empty where all hold.
  std::string check(SimWorld& world);

 private:
  std::size_t statuses_ = 0;
  std::size_t lives_ = 0;
  std::map<PodUid, std::string> phases_;
};

// At the end of a schedule, once faults have stopped and the world had time to settle.
std::string check_end(SimWorld& world);

}  // namespace podwright::sim
