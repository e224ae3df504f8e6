#include "cri/classify.h"
#include "cri/grpc/convert.h"
#include "cri/grpc/grpc_runtime.h"

namespace podwright::cri {

#define PODWRIGHT_IMAGE_METHOD(name) "/runtime.v1.ImageService/" name

Co<absl::StatusOr<std::vector<Image>>> GrpcImages::list(Instant deadline) {
  auto slot = co_await reads_.acquire(deadline);
  if (!slot.ok()) co_return slot.status();
  auto answer = co_await channel_.unary<wire::ListImagesResponse>(PODWRIGHT_IMAGE_METHOD("ListImages"),
                                                                  wire::ListImagesRequest(), deadline);
  if (!answer.ok()) co_return classify(answer.status());
  std::vector<Image> all;
  for (const auto& image : answer->images()) all.push_back(from_wire(image));
  co_return all;
}

Co<absl::StatusOr<Image>> GrpcImages::image_status(std::string image, Instant deadline) {
  auto slot = co_await reads_.acquire(deadline);
  if (!slot.ok()) co_return slot.status();
  wire::ImageStatusRequest request;
  request.mutable_image()->set_image(image);
  auto answer =
      co_await channel_.unary<wire::ImageStatusResponse>(PODWRIGHT_IMAGE_METHOD("ImageStatus"), request, deadline);
  if (!answer.ok()) co_return classify(answer.status());
  if (!answer->has_image() || answer->image().id().empty()) co_return absl::NotFoundError("the image is not there");
  co_return from_wire(answer->image());
}

Co<absl::StatusOr<std::string>> GrpcImages::pull(std::string image, std::optional<Auth> auth, SandboxConfig for_sandbox,
                                                 Instant deadline) {
  wire::PullImageRequest request;
  request.mutable_image()->set_image(image);
  if (auth) {
    request.mutable_auth()->set_username(auth->username);
    request.mutable_auth()->set_password(auth->password);
    request.mutable_auth()->set_auth(auth->auth);
    request.mutable_auth()->set_server_address(auth->server_address);
    request.mutable_auth()->set_identity_token(auth->identity_token);
    request.mutable_auth()->set_registry_token(auth->registry_token);
  }
  *request.mutable_sandbox_config() = to_wire(for_sandbox);
  // How many pull at once is the image cache's concern, so there is no class here.
  auto answer =
      co_await channel_.unary<wire::PullImageResponse>(PODWRIGHT_IMAGE_METHOD("PullImage"), request, deadline);
  if (!answer.ok()) co_return answer.status();
  co_return answer->image_ref();
}

Co<absl::Status> GrpcImages::remove(std::string image, Instant deadline) {
  wire::RemoveImageRequest request;
  request.mutable_image()->set_image(image);
  auto answer =
      co_await channel_.unary<wire::RemoveImageResponse>(PODWRIGHT_IMAGE_METHOD("RemoveImage"), request, deadline);
  co_return classify(answer.status());
}

Co<absl::StatusOr<ImageFsInfo>> GrpcImages::fs_info(Instant deadline) {
  auto slot = co_await reads_.acquire(deadline);
  if (!slot.ok()) co_return slot.status();
  auto answer = co_await channel_.unary<wire::ImageFsInfoResponse>(PODWRIGHT_IMAGE_METHOD("ImageFsInfo"),
                                                                   wire::ImageFsInfoRequest(), deadline);
  if (!answer.ok()) co_return classify(answer.status());
  ImageFsInfo info;
  const auto usage = [](const wire::FilesystemUsage& from) {
    return FilesystemUsage{from.fs_id().mountpoint(), from.used_bytes().value(), from.inodes_used().value()};
  };
  for (const auto& one : answer->image_filesystems()) info.image.push_back(usage(one));
  for (const auto& one : answer->container_filesystems()) info.container.push_back(usage(one));
  co_return info;
}

}  // namespace podwright::cri
