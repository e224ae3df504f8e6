#include "base/process/scripted_processes.h"

#include "base/status/annotate.h"

namespace podwright {

void ScriptedProcesses::attach(Loop& loop) {
  loop_ = &loop;
  running_ = 0;
}

Co<absl::StatusOr<ProcessResult>> ScriptedProcesses::run(ProcessRequest request, Instant deadline) {
  requests_.push_back(request);
  ScriptedRun script = script_(request);
  const Instant ends = script.hangs ? Instant::max() : after(loop_->now(), script.takes);
  ++running_;
  const Wait wait = co_await sleep_until(*loop_, std::min(ends, deadline));
  --running_;
  if (wait == Wait::kCancelled || ends > deadline || script.hangs) {
    if (script.hangs) ++left_;
    if (wait == Wait::kCancelled) co_return absl::CancelledError(fmt::format("run {}: cancelled", request.program));
    co_return absl::DeadlineExceededError(fmt::format("run {}: it did not end in time", request.program));
  }
  if (script.result.ok() &&
      std::max(script.result->stdout_bytes.size(), script.result->stderr_bytes.size()) > request.output_limit) {
    co_return make_status(absl::StatusCode::kResourceExhausted, "run {}: more than {} bytes of output", request.program,
                          request.output_limit);
  }
  co_return std::move(script.result);
}

}  // namespace podwright
