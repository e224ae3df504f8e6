// Time as a parameter. An Instant counts CLOCK_BOOTTIME: it goes on during suspend and over an agent restart, and every
// duration of the agent is computed from Instants. A WallTime is only for what people and the API see: it may step.
// Nothing reads a clock except through Clock, and nothing draws randomness except through Rng, so that the whole agent
// can run in virtual time.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>

namespace podwright {

using namespace std::chrono_literals;

using Duration = std::chrono::nanoseconds;

// The clock that Instants belong to. It has no now(): only a Clock can tell the time.
struct BootClock {
  using rep = int64_t;
  using period = std::nano;
  using duration = Duration;
  using time_point = std::chrono::time_point<BootClock>;
  static constexpr bool is_steady = true;
};

// Nanoseconds of CLOCK_BOOTTIME. Instant::max() means "never".
using Instant = std::chrono::time_point<BootClock, Duration>;

// Nanoseconds since the Unix epoch, as the machine's clock shows them.
using WallTime = std::chrono::time_point<std::chrono::system_clock, Duration>;

// `start` plus `wait`, which stays "never" where the sum would overflow.
constexpr Instant after(Instant start, Duration wait) {
  if (wait > Duration::zero() && start > Instant::max() - wait) return Instant::max();
  return start + wait;
}

class Clock {
 public:
  virtual ~Clock() = default;
  virtual Instant now() const = 0;
  virtual WallTime wall() const = 0;
};

// Randomness for jitter and names; not for keys.
class Rng {
 public:
  virtual ~Rng() = default;
  virtual uint64_t next() = 0;

  // Even over [0, bound); 0 where bound is 0.
  uint64_t below(uint64_t bound) { return bound == 0 ? 0 : next() % bound; }

  // `base` stretched by a random part of up to `factor` of it: jitter(10s, 0.5) lies in [10s, 15s).
  Duration jitter(Duration base, double factor);

  // `length` lower-case hexadecimal digits.
  std::string hex(std::size_t length);
};

// The machine's clocks: CLOCK_BOOTTIME and CLOCK_REALTIME.
class SystemClock final : public Clock {
 public:
  Instant now() const override;
  WallTime wall() const override;
};

// getrandom(2).
class SystemRng final : public Rng {
 public:
  uint64_t next() override;
};

// A small generator with a seed, for simulation and tests (splitmix64).
class SeededRng final : public Rng {
 public:
  explicit SeededRng(uint64_t seed) : state_(seed) {}
  uint64_t next() override;

 private:
  uint64_t state_;
};

// For a log line, an event or a message: "1.5s", "2m40s", "350ms" (Go's form).
std::string to_text(Duration duration);

// RFC 3339 in UTC with whole seconds: "2026-12-01T05:18:03Z".
std::string to_rfc3339(WallTime time);

// RFC 3339 in UTC with nanoseconds: "2026-12-01T05:18:03.000000001Z".
std::string to_rfc3339_nano(WallTime time);

}  // namespace podwright
