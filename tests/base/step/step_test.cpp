#include "base/step/step.h"

#include <doctest/doctest.h>

using namespace podwright;

namespace {

class StillClock final : public Clock {
 public:
  Instant now() const override { return now_; }
  WallTime wall() const override { return WallTime(now_.time_since_epoch()); }
  Instant now_{Duration(1s)};
};

const Flow kPod{"pod/default/web", {{"pod", "default/web"}}};

}  // namespace

TEST_CASE("a step is in the list of waits from its begin to its end") {
  StillClock clock;
  Steps steps(clock);
  {
    Step step(steps, kPod, StepKind::kPull, "image box:1", clock.now_ + 5s);
    REQUIRE(steps.in_flight("pod/default/web").size() == 1);
    CHECK(steps.in_flight()[0].what == "image box:1");
    CHECK(steps.in_flight("pod/default/other").empty());
    clock.now_ += 2s;
    step.end(absl::UnavailableError("registry away"));
  }

  CHECK(steps.in_flight().empty());
  const auto done = steps.finished("pod/default/web");
  REQUIRE(done.size() == 1);
  CHECK(*done[0].end - done[0].begin == 2s);
  CHECK(done[0].outcome.code() == absl::StatusCode::kUnavailable);
}

TEST_CASE("a step whose frame was destroyed leaves the list of waits") {
  StillClock clock;
  Steps steps(clock);
  { const Step step(steps, kPod, StepKind::kPull, "image box:1"); }
  CHECK(steps.in_flight().empty());
  CHECK(steps.finished("pod/default/web").empty());
}

TEST_CASE("no more is kept than was said") {
  StillClock clock;
  Steps steps(clock, 3, 2);
  for (int i = 0; i < 10; ++i) Step(steps, kPod, StepKind::kPull, std::to_string(i)).end();
  CHECK(steps.finished("pod/default/web").size() == 3);
  CHECK(steps.finished("pod/default/web").back().what == "9");
  for (const char* key : {"pod/a", "pod/b", "pod/c"}) Step(steps, Flow{key, {}}, StepKind::kPull, "x").end();
  CHECK(steps.finished("pod/a").empty());
  CHECK(steps.finished("pod/c").size() == 1);
}
