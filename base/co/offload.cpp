#include "base/co/offload.h"

namespace podwright {

ThreadOffload::ThreadOffload(Loop& loop, std::size_t threads) : loop_(loop) {
  for (std::size_t i = 0; i < threads; ++i) threads_.emplace_back([this] { serve(); });
}

ThreadOffload::~ThreadOffload() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  work_came_.notify_all();
  for (auto& thread : threads_) thread.join();
}

void ThreadOffload::run(Loop::Work work, Loop::Work done) {
  {
    const std::lock_guard lock(mutex_);
    queue_.emplace_back(std::move(work), std::move(done));
  }
  work_came_.notify_one();
}

void ThreadOffload::serve() {
  while (true) {
    std::pair<Loop::Work, Loop::Work> next;
    {
      std::unique_lock lock(mutex_);
      work_came_.wait(lock, [this] { return stopping_ || !queue_.empty(); });
      if (queue_.empty()) return;
      next = std::move(queue_.front());
      queue_.pop_front();
    }
    next.first();
    next.first = nullptr;
    loop_.post(std::move(next.second));
  }
}

void SimOffload::run(Loop::Work work, Loop::Work done) {
  const Duration delay(static_cast<int64_t>(loop_.rng().below(static_cast<uint64_t>(longest_.count()))));
  loop_.call_at(loop_.now() + delay, [work = std::move(work), done = std::move(done)]() mutable {
    work();
    done();
  });
}

}  // namespace podwright
