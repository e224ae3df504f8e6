// WorkQueue: keys that ask to be looked at, for level-triggered loops, as client-go's queue has it. A key that is added
// while it waits is there once; one that is added while it is worked on comes again once that is done. So no two
// workers have the same key at a time, and no addition is lost.
//
//               add                get()                 done()
//   (unknown) -------> waiting ------------> worked on ---------> (unknown)
//                                              | add      ^ |
//                                              v          | | was added meanwhile
//                                        worked on, dirty --'----------------> waiting
//
//   while (const auto key = co_await queue.get()) {
//     const absl::Status status = co_await reconcile(*key);
//     if (status.ok()) queue.forget(*key); else queue.add_rate_limited(*key);
//     queue.done(*key);
//   }
//
// Loop thread only. The queue outlives the flows that wait in get().
#pragma once

#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <set>

#include "base/co/bell.h"
#include "base/co/loop.h"
#include "base/work_queue/rate_limit.h"

namespace podwright {

template <class Key>
class WorkQueue {
 public:
  struct Options {
    // Of one key that keeps failing. Source: client-go util/workqueue, DefaultTypedControllerRateLimiter.
    GrowingWait wait;
    // Of all re-additions together. Source: the same.
    double per_second = 10;
    std::size_t burst = 100;
  };

  explicit WorkQueue(Loop& loop, Options options = {})
      : loop_(loop),
        waits_(options.wait),
        bucket_(options.per_second, options.burst),
        came_(loop),
        self_(std::make_shared<WorkQueue*>(this)) {}
  ~WorkQueue() {
    *self_ = nullptr;
    for (const auto& [key, timer] : timers_) loop_.forget(timer.id);
  }
  WorkQueue(const WorkQueue&) = delete;
  WorkQueue& operator=(const WorkQueue&) = delete;

  void add(const Key& key) {
    if (shut_down_ || !dirty_.insert(key).second) return;
    if (active_.contains(key)) return;  // done() puts it back
    queue_.push_back(key);
    came_.notify();
  }

  // Adds the key at that instant. Of several waits of one key the earliest counts.
  void add_at(const Key& key, Instant when) {
    if (shut_down_) return;
    if (when <= loop_.now()) {
      add(key);
      return;
    }
    const auto found = timers_.find(key);
    if (found != timers_.end()) {
      if (found->second.when <= when) return;
      loop_.forget(found->second.id);
    }
    std::weak_ptr<WorkQueue*> self = self_;
    const uint64_t id = loop_.call_at(when, [self, key] {
      const auto queue = self.lock();
      if (queue == nullptr || *queue == nullptr) return;
      (*queue)->timers_.erase(key);
      (*queue)->add(key);
    });
    timers_[key] = Timer{id, when};
  }
  void add_after(const Key& key, Duration wait) { add_at(key, after(loop_.now(), wait)); }

  // Adds the key once its own wait, which grows with each call, and the rate of all are over.
  void add_rate_limited(const Key& key) {
    const Instant now = loop_.now();
    add_at(key, std::max(after(now, waits_.next(key)), bucket_.reserve(now)));
  }
  // The key is well: its next wait is the first one again.
  void forget(const Key& key) { waits_.forget(key); }
  int failures(const Key& key) const { return waits_.failures(key); }

  // The next key, which is then the caller's until done(). Nothing once the queue is shut down and empty, or the flow
  // is stopping.
  Co<std::optional<Key>> get() {
    while (queue_.empty()) {
      if (shut_down_) co_return std::nullopt;
      if (co_await came_.wait_until(Instant::max()) != Wait::kRung) co_return std::nullopt;
    }
    Key key = std::move(queue_.front());
    queue_.pop_front();
    dirty_.erase(key);
    active_.insert(key);
    co_return key;
  }

  void done(const Key& key) {
    active_.erase(key);
    if (!dirty_.contains(key)) return;
    queue_.push_back(key);
    came_.notify();
  }

  // Takes no more keys; what waits is still handed out, delayed ones are dropped.
  void shut_down() {
    shut_down_ = true;
    for (const auto& [key, timer] : timers_) loop_.forget(timer.id);
    timers_.clear();
    came_.notify();
  }
  bool is_shut_down() const { return shut_down_; }

  // Keys that wait to be handed out, those that wait for their time, and those that are worked on.
  std::size_t size() const { return queue_.size(); }
  std::size_t delayed() const { return timers_.size(); }
  std::size_t active() const { return active_.size(); }

 private:
  struct Timer {
    uint64_t id = 0;
    Instant when;
  };

  Loop& loop_;
  KeyWaits<Key> waits_;
  TokenBucket bucket_;
  std::deque<Key> queue_;
  std::set<Key> dirty_;   // waits, or was added while it is worked on
  std::set<Key> active_;  // handed out
  std::map<Key, Timer> timers_;
  bool shut_down_ = false;
  Notice came_;
  std::shared_ptr<WorkQueue*> self_;
};

}  // namespace podwright
