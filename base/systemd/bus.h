// One connection to a message bus, driven from the loop: every call is asynchronous. It is made at the first call and
// again after it broke. Loop thread only.
#pragma once

#include <absl/status/statusor.h>
#include <systemd/sd-bus.h>

#include <boost/asio/posix/stream_descriptor.hpp>
#include <functional>
#include <map>
#include <memory>

#include "base/co/real_loop.h"

namespace podwright {

struct BusMessageUnref {
  void operator()(sd_bus_message* message) const { sd_bus_message_unref(message); }
};
using BusMessage = std::unique_ptr<sd_bus_message, BusMessageUnref>;

class Bus {
 public:
  using Open = std::function<int(sd_bus**)>;
  // The reply, or null with the error that came instead.
  using Answer = std::function<void(sd_bus_message*, const absl::Status&)>;

  // `open` makes a connection, as sd_bus_open_system does; `connected` follows each, to ask for signals; `broken` is
  // told when one ends, after all its calls were answered with Unavailable.
  Bus(RealLoop& loop, Open open, std::function<int(sd_bus*)> connected, std::function<void()> broken);
  ~Bus();
  Bus(const Bus&) = delete;
  Bus& operator=(const Bus&) = delete;

  // The connection, made where there is none.
  absl::StatusOr<sd_bus*> connection();
  // Sends a call; `answer` is called exactly once, later, unless forget() comes first. The answer names the call.
  absl::StatusOr<uint64_t> call(BusMessage message, Answer answer);
  void forget(uint64_t call);

 private:
  struct Pending;
  static int answered(sd_bus_message* message, void* pending, sd_bus_error* error);
  void arm();
  void process();
  void disconnect(const absl::Status& reason);

  RealLoop& loop_;
  Open open_;
  std::function<int(sd_bus*)> connected_;
  std::function<void()> broken_;
  sd_bus* bus_ = nullptr;
  std::unique_ptr<boost::asio::posix::stream_descriptor> stream_;
  // Which connection a wait belongs to: an old one's end means nothing to the next.
  uint64_t generation_ = 0;
  bool reading_ = false;
  bool writing_ = false;
  bool processing_ = false;
  uint64_t timer_ = 0;
  uint64_t next_ = 1;
  std::map<uint64_t, std::unique_ptr<Pending>> pending_;
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

// The error of a reply, with the code that fits its name.
absl::Status status_of(const sd_bus_error& error);

}  // namespace podwright
