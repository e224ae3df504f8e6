// Poller: the one thread that waits for gRPC's completions, for all channels and servers of the process. It waits in
// Next() without a time-out, passes (slot, ok) pairs to the loop in batches, and touches nothing else; what happens on
// a completion stays in a table on the loop. No gRPC type shows in the public headers of this folder (poller.h,
// payload.h, channel.h, server.h).
#pragma once

#include <cstddef>
#include <memory>

#include "base/co/loop.h"

namespace podwright::rpc {

class Queue;

class Poller {
 public:
  explicit Poller(Loop& loop);
  // close().
  ~Poller();
  Poller(const Poller&) = delete;
  Poller& operator=(const Poller&) = delete;

  // Cuts the calls and servers that are still there, waits for their (prompt, local) end and joins the thread. A call
  // made later fails with Cancelled. Twice is safe. On the loop thread.
  void close();

  // Completions that have not come yet, for leak checks.
  std::size_t pending() const;

  Loop& loop() const { return loop_; }

  // For the files of base/rpc only.
  const std::shared_ptr<Queue>& queue() const { return queue_; }

 private:
  Loop& loop_;
  std::shared_ptr<Queue> queue_;
};

}  // namespace podwright::rpc
