// What `get` shows of an object, computed as kubectl does. Pure. Source: pkg/printers/internalversion/printers.go.
#pragma once

#include <string>
#include <vector>

#include "agent/cli/table.h"
#include "api/types.h"

namespace podwright::cli {

// The STATUS column and what is counted on the way to it.
struct PodSummary {
  std::string status;  // "Running", "Init:0/1", "CrashLoopBackOff", "Completed", "Terminating" ...
  int ready = 0;
  int total = 0;
  int64_t restarts = 0;
  meta::Time last_restart;  // not set: none
};
PodSummary summarize(const core::Pod& pod);

struct Columns {
  bool wide = false;
  bool with_namespace = false;
};

std::vector<std::string> pod_header(Columns columns);
std::vector<std::string> pod_row(const core::Pod& pod, Columns columns, WallTime now);
std::vector<std::string> node_header(Columns columns);
std::vector<std::string> node_row(const core::Node& node, Columns columns, WallTime now);
std::vector<std::string> event_header(Columns columns);
std::vector<std::string> event_row(const core::Event& event, Columns columns, WallTime now);

// "RESTARTS": "3", or "3 (5m ago)".
std::string restarts_text(const PodSummary& summary, WallTime now);

}  // namespace podwright::cli
