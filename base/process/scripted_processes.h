// ScriptedProcesses: children of the simulation and of unit tests. A script, a function of the request, says what comes
// out and after how long; deadlines, cancellation and the output limit are as the real ones.
#pragma once

#include <functional>
#include <vector>

#include "base/co/loop.h"
#include "base/process/processes.h"

namespace podwright {

struct ScriptedRun {
  absl::StatusOr<ProcessResult> result = ProcessResult{};
  Duration takes = Duration::zero();
  // The kernel holds it: it never ends, and is left behind when it is killed.
  bool hangs = false;
};

class ScriptedProcesses final : public Processes {
 public:
  using Script = std::function<ScriptedRun(const ProcessRequest&)>;

  ScriptedProcesses(Loop& loop, Script script) : loop_(&loop), script_(std::move(script)) {}

  Co<absl::StatusOr<ProcessResult>> run(ProcessRequest request, Instant deadline) override;
  std::size_t left_behind() const override { return left_; }

  // What was asked for so far, in order.
  const std::vector<ProcessRequest>& requests() const { return requests_; }
  std::size_t running() const { return running_; }
  // Those left behind end, as when a dead server comes back.
  void let_go() { left_ = 0; }
  void set_script(Script script) { script_ = std::move(script); }
  // After a crash of the agent: its children died with it.
  void attach(Loop& loop);

 private:
  Loop* loop_;
  Script script_;
  std::vector<ProcessRequest> requests_;
  std::size_t left_ = 0;
  std::size_t running_ = 0;
};

}  // namespace podwright
