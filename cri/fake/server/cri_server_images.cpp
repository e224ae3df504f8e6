#include "cri/fake/server/cri_server.h"

namespace podwright::cri {
namespace {

std::string path_of(const char* method) {
  return std::string("/runtime.v1.ImageService/") + method;
}

void set_usage(const FilesystemUsage& from, wire::FilesystemUsage* to) {
  to->mutable_fs_id()->set_mountpoint(from.mountpoint);
  to->mutable_used_bytes()->set_value(from.used_bytes);
  to->mutable_inodes_used()->set_value(from.inodes_used);
}

}  // namespace

void CriServer::add_image_services(rpc::Services& to) {
  to.unary<wire::ListImagesRequest, wire::ListImagesResponse>(
      path_of("ListImages"), [this](wire::ListImagesRequest request) { return list_images(std::move(request)); });
  to.unary<wire::ImageStatusRequest, wire::ImageStatusResponse>(
      path_of("ImageStatus"), [this](wire::ImageStatusRequest request) { return image_status(std::move(request)); });
  to.unary<wire::PullImageRequest, wire::PullImageResponse>(
      path_of("PullImage"), [this](wire::PullImageRequest request) { return pull(std::move(request)); });
  to.unary<wire::RemoveImageRequest, wire::RemoveImageResponse>(
      path_of("RemoveImage"), [this](wire::RemoveImageRequest request) { return remove_image(std::move(request)); });
  to.unary<wire::ImageFsInfoRequest, wire::ImageFsInfoResponse>(
      path_of("ImageFsInfo"), [this](wire::ImageFsInfoRequest request) { return image_fs(std::move(request)); });
}

Co<absl::StatusOr<wire::ListImagesResponse>> CriServer::list_images(wire::ListImagesRequest) {
  const auto all = co_await images_.list(Instant::max());
  if (!all.ok()) co_return all.status();
  wire::ListImagesResponse response;
  for (const auto& image : *all) *response.add_images() = image_message(image);
  co_return response;
}

Co<absl::StatusOr<wire::ImageStatusResponse>> CriServer::image_status(wire::ImageStatusRequest request) {
  const auto image = co_await images_.image_status(request.image().image(), Instant::max());
  // CRI tells of a missing image by an answer without one.
  if (absl::IsNotFound(image.status())) co_return wire::ImageStatusResponse();
  if (!image.ok()) co_return image.status();
  wire::ImageStatusResponse response;
  *response.mutable_image() = image_message(*image);
  co_return response;
}

Co<absl::StatusOr<wire::PullImageResponse>> CriServer::pull(wire::PullImageRequest request) {
  std::optional<Auth> auth;
  if (request.has_auth()) {
    const auto& from = request.auth();
    auth = Auth{from.username(),       from.password(),       from.auth(),
                from.server_address(), from.identity_token(), from.registry_token()};
  }
  SandboxConfig sandbox = config_from_wire(request.sandbox_config(), "");
  const auto ref = co_await images_.pull(request.image().image(), std::move(auth), std::move(sandbox), Instant::max());
  if (!ref.ok()) co_return ref.status();
  wire::PullImageResponse response;
  response.set_image_ref(*ref);
  co_return response;
}

Co<absl::StatusOr<wire::RemoveImageResponse>> CriServer::remove_image(wire::RemoveImageRequest request) {
  const absl::Status status = co_await images_.remove(request.image().image(), Instant::max());
  if (!status.ok()) co_return status;
  co_return wire::RemoveImageResponse();
}

Co<absl::StatusOr<wire::ImageFsInfoResponse>> CriServer::image_fs(wire::ImageFsInfoRequest) {
  const auto info = co_await images_.fs_info(Instant::max());
  if (!info.ok()) co_return info.status();
  wire::ImageFsInfoResponse response;
  for (const auto& one : info->image) set_usage(one, response.add_image_filesystems());
  for (const auto& one : info->container) set_usage(one, response.add_container_filesystems());
  co_return response;
}

}  // namespace podwright::cri
