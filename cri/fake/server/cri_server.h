// CriServer: any Runtime, Images and RuntimeEvents as a CRI v1 server on a socket. It stands the fake runtime behind
// gRPC, for the bench and for the tests of the adapter.
#pragma once

#include <deque>
#include <memory>
#include <set>
#include <string>

#include "base/co/bell.h"
#include "base/co/scope.h"
#include "base/rpc/server.h"
#include "cri/fake/server/convert.h"
#include "cri/runtime.h"

namespace podwright::cri {

class CriServer {
 public:
  // `with_events`: answers GetContainerEvents; else it is unknown, as on containerd 1.6.
  CriServer(Loop& loop, Runtime& runtime, Images& images, RuntimeEvents& events, bool with_events = true);

  // `address`: "unix:/run/x.sock". Once.
  absl::Status listen(rpc::Poller& poller, const std::string& address);
  Co<void> close();

 private:
  // One client's event stream.
  struct Subscriber {
    explicit Subscriber(Loop& loop) : bell(loop) {}
    std::deque<wire::ContainerEventResponse> events;
    bool ended = false;
    Bell bell;
  };

  rpc::Services runtime_services();
  void add_container_services(rpc::Services& to);
  void add_image_services(rpc::Services& to);
  template <class Request, class Response>
  void add(rpc::Services& to, const char* method, Co<absl::StatusOr<Response>> (CriServer::*handler)(Request));

  Co<absl::StatusOr<wire::VersionResponse>> version(wire::VersionRequest request);
  Co<absl::StatusOr<wire::StatusResponse>> status(wire::StatusRequest request);
  Co<absl::StatusOr<wire::RuntimeConfigResponse>> runtime_config(wire::RuntimeConfigRequest request);
  Co<absl::StatusOr<wire::RunPodSandboxResponse>> run_sandbox(wire::RunPodSandboxRequest request);
  Co<absl::StatusOr<wire::StopPodSandboxResponse>> stop_sandbox(wire::StopPodSandboxRequest request);
  Co<absl::StatusOr<wire::RemovePodSandboxResponse>> remove_sandbox(wire::RemovePodSandboxRequest request);
  Co<absl::StatusOr<wire::PodSandboxStatusResponse>> sandbox_status(wire::PodSandboxStatusRequest request);
  Co<absl::StatusOr<wire::ListPodSandboxResponse>> list_sandboxes(wire::ListPodSandboxRequest request);
  Co<absl::StatusOr<wire::CreateContainerResponse>> create(wire::CreateContainerRequest request);
  Co<absl::StatusOr<wire::StartContainerResponse>> start(wire::StartContainerRequest request);
  Co<absl::StatusOr<wire::StopContainerResponse>> stop(wire::StopContainerRequest request);
  Co<absl::StatusOr<wire::RemoveContainerResponse>> remove(wire::RemoveContainerRequest request);
  Co<absl::StatusOr<wire::ContainerStatusResponse>> container_status(wire::ContainerStatusRequest request);
  Co<absl::StatusOr<wire::ListContainersResponse>> list_containers(wire::ListContainersRequest request);
  Co<absl::StatusOr<wire::UpdateContainerResourcesResponse>> update(wire::UpdateContainerResourcesRequest request);
  Co<absl::StatusOr<wire::ReopenContainerLogResponse>> reopen(wire::ReopenContainerLogRequest request);
  Co<absl::StatusOr<wire::ExecSyncResponse>> exec_sync(wire::ExecSyncRequest request);
  Co<absl::StatusOr<wire::ExecResponse>> exec(wire::ExecRequest request);
  Co<absl::StatusOr<wire::AttachResponse>> attach(wire::AttachRequest request);
  Co<absl::StatusOr<wire::PortForwardResponse>> port_forward(wire::PortForwardRequest request);
  Co<absl::StatusOr<wire::ListContainerStatsResponse>> list_stats(wire::ListContainerStatsRequest request);
  Co<absl::Status> feed_events(wire::GetEventsRequest request, rpc::Writer<wire::ContainerEventResponse> out);

  Co<absl::StatusOr<wire::ListImagesResponse>> list_images(wire::ListImagesRequest request);
  Co<absl::StatusOr<wire::ImageStatusResponse>> image_status(wire::ImageStatusRequest request);
  Co<absl::StatusOr<wire::PullImageResponse>> pull(wire::PullImageRequest request);
  Co<absl::StatusOr<wire::RemoveImageResponse>> remove_image(wire::RemoveImageRequest request);
  Co<absl::StatusOr<wire::ImageFsInfoResponse>> image_fs(wire::ImageFsInfoRequest request);

  void tell(const Event& event);
  void end_streams();

  Loop& loop_;
  Runtime& runtime_;
  Images& images_;
  RuntimeEvents& events_;
  bool with_events_;
  std::set<Subscriber*> subscribers_;
  std::unique_ptr<rpc::Server> server_;
  Scope scope_;
};

template <class Request, class Response>
void CriServer::add(rpc::Services& to, const char* method,
                    Co<absl::StatusOr<Response>> (CriServer::*handler)(Request)) {
  to.unary<Request, Response>(std::string("/runtime.v1.RuntimeService/") + method,
                              [this, handler](Request request) { return (this->*handler)(std::move(request)); });
}

// OK as an empty answer.
template <class Response>
absl::StatusOr<Response> answer(const absl::Status& status) {
  if (!status.ok()) return status;
  return Response();
}

}  // namespace podwright::cri
