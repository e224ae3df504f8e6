#include "base/rpc/poller.h"

#include <grpc/support/log.h>
#include <grpc/support/time.h>
#include <pthread.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>

#include "base/log/log.h"
#include "base/rpc/queue.h"

namespace podwright::rpc {
namespace {

const LogSubject kWho{{"source", "grpc"}};

// gRPC tells at its error level what a caller gets as a status anyway (each refused connection).
void write_grpc_log(gpr_log_func_args* line) {
  log_v(4, kWho, line->message, {{"file", line->file}, {"line", line->line}});
}

void init_grpc() {
  static const bool once = [] {
    gpr_set_log_function(write_grpc_log);
    return true;
  }();
  (void)once;
  grpc_init();
}

}  // namespace

Queue::Queue(Loop& loop) : loop_(loop) {
  init_grpc();
  raw_ = grpc_completion_queue_create_for_next(nullptr);
}

Queue::~Queue() {
  grpc_completion_queue_destroy(raw_);
  grpc_shutdown();
}

void Queue::start_thread() {
  // Signals belong to the loop thread.
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  thread_ = std::thread([this] { serve(); });
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  pthread_setname_np(thread_.native_handle(), "rpc-poller");
}

void Queue::serve() {
  const std::weak_ptr<Queue> self = weak_from_this();
  while (true) {
    const grpc_event event = grpc_completion_queue_next(raw_, gpr_inf_future(GPR_CLOCK_MONOTONIC), nullptr);
    if (event.type == GRPC_QUEUE_SHUTDOWN) return;
    if (event.type != GRPC_OP_COMPLETE) continue;
    bool first = false;
    {
      const std::lock_guard lock(mutex_);
      first = arrived_.empty();
      arrived_.emplace_back(reinterpret_cast<uint64_t>(event.tag), event.success != 0);
    }
    // What comes until the loop takes its turn goes along in the same hand-over.
    if (first) {
      loop_.post([self] {
        if (const auto queue = self.lock()) queue->finish_arrived();
      });
    }
  }
}

void Queue::finish_arrived() {
  std::vector<std::pair<uint64_t, bool>> batch;
  {
    const std::lock_guard lock(mutex_);
    batch.swap(arrived_);
  }
  for (const auto& [slot, ok] : batch) {
    auto entry = table_.extract(slot);
    if (!entry.empty()) entry.mapped()(ok);
  }
}

void* Queue::expect(Then then) {
  const uint64_t slot = next_slot_++;
  table_.emplace(slot, std::move(then));
  return reinterpret_cast<void*>(slot);
}

bool Queue::start(grpc_call* call, std::span<const grpc_op> operations, Then then) {
  if (closed_) return false;
  void* tag = expect(std::move(then));
  const grpc_call_error error = grpc_call_start_batch(call, operations.data(), operations.size(), tag, nullptr);
  if (error != GRPC_CALL_OK) {
    std::fprintf(stderr, "fatal: grpc_call_start_batch: %s\n", grpc_call_error_to_string(error));
    std::abort();  // a batch that may not be started now: a bug of ours
  }
  return true;
}

void Queue::close() {
  if (closed_) return;
  const std::vector<Busy*> busy(busy_.begin(), busy_.end());
  for (Busy* one : busy) one->cut();
  closed_ = true;
  grpc_completion_queue_shutdown(raw_);
  thread_.join();
  // A handler may bring another one to its end, but none can start anything now.
  finish_arrived();
}

Poller::Poller(Loop& loop) : loop_(loop), queue_(std::make_shared<Queue>(loop)) {
  queue_->start_thread();
}

Poller::~Poller() {
  close();
}

void Poller::close() {
  queue_->close();
}

std::size_t Poller::pending() const {
  return queue_->pending();
}

}  // namespace podwright::rpc
