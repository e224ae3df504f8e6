// What comes from the node's own files has its bounds, and a file beyond them stops no pod.
#include <doctest/doctest.h>

#include "base/limits.h"
#include "tests/sim/manifests.h"
#include "tests/sim/sim_world.h"

using namespace podwright;
using namespace podwright::sim;

namespace {

// The hosts file of the one pod on the node; empty where there is none.
std::string hosts_file(SimWorld& world) {
  const auto pods = world.tree().list("/var/lib/kubelet/pods");
  if (!pods.ok() || pods->size() != 1) return "";
  return world.tree().read("/var/lib/kubelet/pods/" + pods->at(0).name + "/etc-hosts", 1 << 22).value_or("");
}

}  // namespace

TEST_CASE("a pod in the host's network has the node's hosts file, unless that is longer than kHostsFileBytes") {
  for (const bool fits : {true, false}) {
    CAPTURE(fits);
    SimWorld world(1);
    const std::string line = "192.0.2.1 me\n";
    std::string hosts = line;
    hosts.append(limits::kHostsFileBytes - hosts.size() + (fits ? 0 : 1), '#');
    REQUIRE(world.tree().write("/etc/hosts", hosts, 0644).ok());
    world.write_manifest("web.yaml", one_container("web", "hostNetwork: true"));
    world.start_agent();

    REQUIRE(world.wait([&] { return world.phase("t/web-n1") == "Running"; }, 10s));
    CHECK((hosts_file(world).find(line) != std::string::npos) == fits);
  }
}
