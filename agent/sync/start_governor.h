// StartGovernor: how many of RunPodSandbox, CreateContainer and StartContainer are in flight at once. More than the
// runtime can use only lengthens every start; too few leave it idle. Calls that finish a start that has begun go before
// those that begin one, so that the pods of a burst come up one after the other instead of all at the end. Pulls,
// volumes, hooks and probes are not counted.
//
// A call that takes longer than max(2 s, 5 x the median) gives its place back: one stuck start holds nobody else.
#pragma once

#include <absl/status/statusor.h>

#include <deque>
#include <list>
#include <memory>
#include <vector>

#include "base/co/bell.h"

namespace podwright::sync {

class StartGovernor {
 public:
  enum class Rank { kFinishing, kBeginning };

  StartGovernor(Loop& loop, std::size_t limit);
  ~StartGovernor();

  // A place among those in flight. Given back when destroyed, which only changes memory.
  class Lease {
   public:
    Lease() = default;
    Lease(Lease&& other) noexcept = default;
    Lease& operator=(Lease&& other) noexcept;
    ~Lease();

   private:
    friend class StartGovernor;
    struct Held;
    explicit Lease(std::shared_ptr<Held> held) : held_(std::move(held)) {}
    std::shared_ptr<Held> held_;
  };

  // DeadlineExceeded or Cancelled where no place came.
  Co<absl::StatusOr<Lease>> acquire(Rank rank, Instant deadline);

  std::size_t in_flight() const;
  std::size_t queued() const;

 private:
  struct State;
  std::shared_ptr<State> state_;
};

}  // namespace podwright::sync
