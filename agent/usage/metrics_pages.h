// The pages of metrics that are written from a snapshot. Names, labels and units are upstream's. Pure.
#pragma once

#include <string>

#include "agent/usage/machine.h"
#include "agent/usage/snapshot.h"

namespace podwright::usage {

// /metrics/resource. Each sample has the time at which it was read.
std::string resource_metrics(const Snapshot& snapshot);
// /metrics/cadvisor, from a snapshot of full depth.
std::string container_metrics(const Snapshot& snapshot, const Machine& machine);

}  // namespace podwright::usage
