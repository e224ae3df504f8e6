#include <doctest/doctest.h>

#include "pleg/pod_runtime.h"

using namespace podwright;

namespace {

cri::ContainerStatus attempt(uint32_t number, WallTime created_at) {
  cri::ContainerStatus status;
  status.id = ContainerId(fmt::format("c{}", number));
  status.name = ContainerName("main");
  status.attempt = number;
  status.created_at = created_at;
  return status;
}

}  // namespace

TEST_CASE("the newest instance is that of the highest attempt, also where the wall clock was stepped back between two") {
  const WallTime noon = WallTime() + std::chrono::hours(12);
  pleg::PodRuntime pod;
  pod.containers = {attempt(1, noon), attempt(2, noon - std::chrono::hours(2)), attempt(0, noon)};

  pleg::sort_newest_first(pod);

  CHECK(pod.newest(ContainerName("main"))->id == ContainerId("c2"));
  CHECK(pod.containers.back().id == ContainerId("c0"));
}
