// The statistics page: stats v1alpha1 Summary of a snapshot. Pure; of many pods it is offloaded work.
#pragma once

#include <string>

#include "agent/usage/snapshot.h"
#include "podwright/stats.pb.h"

namespace podwright::usage {

// `only_cpu_and_memory` leaves out all but cpu, memory and swap.
stats::Summary to_summary(const Snapshot& snapshot, bool only_cpu_and_memory);
std::string summary_json(const Snapshot& snapshot, bool only_cpu_and_memory);

}  // namespace podwright::usage
