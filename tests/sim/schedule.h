// A schedule: what happens to a machine over some virtual minutes, drawn from a seed: pods that come, change and go,
// exits, and faults (kills of the agent at any step, reboots, calls that fail, hang or whose answer is lost, events
// that are lost, doubled or late, containers that vanish, steps of the wall clock). The same seed gives the same run.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace podwright::sim {

struct ScheduleOptions {
  uint64_t seed = 1;
  int pods = 20;
  int minutes = 6;
  // Operations to leave out, by number: how a failing run is made smaller.
  std::vector<int> without;
  bool trace = false;
};

struct ScheduleResult {
  // Empty where every invariant held.
  std::string broken;
  std::vector<std::string> operations;  // as drawn, in order
  std::vector<std::string> trace;       // the last lines of the agent's log, where asked for
  uint64_t steps = 0;
};

ScheduleResult run_schedule(const ScheduleOptions& options);

// The fewest operations that still break the same way.
ScheduleOptions shrink(ScheduleOptions options, const ScheduleResult& broken);

}  // namespace podwright::sim
