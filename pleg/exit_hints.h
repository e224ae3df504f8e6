// ExitHints: the kernel's word that a container's first process has ended. It comes some ms before the runtime's own
// event, and also where that event is lost. It says nothing of the exit code, so it is only a reason to look.
#pragma once

#include <absl/status/status.h>

#include <cstdint>
#include <map>

#include "api/ids.h"
#include "base/co/sink.h"
#include "base/process/process_ends.h"

namespace podwright::pleg {

class ExitHints {
 public:
  ExitHints(ProcessEnds& ends, Sink<ContainerId> ended) : ends_(ends), ended_(std::move(ended)) {}
  ~ExitHints();
  ExitHints(const ExitHints&) = delete;
  ExitHints& operator=(const ExitHints&) = delete;

  // Watches the container's first process. A container that is watched already stays as it is. The errors of
  // ProcessEnds::watch: where the process cannot be watched the runtime's own event does the work.
  absl::Status watch(const ContainerId& id, int32_t pid);
  void forget(const ContainerId& id);
  std::size_t size() const { return watches_.size(); }

 private:
  ProcessEnds& ends_;
  Sink<ContainerId> ended_;
  std::map<ContainerId, uint64_t> watches_;
};

}  // namespace podwright::pleg
