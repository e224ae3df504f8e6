// The ports to a container runtime: Runtime, Images and RuntimeEvents. The real ones are in cri/grpc, the working fakes
// in cri/fake. Each call ends by `deadline` at the latest. A call that may have had an effect and ended in
// DeadlineExceeded, Unavailable, Unknown, Aborted or Cancelled has an unknown outcome: look it up by labels.
//
// Cancelling the caller cuts the call (the runtime may go on with it); a caller that must not cut a call with an
// effect hands the flow over instead of cancelling it.
#pragma once

#include <absl/status/status.h>
#include <absl/status/statusor.h>

#include <string>
#include <vector>

#include "base/co/co.h"
#include "base/co/sink.h"
#include "base/time/time.h"
#include "cri/types.h"

namespace podwright::cri {

// Which containers or sandboxes a list is wanted of; empty members match all.
struct Filter {
  std::string id;
  SandboxId sandbox;  // containers only
  Labels labels;
};

class Runtime {
 public:
  virtual ~Runtime() = default;

  virtual Co<absl::StatusOr<Version>> version(Instant deadline) = 0;
  virtual Co<absl::StatusOr<RuntimeStatus>> status(bool verbose, Instant deadline) = 0;
  // Unimplemented where the runtime does not say (containerd before 2.0): the configuration decides then.
  virtual Co<absl::StatusOr<CgroupDriver>> cgroup_driver(Instant deadline) = 0;

  // AlreadyExists: the name (pod, namespace, uid, attempt) is reserved by an earlier call, which may still be at work.
  virtual Co<absl::StatusOr<SandboxId>> run_sandbox(SandboxConfig config, Instant deadline) = 0;
  // Stops everything in the sandbox and takes its network away; twice is safe, an unknown one is OK.
  virtual Co<absl::Status> stop_sandbox(SandboxId id, Instant deadline) = 0;
  // Removes it with its containers; an unknown one is OK.
  virtual Co<absl::Status> remove_sandbox(SandboxId id, Instant deadline) = 0;
  virtual Co<absl::StatusOr<SandboxStatus>> sandbox_status(SandboxId id, Instant deadline) = 0;
  virtual Co<absl::StatusOr<std::vector<SandboxStatus>>> list_sandboxes(Filter filter, Instant deadline) = 0;

  virtual Co<absl::StatusOr<ContainerId>> create_container(SandboxId sandbox, ContainerConfig config,
                                                           SandboxConfig sandbox_config, Instant deadline) = 0;
  virtual Co<absl::Status> start_container(ContainerId id, Instant deadline) = 0;
  // TERM, then KILL once `grace` has passed; ends when the container has. An unknown one is OK. `deadline` is beyond
  // the grace.
  virtual Co<absl::Status> stop_container(ContainerId id, std::chrono::seconds grace, Instant deadline) = 0;
  virtual Co<absl::Status> remove_container(ContainerId id, Instant deadline) = 0;
  // NotFound where the runtime does not know it.
  virtual Co<absl::StatusOr<ContainerStatus>> container_status(ContainerId id, Instant deadline) = 0;
  // Lists fill what is known without a status call (see ContainerStatus).
  virtual Co<absl::StatusOr<std::vector<ContainerStatus>>> list_containers(Filter filter, Instant deadline) = 0;
  virtual Co<absl::Status> update_resources(ContainerId id, Resources resources, Instant deadline) = 0;
  virtual Co<absl::Status> reopen_log(ContainerId id, Instant deadline) = 0;

  // Runs a command and waits for it; `timeout` is the runtime's own (zero: none). DeadlineExceeded where it ran out.
  // At most `limits::kExecOutputBytes` of each stream are kept.
  virtual Co<absl::StatusOr<ExecResult>> exec_sync(ContainerId id, std::vector<std::string> command,
                                                   std::chrono::seconds timeout, Instant deadline) = 0;
  // The URL of the runtime's streaming server for this session.
  virtual Co<absl::StatusOr<std::string>> exec_url(ExecRequest request, Instant deadline) = 0;
  virtual Co<absl::StatusOr<std::string>> attach_url(AttachRequest request, Instant deadline) = 0;
  virtual Co<absl::StatusOr<std::string>> port_forward_url(SandboxId sandbox, std::vector<int32_t> ports,
                                                           Instant deadline) = 0;

  virtual Co<absl::StatusOr<std::vector<ContainerStats>>> list_stats(Filter filter, Instant deadline) = 0;
};

class Images {
 public:
  virtual ~Images() = default;

  virtual Co<absl::StatusOr<std::vector<Image>>> list(Instant deadline) = 0;
  // NotFound where the image is not there.
  virtual Co<absl::StatusOr<Image>> image_status(std::string image, Instant deadline) = 0;
  // The reference of what was pulled. `auth` may be nothing.
  virtual Co<absl::StatusOr<std::string>> pull(std::string image, std::optional<Auth> auth, SandboxConfig for_sandbox,
                                               Instant deadline) = 0;
  virtual Co<absl::Status> remove(std::string image, Instant deadline) = 0;
  virtual Co<absl::StatusOr<ImageFsInfo>> fs_info(Instant deadline) = 0;
};

// The stream of what the runtime tells. One user.
class RuntimeEvents {
 public:
  virtual ~RuntimeEvents() = default;

  // Runs until cancelled: opens the stream, again with back-off whenever it ends, and hands each event to `sink`. Each
  // (re)opening starts with a kResync. `open` is told whether the stream is open, at each change.
  virtual Co<void> watch(Sink<Event> sink, Sink<bool> open) = 0;
};

}  // namespace podwright::cri
