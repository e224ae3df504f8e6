#include "probes/targets.h"

#include <doctest/doctest.h>

#include "base/co/sim_loop.h"
#include "base/net/memory_net.h"

namespace podwright::probes {
namespace {

struct Fixture {
  SimLoop loop;
  MemoryNet net{loop};
  ProbeTarget pod = target();

  static ProbeTarget target() {
    ProbeTarget target;
    target.pod_ips = {"10.0.0.7", "fd00::7"};
    return target;
  }
  absl::StatusOr<Targets::Resolved> resolve(Targets& targets, const std::string& host) {
    return run_and_get(loop, targets.resolve(pod, host, loop.now() + 1s));
  }
};

TEST_CASE("the address of a metadata service is known in every spelling") {
  for (const char* text : {"169.254.169.254", "::ffff:169.254.169.254", "::ffff:a9fe:a9fe", "[::ffff:a9fe:a9fe]",
                           "0xa9fea9fe", "2852039166", "169.254.43518", "0251.0376.0251.0376", "fd00:ec2::254",
                           "FD00:0EC2:0:0::0254", "[fd00:ec2::254]", "fd00:ec2::254%eth0"}) {
    CAPTURE(text);
    CHECK(is_metadata_address(text));
  }
  for (const char* text : {"169.254.169.253", "fd00:ec2::255", "metadata", "", "::1", "10.0.0.1"}) {
    CAPTURE(text);
    CHECK(!is_metadata_address(text));
  }
}

TEST_CASE("without a host the target is the pod's primary address") {
  Fixture f;
  Targets targets(f.net, TargetPolicy::kDeny);
  CHECK(f.resolve(targets, "")->addresses == std::vector<std::string>{"10.0.0.7"});
  f.pod.pod_ips.clear();
  CHECK(absl::IsNotFound(f.resolve(targets, "").status()));
}

TEST_CASE("other hosts are the policy's, and are counted") {
  Fixture f;
  f.net.name("elsewhere", {"10.9.9.9"});
  Targets allow(f.net, TargetPolicy::kAllow), warn(f.net, TargetPolicy::kWarn), deny(f.net, TargetPolicy::kDeny);
  CHECK(f.resolve(allow, "elsewhere")->addresses == std::vector<std::string>{"10.9.9.9"});
  CHECK(!f.resolve(allow, "elsewhere")->foreign);
  CHECK(allow.counts().foreign == 2);
  CHECK(f.resolve(warn, "elsewhere")->foreign);
  CHECK(absl::IsPermissionDenied(f.resolve(deny, "elsewhere").status()));
  CHECK(deny.counts().denied == 1);
}

TEST_CASE("the pod by its own address is not another host") {
  Fixture f;
  Targets deny(f.net, TargetPolicy::kDeny);
  CHECK(f.resolve(deny, "10.0.0.7").ok());
  CHECK(f.resolve(deny, "fd00:0::7").ok());
  CHECK(!f.resolve(deny, "127.0.0.1").ok());
  f.pod.host_network = true;
  CHECK(f.resolve(deny, "127.0.0.1").ok());
  CHECK(f.resolve(deny, "::1").ok());
}

TEST_CASE("a metadata service is refused, by name too, unless the pod uses the host's network") {
  Fixture f;
  f.net.name("metadata", {"169.254.169.254"});
  Targets allow(f.net, TargetPolicy::kAllow);
  CHECK(absl::IsPermissionDenied(f.resolve(allow, "metadata").status()));
  CHECK(absl::IsPermissionDenied(f.resolve(allow, "::ffff:169.254.169.254").status()));
  CHECK(allow.counts().metadata_refused == 2);
  f.pod.host_network = true;
  CHECK(f.resolve(allow, "metadata").ok());
}

TEST_CASE("a dial takes the first address that answers") {
  Fixture f;
  f.net.name("web", {"10.1.0.1", "10.1.0.2"});
  f.net.serve("10.1.0.2:80", [](std::unique_ptr<Stream>) -> Co<void> { co_return; });
  Targets allow(f.net, TargetPolicy::kAllow);
  const auto resolved = f.resolve(allow, "web");
  const auto stream = run_and_get(f.loop, allow.dial(*resolved, 80, f.loop.now() + 1s));
  CHECK(stream.ok());
  CHECK(f.net.dials("10.1.0.1:80") == 1);
}

TEST_CASE("the node's policy is written as a word") {
  CHECK(target_policy_from("warn") == TargetPolicy::kWarn);
  CHECK(!target_policy_from("Warn"));
}

}  // namespace
}  // namespace podwright::probes
