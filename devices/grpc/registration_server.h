// The socket on which device plugins register (kubelet.sock). It is bound under another name and renamed into place, so
// that plugins which watch the folder see the old one go and the new one come, and never meet a socket that nobody
// serves. Sockets that plugins left from before are removed right after that, since their removal is the sign by which
// some plugins notice a new agent; a socket that a plugin has made anew by then is another file and stays.
#pragma once

#include <memory>
#include <string>

#include "base/files/tree.h"
#include "base/rpc/server.h"
#include "devices/device_plugins.h"

namespace podwright::devices {

class RegistrationServer {
 public:
  RegistrationServer(Tree& tree, DevicePlugins& plugins) : tree_(tree), plugins_(plugins) {}

  absl::Status start(rpc::Poller& poller);
  Co<void> close();

 private:
  Tree& tree_;
  DevicePlugins& plugins_;
  std::unique_ptr<rpc::Server> server_;
};

}  // namespace podwright::devices
