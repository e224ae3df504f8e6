// Work that may block (walking a directory, a large parse, fsync) runs off the loop. It takes and gives values and
// shares nothing with the loop. What can hang in the kernel does not belong here but in a helper process.
#pragma once

#include <condition_variable>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>
#include <type_traits>
#include <vector>

#include "base/co/bell.h"
#include "base/co/loop.h"

namespace podwright {

class Offload {
 public:
  virtual ~Offload() = default;

  // Runs `work` elsewhere and then `done` on the loop.
  virtual void run(Loop::Work work, Loop::Work done) = 0;
};

// A fixed number of threads; the number does not grow with the machine's cores.
class ThreadOffload final : public Offload {
 public:
  ThreadOffload(Loop& loop, std::size_t threads);
  ~ThreadOffload() override;
  void run(Loop::Work work, Loop::Work done) override;

 private:
  void serve();

  Loop& loop_;
  std::mutex mutex_;
  std::condition_variable work_came_;
  std::deque<std::pair<Loop::Work, Loop::Work>> queue_;  // guarded by mutex_
  bool stopping_ = false;                                // guarded by mutex_
  std::vector<std::thread> threads_;
};

// On the loop itself, at a drawn later instant.
class SimOffload final : public Offload {
 public:
  explicit SimOffload(Loop& loop, Duration longest = std::chrono::milliseconds(2)) : loop_(loop), longest_(longest) {}
  void run(Loop::Work work, Loop::Work done) override;

 private:
  Loop& loop_;
  Duration longest_;
};

// Runs `f` elsewhere and gives what it returned. Not cancellable: the work is bounded.
template <class F>
Co<std::invoke_result_t<F>> offload(Loop& loop, Offload& where, F f) {
  using T = std::invoke_result_t<F>;
  const auto result = std::make_shared<std::optional<T>>();
  const auto cell = std::make_shared<WaitCell>(loop);
  const auto finished = std::make_shared<bool>(false);
  where.run([result, f = std::move(f)]() mutable { result->emplace(f()); },
            [finished, cell] {
              *finished = true;
              cell->fire();
            });
  while (!*finished) (void)co_await cell->wait_uncancelled(Instant::max());
  co_return std::move(**result);
}

}  // namespace podwright
