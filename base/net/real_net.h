// The Net of the running agent: TCP and unix sockets, watched by the loop's reactor. Deadlines are the loop's timers.
#pragma once

#include "base/co/real_loop.h"
#include "base/net/net.h"

namespace podwright {

class RealNet final : public Net {
 public:
  explicit RealNet(RealLoop& loop) : loop_(loop) {}

  Co<absl::StatusOr<std::unique_ptr<Stream>>> dial(Endpoint to, Instant deadline) override;
  Co<absl::StatusOr<std::vector<std::string>>> resolve(std::string name, Instant deadline) override;
  absl::StatusOr<std::unique_ptr<Listener>> listen(const Endpoint& at, mode_t mode) override;

 private:
  RealLoop& loop_;
};

// A connected socket as a Stream: takes the descriptor over. For sockets that came another way (socket activation, a
// socket pair to a helper).
absl::StatusOr<std::unique_ptr<Stream>> stream_of(RealLoop& loop, int fd);

}  // namespace podwright
