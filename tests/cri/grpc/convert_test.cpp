#include "cri/grpc/convert.h"

#include <doctest/doctest.h>

using namespace podwright;
using namespace podwright::cri;

TEST_CASE("a sandbox's config is written field by field") {
  SandboxConfig config;
  config.pod = {"default", "web"};
  config.uid = PodUid("u1");
  config.attempt = 2;
  config.hostname = "web";
  config.log_directory = "/var/log/pods/default_web_u1";
  config.dns = DnsConfig{{"10.0.0.10"}, {"cluster.local"}, {"ndots:5"}};
  config.ports.push_back({Protocol::kUdp, 53, 5353, "127.0.0.1"});
  config.labels = {{"a", "b"}};
  config.cgroup_parent = "/kubepods/podu1";
  config.namespaces.network = NamespaceMode::kNode;
  config.namespaces.uid_mappings.push_back({65536, 0, 65536});
  config.run_as_user = 0;
  config.seccomp = {SecurityProfile::Type::kLocalhost, "/profiles/a.json"};

  const wire::PodSandboxConfig sent = to_wire(config);

  CHECK(sent.metadata().name() == "web");
  CHECK(sent.metadata().namespace_() == "default");
  CHECK(sent.metadata().uid() == "u1");
  CHECK(sent.metadata().attempt() == 2);
  CHECK(sent.hostname() == "web");
  CHECK(sent.dns_config().options(0) == "ndots:5");
  CHECK(sent.port_mappings(0).protocol() == wire::UDP);
  CHECK(sent.port_mappings(0).host_port() == 5353);
  CHECK(sent.linux().cgroup_parent() == "/kubepods/podu1");
  const auto& security = sent.linux().security_context();
  CHECK(security.namespace_options().network() == wire::NODE);
  CHECK(security.namespace_options().pid() == wire::POD);
  CHECK(security.namespace_options().userns_options().uids(0).host_id() == 65536);
  // User 0 is said; a group that is not set is not.
  CHECK(security.has_run_as_user());
  CHECK(security.run_as_user().value() == 0);
  CHECK_FALSE(security.has_run_as_group());
  CHECK(security.seccomp().profile_type() == wire::SecurityProfile::Localhost);
  CHECK(security.seccomp().localhost_ref() == "/profiles/a.json");
}

TEST_CASE("a container's config is written field by field") {
  ContainerConfig config;
  config.name = ContainerName("app");
  config.attempt = 3;
  config.image = "sha256:1";
  config.user_specified_image = "app:1";
  config.command = {"/app"};
  config.args = {"-v"};
  config.envs = {{"A", "1"}, {"B", ""}};
  Mount image;
  image.container_path = "/data";
  image.image = "sha256:2";
  image.image_sub_path = "sub";
  image.propagation = Propagation::kBidirectional;
  config.mounts = {image};
  config.cdi_devices = {"vendor.com/gpu=0"};
  config.stop_signal = "SIGUSR1";
  config.resources.cpu_quota_us = -1;
  config.resources.hugepages = {{"2MB", 4 << 20}};
  config.resources.unified = {{"memory.oom.group", "1"}};
  config.namespaces.pid = NamespaceMode::kTarget;
  config.namespaces.target = ContainerId("c0");
  config.add_capabilities = {"NET_ADMIN"};
  config.apparmor = SecurityProfile{SecurityProfile::Type::kLocalhost, "strict"};

  const wire::ContainerConfig sent = to_wire(config);

  CHECK(sent.metadata().name() == "app");
  CHECK(sent.metadata().attempt() == 3);
  CHECK(sent.image().image() == "sha256:1");
  CHECK(sent.image().user_specified_image() == "app:1");
  CHECK(sent.envs(1).key() == "B");
  CHECK(sent.mounts(0).image().image() == "sha256:2");
  CHECK(sent.mounts(0).image_sub_path() == "sub");
  CHECK(sent.mounts(0).propagation() == wire::PROPAGATION_BIDIRECTIONAL);
  CHECK(sent.cdi_devices(0).name() == "vendor.com/gpu=0");
  CHECK(sent.stop_signal() == wire::SIGNAL_SIGUSR1);
  CHECK(from_wire(sent.linux().resources()) == config.resources);
  const auto& security = sent.linux().security_context();
  CHECK(security.namespace_options().pid() == wire::TARGET);
  CHECK(security.namespace_options().target_id() == "c0");
  CHECK(security.capabilities().add_capabilities(0) == "NET_ADMIN");
  CHECK(security.apparmor().localhost_ref() == "strict");
  CHECK(security.apparmor_profile() == "localhost/strict");
  CHECK_FALSE(security.has_seccomp());
}

TEST_CASE("a container's status is read in nanoseconds, unset times staying unset") {
  wire::ContainerStatus sent;
  sent.set_id("c1");
  sent.mutable_metadata()->set_name("app");
  sent.mutable_metadata()->set_attempt(1);
  sent.set_state(wire::CONTAINER_EXITED);
  sent.set_created_at(1'000'000'001);
  sent.set_started_at(2'000'000'002);
  sent.set_exit_code(137);
  sent.set_reason("OOMKilled");
  auto* mount = sent.add_mounts();
  mount->set_container_path("/data");
  mount->set_propagation(wire::PROPAGATION_HOST_TO_CONTAINER);

  const ContainerStatus seen = from_wire(sent);

  CHECK(seen.id == ContainerId("c1"));
  CHECK(seen.name == ContainerName("app"));
  CHECK(seen.state == ContainerState::kExited);
  CHECK(seen.created_at == WallTime(Duration(1'000'000'001)));
  CHECK(seen.started_at == WallTime(Duration(2'000'000'002)));
  CHECK(seen.finished_at == WallTime());
  CHECK(seen.exit_code == 137);
  CHECK(seen.reason == "OOMKilled");
  CHECK(seen.mounts.at(0).propagation == Propagation::kHostToContainer);
  CHECK_FALSE(seen.resources.has_value());
  CHECK_FALSE(seen.user.has_value());
}

TEST_CASE("an image's user is a number, a name, or not said") {
  wire::Image number;
  number.mutable_uid()->set_value(0);
  wire::Image name;
  name.set_username("app");

  CHECK(from_wire(number).uid == 0);
  CHECK_FALSE(from_wire(name).uid.has_value());
  CHECK(from_wire(name).username == "app");
}
