// The inside of Poller, shared with the calls that are in flight: gRPC's completion queue, the thread that waits on it
// and the table of what to do on a completion. Everything but the thread's own function is used on the loop thread
// only. gRPC's core API is used instead of its C++ wrapper because the wrapper ties every server to a queue of its own,
// which would need a thread each.
#pragma once

#include <absl/functional/any_invocable.h>
#include <grpc/grpc.h>

#include <memory>
#include <mutex>
#include <span>
#include <thread>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "base/co/loop.h"

namespace podwright::rpc {

class Queue : public std::enable_shared_from_this<Queue> {
 public:
  using Then = absl::AnyInvocable<void(bool ok)>;

  // A call or server that keeps the queue busy until it is cut.
  class Busy {
   public:
    explicit Busy(std::shared_ptr<Queue> queue) : queue_(std::move(queue)) { queue_->busy_.insert(this); }
    virtual ~Busy() { queue_->busy_.erase(this); }
    Busy(const Busy&) = delete;
    Busy& operator=(const Busy&) = delete;
    virtual void cut() = 0;
    Queue& queue() const { return *queue_; }

   private:
    std::shared_ptr<Queue> queue_;
  };

  explicit Queue(Loop& loop);
  ~Queue();

  void start_thread();
  void close();
  bool is_closed() const { return closed_; }
  std::size_t pending() const { return table_.size(); }
  Loop& loop() const { return loop_; }
  grpc_completion_queue* raw() const { return raw_; }

  // A slot for what runs on the loop when a completion comes; the answer is the tag to hand to gRPC.
  void* expect(Then then);

  // Starts a batch; false, with nothing started, once the queue is closed.
  bool start(grpc_call* call, std::span<const grpc_op> operations, Then then);

 private:
  void serve();
  void finish_arrived();

  Loop& loop_;
  grpc_completion_queue* raw_;
  std::thread thread_;
  bool closed_ = false;
  std::unordered_map<uint64_t, Then> table_;
  uint64_t next_slot_ = 1;
  std::unordered_set<Busy*> busy_;

  std::mutex mutex_;
  std::vector<std::pair<uint64_t, bool>> arrived_;  // guarded by mutex_
};

}  // namespace podwright::rpc
