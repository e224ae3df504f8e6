#include "agent/cgroups/systemd_driver.h"

#include <doctest/doctest.h>

#include "agent/cgroups/pod_cgroups.h"
#include "base/co/sim_loop.h"
#include "base/files/memory_cgroups.h"
#include "base/systemd/memory_units.h"

using namespace podwright;
using namespace podwright::cgroups;

namespace {

class NoSignals final : public Signals {
 public:
  absl::Status kill_if(pid_t, const std::function<bool()>&) override { return absl::OkStatus(); }
};

std::shared_ptr<const core::Pod> a_pod() {
  auto pod = std::make_shared<core::Pod>();
  pod->mutable_metadata()->set_uid("12-34");
  auto* resources = pod->mutable_spec()->add_containers()->mutable_resources();
  (*resources->mutable_requests())["cpu"].set_string("1");
  (*resources->mutable_limits())["cpu"].set_string("1500m");
  return pod;
}

}  // namespace

TEST_CASE("limits become systemd's properties, quotas rounded up to its steps") {
  Limits limits;
  limits.cpu_shares = 1024;
  limits.cpu_quota_us = 12'345;
  limits.cpu_period_us = 100'000;
  limits.memory_bytes = -1;
  limits.pids = 100;

  const SliceProperties properties = to_properties(limits);

  CHECK(properties == SliceProperties{.cpu_weight = 39,
                                      .cpu_quota_per_sec_us = 130'000,
                                      .cpu_quota_period_us = 100'000,
                                      .memory_max = SliceProperties::kInfinity,
                                      .tasks_max = 100});
  limits.cpu_quota_us = -1;
  CHECK(to_properties(limits).cpu_quota_per_sec_us == SliceProperties::kInfinity);
  limits.cpu_quota_us = INT64_MAX;
  CHECK(to_properties(limits).cpu_quota_per_sec_us == SliceProperties::kInfinity);
  CHECK(to_properties({}) == SliceProperties{});
}

TEST_CASE("with systemd a pod is a slice below its class, made, adopted and stopped by it") {
  SimLoop loop;
  MemoryTree tree(loop);
  const auto files = MemoryCgroups::mount(tree, MemoryCgroups::Version::kV2);
  SimOffload offload(loop);
  NoSignals signals;
  MemoryUnits units(loop);
  const auto hierarchy = Hierarchy::detect(tree);
  REQUIRE(hierarchy.ok());
  SystemdDriver driver(loop, offload, tree, *hierarchy, units);
  Options options;
  options.driver = DriverKind::kSystemd;
  const auto pod = a_pod();
  const std::string slice = "kubepods-burstable-pod12_34.slice";
  const std::string path = "/kubepods.slice/kubepods-burstable.slice/" + slice;

  for (int restart = 0; restart < 2; ++restart) {
    PodCgroups cgroups(loop, offload, tree, signals, *hierarchy, options, &driver);
    REQUIRE(run_and_get(loop, cgroups.start()).ok());
    REQUIRE(run_and_get(loop, cgroups.ensure(pod)).ok());

    CHECK(cgroups.cri_parent(*pod) == path);
    CHECK(units.slices().at(slice).cpu_weight == 39);
    CHECK(units.slices().at(slice).cpu_quota_per_sec_us == 1'500'000);
    CHECK(units.slices().at("kubepods-burstable.slice").cpu_weight == 39);
    CHECK(units.slices().contains("kubepods.slice"));
    CHECK(*tree.read("/sys/fs/cgroup" + path + "/cpu.max", 100) == "150000 100000\n");
    CHECK(cgroups.list() == std::vector<PodUid>{PodUid("12-34")});
  }

  PodCgroups cgroups(loop, offload, tree, signals, *hierarchy, options, &driver);
  files->put(101, path);
  CHECK(run_and_get(loop, cgroups.remove(PodUid("12-34"))).ok());
  CHECK_FALSE(files->is_alive(101));
  CHECK_FALSE(units.slices().contains(slice));
  CHECK(cgroups.list().empty());
}

TEST_CASE("systemd's refusal reaches the caller with the slice's errand") {
  SimLoop loop;
  MemoryTree tree(loop);
  const auto files = MemoryCgroups::mount(tree, MemoryCgroups::Version::kV2);
  SimOffload offload(loop);
  NoSignals signals;
  MemoryUnits units(loop);
  const auto hierarchy = Hierarchy::detect(tree);
  SystemdDriver driver(loop, offload, tree, *hierarchy, units);
  Options options;
  options.driver = DriverKind::kSystemd;
  PodCgroups cgroups(loop, offload, tree, signals, *hierarchy, options, &driver);

  units.fail_with(absl::UnavailableError("no bus"));
  const absl::Status failed = run_and_get(loop, cgroups.start());

  CHECK(failed.code() == absl::StatusCode::kUnavailable);
  CHECK(failed.message() == "make the cgroup of all pods: no bus");
}
