#include "cri/fake/faults.h"

namespace podwright::cri {

uint64_t Faults::add(Fault fault) {
  faults_.emplace_back(next_, std::move(fault));
  return next_++;
}

void Faults::remove(uint64_t fault) {
  faults_.remove_if([fault](const auto& entry) { return entry.first == fault; });
}

bool Faults::happens(double chance) {
  if (chance <= 0) return false;
  constexpr uint64_t kParts = 1'000'000;
  return static_cast<double>(rng_.below(kParts)) < chance * kParts;
}

std::optional<Fault> Faults::decide(const Call& call) {
  for (auto place = faults_.begin(); place != faults_.end(); ++place) {
    Fault& fault = place->second;
    if (fault.method && *fault.method != call.method) continue;
    if (fault.matches && !fault.matches(call)) continue;
    Fault chosen = fault;
    if (fault.times && --*fault.times <= 0) faults_.erase(place);
    return chosen;
  }
  const auto random = [this](Fault::Kind kind) {
    Fault fault;
    fault.kind = kind;
    fault.delay = Duration(rng_.below(static_cast<uint64_t>(chances_.longest_delay.count())));
    return fault;
  };
  if (happens(chances_.fail)) return random(Fault::Kind::kFail);
  if (happens(chances_.fail_after)) return random(Fault::Kind::kFailAfter);
  if (happens(chances_.lose_answer)) return random(Fault::Kind::kLoseAnswer);
  if (happens(chances_.delay)) return random(Fault::Kind::kDelay);
  if (happens(chances_.late_answer)) return random(Fault::Kind::kLateAnswer);
  return std::nullopt;
}

}  // namespace podwright::cri
