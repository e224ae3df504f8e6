#include "devices/grpc/registration_server.h"

#include <map>

#include "base/status/annotate.h"
#include "kubelet/deviceplugin/v1beta1.pb.h"

namespace podwright::devices {
namespace {

constexpr char kSocket[] = "kubelet.sock";
constexpr char kNewSocket[] = ".kubelet.sock.new";
constexpr char kTrash[] = ".removed.sock";

Co<absl::StatusOr<v1beta1::Empty>> answer(DevicePlugins& plugins, v1beta1::RegisterRequest request) {
  Registration registration{request.version(), request.endpoint(), request.resource_name()};
  const absl::Status done = co_await plugins.register_plugin(std::move(registration));
  if (!done.ok()) co_return done;
  co_return v1beta1::Empty();
}

// Removes a socket where it is still the file that was noted. It is looked at under a name that nobody else uses, since
// its owner may put a new one in its place at any time.
absl::Status remove_noted(Tree& tree, const std::string& dir, const std::string& name, const FileInfo& noted) {
  const std::string path = join_path(dir, name), trash = join_path(dir, kTrash);
  const auto same = [&noted](const absl::StatusOr<FileInfo>& now) {
    return now.ok() && now->inode == noted.inode && now->modified == noted.modified;
  };
  if (!same(tree.info(path))) return absl::OkStatus();
  if (absl::Status moved = tree.rename(path, trash); !moved.ok()) {
    return absl::IsNotFound(moved) ? absl::OkStatus() : moved;
  }
  if (same(tree.info(trash))) return tree.remove_file(trash);
  return tree.rename(trash, path);
}

}  // namespace

absl::Status RegistrationServer::start(rpc::Poller& poller) {
  const std::string& dir = plugins_.dir();
  if (absl::Status made = tree_.make_directories(dir, 0750); !made.ok()) return made;
  auto entries = tree_.list(dir);
  if (!entries.ok()) return entries.status();
  std::map<std::string, FileInfo> noted;
  for (const auto& entry : *entries) {
    if (entry.type != FileType::kSocket || entry.name == kSocket || entry.name == kNewSocket) continue;
    if (const auto info = tree_.info(join_path(dir, entry.name)); info.ok()) noted[entry.name] = *info;
  }

  rpc::Services services;
  services.unary<v1beta1::RegisterRequest, v1beta1::Empty>(
      "/v1beta1.Registration/Register",
      [this](v1beta1::RegisterRequest request) { return answer(plugins_, std::move(request)); });
  const std::string fresh = join_path(dir, kNewSocket), place = join_path(dir, kSocket);
  auto server = rpc::Server::listen(poller, "unix:" + fresh, std::move(services));
  if (!server.ok()) return annotate(server.status(), "listen for device plugins");
  server_ = *std::move(server);
  if (absl::Status gone = tree_.remove_file(place); !gone.ok() && !absl::IsNotFound(gone)) return gone;
  if (absl::Status moved = tree_.rename(fresh, place); !moved.ok()) return moved;
  // Registrations are answered on this thread, hence only once this is through.
  for (const auto& [name, info] : noted) {
    if (absl::Status removed = remove_noted(tree_, dir, name, info); !removed.ok()) {
      log_warning(LogSubject{{"flow", "devices"}}, "could not remove an old plugin socket",
                  {{"socket", name}, {"error", text_of(removed)}});
    }
  }
  return absl::OkStatus();
}

Co<void> RegistrationServer::close() {
  if (!server_) co_return;
  co_await server_->close();
  server_.reset();
  if (absl::Status gone = tree_.remove_file(join_path(plugins_.dir(), kSocket));
      !gone.ok() && !absl::IsNotFound(gone)) {
    log_warning(LogSubject{{"flow", "devices"}}, "could not remove the socket of registrations",
                {{"error", text_of(gone)}});
  }
}

}  // namespace podwright::devices
