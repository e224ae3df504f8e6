#include "base/time/time.h"

#include <fmt/format.h>
#include <sys/random.h>
#include <time.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>

namespace podwright {
namespace {

int64_t read_clock(clockid_t id) {
  timespec ts{};
  if (clock_gettime(id, &ts) != 0) std::abort();  // the kernel has had both clocks since 2.6.39
  return int64_t{ts.tv_sec} * 1'000'000'000 + ts.tv_nsec;
}

// "1.5" of 1'500'000'000 at nine digits: the fraction without its trailing zeros.
std::string with_fraction(uint64_t value, int digits) {
  uint64_t scale = 1;
  for (int i = 0; i < digits; ++i) scale *= 10;
  std::string text = fmt::format("{}", value / scale);
  const uint64_t rest = value % scale;
  if (rest == 0) return text;
  std::string fraction = fmt::format("{:0{}}", rest, digits);
  fraction.erase(fraction.find_last_not_of('0') + 1);
  return text + "." + fraction;
}

tm to_utc(WallTime time, int64_t* nanos) {
  const int64_t total = time.time_since_epoch().count();
  int64_t seconds = total / 1'000'000'000;
  int64_t rest = total % 1'000'000'000;
  if (rest < 0) {
    rest += 1'000'000'000;
    --seconds;
  }
  *nanos = rest;
  const time_t at = seconds;
  tm parts{};
  gmtime_r(&at, &parts);
  return parts;
}

std::string date_and_time(const tm& parts) {
  return fmt::format("{:04}-{:02}-{:02}T{:02}:{:02}:{:02}", parts.tm_year + 1900, parts.tm_mon + 1, parts.tm_mday,
                     parts.tm_hour, parts.tm_min, parts.tm_sec);
}

}  // namespace

Duration Rng::jitter(Duration base, double factor) {
  const double part = static_cast<double>(next() >> 11) / static_cast<double>(1ULL << 53);
  return base + Duration(static_cast<int64_t>(static_cast<double>(base.count()) * factor * part));
}

std::string Rng::hex(std::size_t length) {
  std::string text;
  while (text.size() < length) text += fmt::format("{:016x}", next());
  text.resize(length);
  return text;
}

Instant SystemClock::now() const {
  return Instant(Duration(read_clock(CLOCK_BOOTTIME)));
}

WallTime SystemClock::wall() const {
  return WallTime(Duration(read_clock(CLOCK_REALTIME)));
}

uint64_t SystemRng::next() {
  uint64_t value = 0;
  while (getrandom(&value, sizeof(value), 0) != static_cast<ssize_t>(sizeof(value))) {
    if (errno != EINTR) std::abort();  // cannot fail otherwise once the pool is ready (getrandom(2))
  }
  return value;
}

uint64_t SeededRng::next() {
  state_ += 0x9e3779b97f4a7c15ULL;
  uint64_t z = state_;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
  return z ^ (z >> 31);
}

std::string to_text(Duration duration) {
  if (duration == Duration::zero()) return "0s";
  const bool negative = duration < Duration::zero();
  const uint64_t ns = negative ? 0 - static_cast<uint64_t>(duration.count()) : static_cast<uint64_t>(duration.count());
  const std::string sign = negative ? "-" : "";
  if (ns < 1'000) return fmt::format("{}{}ns", sign, ns);
  if (ns < 1'000'000) return sign + with_fraction(ns, 3) + "µs";
  if (ns < 1'000'000'000) return sign + with_fraction(ns, 6) + "ms";
  const uint64_t minutes = ns / 60'000'000'000ULL;
  std::string text = sign;
  if (minutes >= 60) text += fmt::format("{}h", minutes / 60);
  if (minutes > 0) text += fmt::format("{}m", minutes % 60);
  return text + with_fraction(ns % 60'000'000'000ULL, 9) + "s";
}

std::string to_rfc3339(WallTime time) {
  int64_t nanos = 0;
  return date_and_time(to_utc(time, &nanos)) + "Z";
}

std::string to_rfc3339_nano(WallTime time) {
  int64_t nanos = 0;
  const tm parts = to_utc(time, &nanos);
  return fmt::format("{}.{:09}Z", date_and_time(parts), nanos);
}

}  // namespace podwright
