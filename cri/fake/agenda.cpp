#include "cri/fake/agenda.h"

#include <cstdlib>

namespace podwright::cri {

uint64_t Agenda::at(Instant when, Loop::Work work) {
  const uint64_t id = next_++;
  entries_.emplace(id, Entry{when, std::move(work)});
  if (loop_ != nullptr && !catching_up_) arm(id, when);
  return id;
}

void Agenda::arm(uint64_t id, Instant when) {
  loop_->call_at(when, [self = std::weak_ptr<Agenda*>(self_), id, attached = attached_] {
    const auto alive = self.lock();
    if (alive && *alive != nullptr && (*alive)->attached_ == attached) (*alive)->run(id);
  });
}

void Agenda::run(uint64_t id) {
  const auto found = entries_.find(id);
  if (found == entries_.end()) return;
  Loop::Work work = std::move(found->second.work);
  entries_.erase(found);
  work();
}

void Agenda::attach(Loop& loop) {
  loop_ = &loop;
  ++attached_;
  catch_up();
  for (const auto& [id, entry] : entries_) arm(id, entry.when);
}

void Agenda::catch_up() {
  catching_up_ = true;
  while (true) {
    auto first = entries_.end();
    for (auto place = entries_.begin(); place != entries_.end(); ++place) {
      if (place->second.when > loop_->now()) continue;
      if (first == entries_.end() || place->second.when < first->second.when) first = place;
    }
    if (first == entries_.end()) break;
    as_of_ = first->second.when;
    run(first->first);
  }
  catching_up_ = false;
}

void Agenda::detach() {
  if (loop_ == nullptr) return;
  last_now_ = loop_->now();
  last_wall_ = loop_->clock().wall();
  loop_ = nullptr;
  ++attached_;
}

Loop& Agenda::loop() {
  if (loop_ == nullptr) std::abort();  // a call without a loop to wait on: the test is at fault
  return *loop_;
}

Instant Agenda::now() const {
  if (catching_up_) return as_of_;
  return loop_ != nullptr ? loop_->now() : last_now_;
}

WallTime Agenda::wall() const {
  if (loop_ == nullptr) return last_wall_;
  return catching_up_ ? loop_->clock().wall() - (loop_->now() - as_of_) : loop_->clock().wall();
}

}  // namespace podwright::cri
