// Agenda: what will happen in the fake's world, and when. It is no part of any loop: a loop that is attached runs what
// falls due, and when that loop is dropped (a crash of the agent) nothing of the agenda is lost. Attaching another loop
// catches up, in order, with what fell due meanwhile.
#pragma once

#include <map>
#include <memory>

#include "base/co/loop.h"

namespace podwright::cri {

class Agenda {
 public:
  explicit Agenda(Loop& loop) : self_(std::make_shared<Agenda*>(this)) { attach(loop); }
  ~Agenda() { *self_ = nullptr; }
  Agenda(const Agenda&) = delete;
  Agenda& operator=(const Agenda&) = delete;

  // Runs `work` at `when`, or soon where that has passed. The answer names the entry, never 0.
  uint64_t at(Instant when, Loop::Work work);
  uint64_t in(Duration wait, Loop::Work work) { return at(after(now(), wait), std::move(work)); }
  void cancel(uint64_t entry) { entries_.erase(entry); }
  std::size_t size() const { return entries_.size(); }

  // From here on `loop` drives. What is overdue is run at once, each as of its own instant.
  void attach(Loop& loop);
  // Nothing is run until the next attach(); the loop may die.
  void detach();

  // The loop that drives now; there must be one.
  Loop& loop();
  Instant now() const;
  WallTime wall() const;

 private:
  struct Entry {
    Instant when;
    Loop::Work work;
  };

  void arm(uint64_t id, Instant when);
  void run(uint64_t id);
  void catch_up();

  Loop* loop_ = nullptr;
  uint64_t attached_ = 0;  // counts attachments: a timer of an earlier one does nothing
  bool catching_up_ = false;
  Instant as_of_;       // while catching up
  Instant last_now_;    // while detached
  WallTime last_wall_;  // while detached
  std::map<uint64_t, Entry> entries_;
  uint64_t next_ = 1;
  std::shared_ptr<Agenda*> self_;
};

}  // namespace podwright::cri
