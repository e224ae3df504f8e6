// podwright-sim: runs seeded schedules of the whole agent in virtual time.
//
//   podwright-sim --seeds N [--first N]     N schedules; the first that breaks is printed, shrunk, with its replay
//   podwright-sim --seeds N --all           goes on after a broken one, and lists one line for each
//   podwright-sim --seed N [--trace] [--shrink]   one schedule again
#include <fmt/format.h>
#include <malloc.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include <string>

#include "tests/sim/schedule.h"

using namespace podwright::sim;

namespace {

void report(const ScheduleOptions& options, const ScheduleResult& result) {
  std::printf("seed %llu: %s\n", static_cast<unsigned long long>(options.seed), result.broken.c_str());
  for (const auto& operation : result.operations) {
    if (operation.find("(left out)") == std::string::npos) std::printf("  %s\n", operation.c_str());
  }
  for (const auto& line : result.trace) std::printf("%s\n", line.c_str());
}

int usage() {
  std::fprintf(
      stderr,
      "usage: podwright-sim --seeds N [--first N] [--pods N] [--minutes N] [--all] | --seed N [--trace] [--shrink]\n");
  return 2;
}

}  // namespace

int main(int argc, char** argv) {
  // Each schedule frees what the last one used: it is kept rather than given back to the kernel.
  (void)mallopt(M_TRIM_THRESHOLD, 1 << 30);
  (void)mallopt(M_MMAP_THRESHOLD, 1 << 28);
  ScheduleOptions options;
  uint64_t seeds = 0;
  uint64_t first = 1;
  bool one = false;
  bool all = false;
  bool shrinks = false;
  for (int i = 1; i < argc; ++i) {
    const bool has_value = i + 1 < argc;
    if (std::strcmp(argv[i], "--trace") == 0) {
      options.trace = true;
    } else if (std::strcmp(argv[i], "--all") == 0) {
      all = true;
    } else if (std::strcmp(argv[i], "--shrink") == 0) {
      shrinks = true;
    } else if (!has_value) {
      return usage();
    } else if (std::strcmp(argv[i], "--seeds") == 0) {
      seeds = std::strtoull(argv[++i], nullptr, 10);
    } else if (std::strcmp(argv[i], "--first") == 0) {
      first = std::strtoull(argv[++i], nullptr, 10);
    } else if (std::strcmp(argv[i], "--seed") == 0) {
      options.seed = std::strtoull(argv[++i], nullptr, 10);
      one = true;
    } else if (std::strcmp(argv[i], "--pods") == 0) {
      options.pods = std::atoi(argv[++i]);
    } else if (std::strcmp(argv[i], "--minutes") == 0) {
      options.minutes = std::atoi(argv[++i]);
    } else {
      return usage();
    }
  }
  if (one) {
    const ScheduleResult result = run_schedule(options);
    if (result.broken.empty()) {
      std::printf("seed %llu: every invariant held (%llu steps)\n", static_cast<unsigned long long>(options.seed),
                  static_cast<unsigned long long>(result.steps));
      return 0;
    }
    if (!shrinks) {
      report(options, result);
      return 1;
    }
    const bool trace = options.trace;
    options = shrink(options, result);
    options.trace = trace;
    report(options, run_schedule(options));
    return 1;
  }
  if (seeds == 0) return usage();
  uint64_t broken = 0;
  const auto begin = std::chrono::steady_clock::now();
  for (uint64_t seed = first; seed < first + seeds; ++seed) {
    options.seed = seed;
    options.without.clear();
    const ScheduleResult result = run_schedule(options);
    if (result.broken.empty()) continue;
    if (all) {
      ++broken;
      std::printf("seed %llu: %s\n", static_cast<unsigned long long>(seed), result.broken.c_str());
      std::fflush(stdout);
      continue;
    }
    ScheduleOptions smaller = shrink(options, result);
    smaller.trace = true;
    report(smaller, run_schedule(smaller));
    std::printf("replay: ./dev sim --seed %llu --trace\n", static_cast<unsigned long long>(seed));
    return 1;
  }
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  std::printf("%llu schedules of %d pods and %d minutes: %s (%.0f a minute)\n", static_cast<unsigned long long>(seeds),
              options.pods, options.minutes,
              broken == 0 ? "every invariant held" : fmt::format("{} are broken", broken).c_str(),
              static_cast<double>(seeds) * 60 / seconds);
  return broken == 0 ? 0 : 1;
}
