#include "agent/cgroups/names.h"

#include <doctest/doctest.h>

using namespace podwright;
using namespace podwright::cgroups;

TEST_CASE("names are written as directories or as slices") {
  using api::Qos;
  struct Row {
    const char* root;
    Qos qos;
    const char *uid, *cgroupfs, *systemd;
  };
  const Row rows[] = {
      {"/", Qos::kBurstable, "12-34", "/kubepods/burstable/pod12-34",
       "/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod12_34.slice"},
      {"", Qos::kBestEffort, "ab", "/kubepods/besteffort/podab",
       "/kubepods.slice/kubepods-besteffort.slice/kubepods-besteffort-podab.slice"},
      {"/", Qos::kGuaranteed, "ab", "/kubepods/podab", "/kubepods.slice/kubepods-podab.slice"},
      {"/x/y", Qos::kGuaranteed, "ab", "/x/y/kubepods/podab",
       "/x.slice/x-y.slice/x-y-kubepods.slice/x-y-kubepods-podab.slice"},
  };
  for (const Row& row : rows) {
    CAPTURE(row.cgroupfs);
    const auto name = [&](DriverKind kind) { return pod_name(parse_root(row.root, kind), row.qos, PodUid(row.uid)); };
    CHECK(to_path(name(DriverKind::kCgroupfs), DriverKind::kCgroupfs) == row.cgroupfs);
    CHECK(to_path(name(DriverKind::kSystemd), DriverKind::kSystemd) == row.systemd);
  }
  CHECK(parse_root("/a-b.slice", DriverKind::kSystemd) == Name{"a", "b"});
  CHECK(parse_root("/a.slice/a-b.slice", DriverKind::kSystemd) == Name{"a", "b"});
  CHECK(to_path({}, DriverKind::kCgroupfs) == "/");
  CHECK(to_slice({}) == "-.slice");
  CHECK(to_slice({"kubepods", "burstable"}) == "kubepods-burstable.slice");
}

TEST_CASE("a directory names its pod, and others name none") {
  const Name burstable = qos_name({}, api::Qos::kBurstable);
  const Name guaranteed = qos_name({}, api::Qos::kGuaranteed);

  CHECK(pod_of(burstable, "pod12-34", DriverKind::kCgroupfs)->value == "12-34");
  CHECK(pod_of(burstable, "kubepods-burstable-pod12_34.slice", DriverKind::kSystemd)->value == "12-34");
  CHECK(pod_of(guaranteed, "kubepods-podab.slice", DriverKind::kSystemd)->value == "ab");
  CHECK_FALSE(pod_of(guaranteed, "kubepods-burstable.slice", DriverKind::kSystemd));
  CHECK_FALSE(pod_of(guaranteed, "burstable", DriverKind::kCgroupfs));
  CHECK_FALSE(pod_of(guaranteed, "pod", DriverKind::kCgroupfs));
  CHECK_FALSE(pod_of(burstable, "kubepods-burstable-pod.slice", DriverKind::kSystemd));
  CHECK_FALSE(pod_of(burstable, "kubepods-burstable-podx.scope", DriverKind::kSystemd));
}
