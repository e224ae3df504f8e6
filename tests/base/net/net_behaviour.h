// Behaviours that hold over every Net. A test program runs each of them over the real and the simulated one.
#pragma once

#include <doctest/doctest.h>

#include <functional>

#include "base/co/real_loop.h"
#include "base/co/scope.h"
#include "base/co/sim_loop.h"
#include "base/net/memory_net.h"
#include "base/net/real_net.h"

namespace podwright {

using NetTest = std::function<Co<void>(Loop&, Net&)>;

// A test body as a flow on the real loop, which has a minute.
inline Co<void> then_stop(RealLoop& loop, Co<void> body) {
  co_await std::move(body);
  loop.stop();
}

inline void on_real_net(const NetTest& test) {
  RealLoop loop;
  RealNet net(loop);
  Scope scope(loop);
  loop.call_at(loop.now() + 60s, [] { FAIL("the test did not end within a minute"); });
  scope.spawn("test", then_stop(loop, test(loop, net)));
  loop.run();
}

inline void on_memory_net(const NetTest& test) {
  for (uint64_t seed = 1; seed <= 10; ++seed) {
    SimLoop loop(seed);
    MemoryNet net(loop);
    run_to_end(loop, test(loop, net));
  }
}

inline void on_both(const NetTest& test) {
  SUBCASE("sockets") {
    on_real_net(test);
  }
  SUBCASE("memory") {
    on_memory_net(test);
  }
}

}  // namespace podwright
