// Poller: the one thread that waits for gRPC's completions, for all channels and servers of the process. It waits in
// Next() without a time-out, passes (slot, ok) pairs to the loop in batches, and touches nothing else; what happens on
// a completion stays in a table on the loop. No gRPC type shows in this header.
#pragma once

#include <absl/functional/any_invocable.h>

#include <cstdint>
#include <memory>

#include "base/co/loop.h"

namespace podwright::rpc {

class Poller {
 public:
  explicit Poller(Loop& loop);
  // Joins the thread; no call may be in flight any more.
  ~Poller();
  Poller(const Poller&) = delete;
  Poller& operator=(const Poller&) = delete;

  // A place for what runs on the loop when a completion comes. The answer is the tag to hand to gRPC.
  void* add(absl::AnyInvocable<void(bool ok)> then);

  // The completion queue, a grpc::CompletionQueue*; for the files of base/rpc only.
  void* queue();

  // Completions that have not come yet.
  std::size_t pending() const;

 private:
  struct State;
  std::shared_ptr<State> state_;
};

}  // namespace podwright::rpc
