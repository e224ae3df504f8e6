// Containers come, are replaced, triggered and go in every order.
#include "probed_world.h"

namespace podwright::probes {
namespace {

TEST_CASE("whatever order, nothing is told of a container that is not watched") {
  for (uint64_t seed = 1; seed <= 60; ++seed) {
    CAPTURE(seed);
    ProbedWorld w({}, seed);
    w.script(
        [&w](const auto&) { return w.loop.rng().below(4) == 0 ? hangs() : ends_with(w.loop.rng().below(3) == 0); });
    ContainerId id;
    for (int i = 0; i < 40; ++i) {
      switch (w.loop.rng().below(6)) {
        case 0:
          w.probes.remove(w.uid, w.name);
          id = ContainerId();
          break;
        case 1: w.probes.trigger(w.uid, w.name, ProbeKind::kReadiness); break;
        case 2: w.probes.stop_liveness_and_startup(w.uid); break;
        case 3:
          w.probes.remove(w.uid);
          id = ContainerId();
          break;
        default:
          id = w.add({{ProbeKind::kStartup, exec_spec("up", 1s)},
                      {ProbeKind::kLiveness, exec_spec("live", 1s)},
                      {ProbeKind::kReadiness, exec_spec("ready", 1s)}});
      }
      w.results.clear();
      w.loop.run_for(Duration(static_cast<int64_t>(w.loop.rng().below(3'000'000'000))));
      for (const auto& result : w.results) CHECK(result.id == id);
      CHECK(w.verdicts(id).has_value() == !id.empty());
    }
  }
}

}  // namespace
}  // namespace podwright::probes
