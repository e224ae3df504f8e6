// What goes wrong between a caller and the fake runtime: chosen faults, first come first served, and random ones by
// chance. Draws come from the fake's own seed.
#pragma once

#include <absl/status/status.h>

#include <list>
#include <optional>

#include "base/time/time.h"
#include "cri/fake/method.h"

namespace podwright::cri {

struct Fault {
  enum class Kind {
    kFail,        // no effect; the caller gets `status`
    kHang,        // takes its name, then no effect and no answer until released
    kDelay,       // the call arrives `delay` later
    kLateAnswer,  // the effect in time, the answer `delay` later
    kLoseAnswer,  // the effect `delay` late, never an answer
    kFailAfter,   // the effect in time, but the caller gets `status`
  };
  Kind kind = Kind::kFail;
  // Which method; nothing: any.
  std::optional<Method> method;
  // Which calls of it; null: all.
  CallMatch matches;
  // How many calls; nothing: until removed.
  std::optional<int> times = 1;
  absl::Status status = absl::UnavailableError("connection refused");
  Duration delay{};
};

// Of each call; they exclude each other, in this order.
struct Chances {
  double fail = 0;
  double fail_after = 0;
  double lose_answer = 0;
  double delay = 0;
  double late_answer = 0;
  // Delays are drawn evenly up to this.
  Duration longest_delay = std::chrono::seconds(1);
};

// Of each event.
struct EventChances {
  double lose = 0;
  double duplicate = 0;
  // A delayed event is overtaken by those that follow.
  double delay = 0;
  Duration longest_delay = std::chrono::seconds(1);
};

class Faults {
 public:
  explicit Faults(Rng& rng) : rng_(rng) {}

  // The answer names the fault for remove().
  uint64_t add(Fault fault);
  void remove(uint64_t fault);
  void clear() { faults_.clear(); }
  Chances& chances() { return chances_; }

  // What befalls this call, if anything; uses the fault up.
  std::optional<Fault> decide(const Call& call);

 private:
  bool happens(double chance);

  Rng& rng_;
  Chances chances_;
  std::list<std::pair<uint64_t, Fault>> faults_;
  uint64_t next_ = 1;
};

}  // namespace podwright::cri
