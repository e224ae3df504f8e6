// The real RuntimeEvents: the runtime's own event stream. GetContainerEvents where the runtime has it, else
// containerd's event service on the same socket, else nothing (the full list then stands in for it).
#pragma once

#include "base/rpc/channel.h"
#include "cri/runtime.h"

namespace runtime::v1 {
class ContainerEventResponse;
}
namespace containerd::types {
class Envelope;
}

namespace podwright::cri {

class GrpcEvents final : public RuntimeEvents {
 public:
  GrpcEvents(Loop& loop, rpc::Channel& channel) : loop_(loop), channel_(channel) {}

  Co<void> watch(Sink<Event> sink, Sink<bool> open) override;

 private:
  Co<absl::Status> watch_cri(Sink<Event> sink, Sink<bool> open);
  Co<absl::Status> watch_containerd(Sink<Event> sink, Sink<bool> open);
  void tell(bool open, const Sink<bool>& sink);

  Loop& loop_;
  rpc::Channel& channel_;
  std::optional<bool> told_open_;
};

// One message of either stream, as an event; nothing for what is of no interest.
std::optional<Event> event_of(const runtime::v1::ContainerEventResponse& message);
std::optional<Event> event_of(const containerd::types::Envelope& message);

}  // namespace podwright::cri
