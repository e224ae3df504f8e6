// One inotify instance for all watches of the agent. Loop thread only.
#pragma once

#include <absl/status/statusor.h>

#include <boost/asio/posix/stream_descriptor.hpp>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/co/real_loop.h"
#include "base/files/tree.h"

namespace podwright {

class Inotify : public std::enable_shared_from_this<Inotify> {
 public:
  static absl::StatusOr<std::shared_ptr<Inotify>> open(RealLoop& loop);

  absl::StatusOr<std::unique_ptr<TreeWatch>> add(const std::string& path, Sink<TreeEvent> sink);

 private:
  struct Watch;

  Inotify(RealLoop& loop, int fd) : stream_(loop.io(), fd) {}
  void wait();
  void read_events();
  void tell(int number, const TreeEvent& event);
  void drop(const Watch* watch);

  boost::asio::posix::stream_descriptor stream_;
  // By the kernel's number; two watches of one inode have the same.
  std::multimap<int, Watch*> watches_;
};

}  // namespace podwright
