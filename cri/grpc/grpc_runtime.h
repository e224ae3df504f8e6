// The real Runtime and Images: CRI v1 over gRPC. Every kind of call has a concurrency class of its own, so that a
// runtime stuck in one kind answers the others.
#pragma once

#include <string>

#include "base/co/bell.h"
#include "base/rpc/channel.h"
#include "cri/runtime.h"

namespace podwright::cri {

// Calls in flight at once, of each kind.
struct GrpcOptions {
  std::size_t reads = 32;
  std::size_t writes = 16;
  // StopContainer and StopPodSandbox wait for what they stop, up to a grace period each; behind the other writes they
  // would hold up the start of pods.
  std::size_t stops = 64;
  std::size_t execs = 8;
  std::size_t stats = 2;
};

class GrpcRuntime final : public Runtime {
 public:
  GrpcRuntime(Loop& loop, rpc::Channel& channel, GrpcOptions options);
  GrpcRuntime(Loop& loop, rpc::Channel& channel) : GrpcRuntime(loop, channel, GrpcOptions()) {}

  // The handshake: waits until the runtime answers. FailedPrecondition where it does not speak CRI v1.
  Co<absl::StatusOr<Version>> connect(Instant deadline);

  Co<absl::StatusOr<Version>> version(Instant deadline) override;
  Co<absl::StatusOr<RuntimeStatus>> status(bool verbose, Instant deadline) override;
  Co<absl::StatusOr<CgroupDriver>> cgroup_driver(Instant deadline) override;
  Co<absl::StatusOr<SandboxId>> run_sandbox(SandboxConfig config, Instant deadline) override;
  Co<absl::Status> stop_sandbox(SandboxId id, Instant deadline) override;
  Co<absl::Status> remove_sandbox(SandboxId id, Instant deadline) override;
  Co<absl::StatusOr<SandboxStatus>> sandbox_status(SandboxId id, Instant deadline) override;
  Co<absl::StatusOr<std::vector<SandboxStatus>>> list_sandboxes(Filter filter, Instant deadline) override;
  Co<absl::StatusOr<ContainerId>> create_container(SandboxId sandbox, ContainerConfig config,
                                                   SandboxConfig sandbox_config, Instant deadline) override;
  Co<absl::Status> start_container(ContainerId id, Instant deadline) override;
  Co<absl::Status> stop_container(ContainerId id, std::chrono::seconds grace, Instant deadline) override;
  Co<absl::Status> remove_container(ContainerId id, Instant deadline) override;
  Co<absl::StatusOr<ContainerStatus>> container_status(ContainerId id, Instant deadline) override;
  Co<absl::StatusOr<std::vector<ContainerStatus>>> list_containers(Filter filter, Instant deadline) override;
  Co<absl::Status> update_resources(ContainerId id, Resources resources, Instant deadline) override;
  Co<absl::Status> reopen_log(ContainerId id, Instant deadline) override;
  Co<absl::StatusOr<ExecResult>> exec_sync(ContainerId id, std::vector<std::string> command,
                                           std::chrono::seconds timeout, Instant deadline) override;
  Co<absl::StatusOr<std::string>> exec_url(ExecRequest request, Instant deadline) override;
  Co<absl::StatusOr<std::string>> attach_url(AttachRequest request, Instant deadline) override;
  Co<absl::StatusOr<std::string>> port_forward_url(SandboxId sandbox, std::vector<int32_t> ports,
                                                   Instant deadline) override;
  Co<absl::StatusOr<std::vector<ContainerStats>>> list_stats(Filter filter, Instant deadline) override;

 private:
  template <class Response, class Request>
  Co<absl::StatusOr<Response>> call(Slots& kind, const char* method, Request request, Instant deadline,
                                    rpc::CallOptions options = {});
  Co<absl::StatusOr<Version>> ask_version(rpc::CallOptions options, Instant deadline);

  rpc::Channel& channel_;
  Slots reads_, writes_, stops_, execs_, stats_;
};

class GrpcImages final : public Images {
 public:
  GrpcImages(Loop& loop, rpc::Channel& channel) : channel_(channel), reads_(loop, 8) {}

  Co<absl::StatusOr<std::vector<Image>>> list(Instant deadline) override;
  Co<absl::StatusOr<Image>> image_status(std::string image, Instant deadline) override;
  Co<absl::StatusOr<std::string>> pull(std::string image, std::optional<Auth> auth, SandboxConfig for_sandbox,
                                       Instant deadline) override;
  Co<absl::Status> remove(std::string image, Instant deadline) override;
  Co<absl::StatusOr<ImageFsInfo>> fs_info(Instant deadline) override;

 private:
  rpc::Channel& channel_;
  Slots reads_;
};

}  // namespace podwright::cri
