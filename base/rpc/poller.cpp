#include "base/rpc/poller.h"

#include <grpcpp/completion_queue.h>
#include <grpcpp/grpcpp.h>

#include <thread>
#include <unordered_map>
#include <vector>

namespace podwright::rpc {

struct Poller::State {
  explicit State(Loop& l) : loop(l) {}

  Loop& loop;
  grpc::CompletionQueue queue;
  std::thread thread;
  // On the loop thread only.
  std::unordered_map<uint64_t, absl::AnyInvocable<void(bool)>> slots;
  uint64_t next = 1;

  void finish(const std::vector<std::pair<uint64_t, bool>>& batch) {
    for (const auto& [slot, ok] : batch) {
      const auto found = slots.find(slot);
      if (found == slots.end()) continue;
      auto then = std::move(found->second);
      slots.erase(found);
      then(ok);
    }
  }
};

Poller::Poller(Loop& loop) : state_(std::make_shared<State>(loop)) {
  state_->thread = std::thread([state = state_] {
    void* tag = nullptr;
    bool ok = false;
    while (state->queue.Next(&tag, &ok)) {
      std::vector<std::pair<uint64_t, bool>> batch{{reinterpret_cast<uint64_t>(tag), ok}};
      // What else is ready goes along in the same hand-over.
      while (batch.size() < 64 &&
             state->queue.AsyncNext(&tag, &ok, gpr_time_0(GPR_CLOCK_REALTIME)) == grpc::CompletionQueue::GOT_EVENT) {
        batch.emplace_back(reinterpret_cast<uint64_t>(tag), ok);
      }
      state->loop.post([state, batch = std::move(batch)] { state->finish(batch); });
    }
  });
}

Poller::~Poller() {
  state_->queue.Shutdown();
  state_->thread.join();
}

void* Poller::add(absl::AnyInvocable<void(bool ok)> then) {
  const uint64_t slot = state_->next++;
  state_->slots.emplace(slot, std::move(then));
  return reinterpret_cast<void*>(slot);
}

void* Poller::queue() {
  return &state_->queue;
}

std::size_t Poller::pending() const {
  return state_->slots.size();
}

}  // namespace podwright::rpc
