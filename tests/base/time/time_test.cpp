#include "base/time/time.h"

#include <doctest/doctest.h>

using namespace podwright;

TEST_CASE("a duration is written as Go writes it") {
  struct Row {
    Duration duration;
    const char* text;
  };
  for (const Row& row :
       {Row{0s, "0s"}, Row{10s, "10s"}, Row{80s, "1m20s"}, Row{160s, "2m40s"}, Row{300s, "5m0s"}, Row{1h, "1h0m0s"},
        Row{1500ms, "1.5s"}, Row{350ms, "350ms"}, Row{1500us, "1.5ms"}, Row{999ns, "999ns"}, Row{-90s, "-1m30s"}}) {
    CHECK(to_text(row.duration) == row.text);
  }
}

TEST_CASE("a wall time is written in UTC") {
  const WallTime time(Duration(1'767'225'600'000'000'001));

  CHECK(to_rfc3339(time) == "2026-01-01T00:00:00Z");
  CHECK(to_rfc3339_nano(time) == "2026-01-01T00:00:00.000000001Z");
  CHECK(to_rfc3339(WallTime(Duration(-1))) == "1969-12-31T23:59:59Z");
}

TEST_CASE("never stays never") {
  CHECK(after(Instant::max(), 1s) == Instant::max());
  CHECK(after(Instant::max() - 1s, 2s) == Instant::max());
  CHECK(after(Instant(5s), 2s) == Instant(7s));
}

TEST_CASE("jitter stays within its part") {
  SeededRng rng(7);
  for (int i = 0; i < 1000; ++i) {
    const Duration drawn = rng.jitter(10s, 0.5);
    CHECK(drawn >= 10s);
    CHECK(drawn < 15s);
  }
}
