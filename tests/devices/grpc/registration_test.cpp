// Registration and allocation over real unix sockets, with the fake plugin.
#include <doctest/doctest.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <filesystem>

#include "base/co/offload.h"
#include "base/co/real_loop.h"
#include "base/files/real_tree.h"
#include "devices/fake/fake_device_plugin.h"
#include "devices/grpc/grpc_plugin.h"
#include "devices/grpc/registration_server.h"

using namespace podwright;
using namespace podwright::devices;

namespace {

const ResourceName kResource{"podwright.test/device"};

struct Folder {
  std::string path;
  Folder() {
    char pattern[] = "/tmp/devices-test-XXXXXX";
    path = ::mkdtemp(pattern);
  }
  ~Folder() { std::filesystem::remove_all(path); }
};

std::vector<v1beta1::Device> some_devices(int count) {
  std::vector<v1beta1::Device> list(static_cast<std::size_t>(count));
  for (int i = 0; i < count; ++i) {
    list[static_cast<std::size_t>(i)].set_id(fmt::format("dev-{}", i));
    list[static_cast<std::size_t>(i)].set_health("Healthy");
  }
  return list;
}

PodNeeds a_pod(const std::string& uid, int64_t count) {
  return {PodUid(uid), 0, {{ContainerName("app"), ContainerOrder::kApp, {{kResource, count}}}}};
}

struct World {
  Folder folder;
  RealLoop loop;
  rpc::Poller poller{loop};
  RealTree tree{loop};
  Steps steps{loop.clock()};
  Notice news{loop};
  DevicePlugins plugins{loop, tree, steps, grpc_dial(poller), options()};
  RegistrationServer server{tree, plugins};

  World() {
    plugins.on_change([this] { news.notify(); });
  }
  PluginsOptions options() const {
    PluginsOptions options;
    options.dir = folder.path;
    return options;
  }
  FakePluginOptions fake_options() const {
    FakePluginOptions options;
    options.dir = folder.path;
    return options;
  }
  Instant soon() { return after(loop.now(), std::chrono::seconds(20)); }
  Counts counts() const {
    const auto all = plugins.shares().counts(Instant());
    const auto found = all.find(kResource);
    return found == all.end() ? Counts() : found->second;
  }
  Co<bool> until_allocatable(int64_t count) {
    const Instant deadline = soon();
    while (counts().allocatable != count) {
      if (co_await news.wait_until(deadline) != Wait::kRung) co_return false;
    }
    co_return true;
  }
};

Co<void> finish(World& world, Co<void> story) {
  co_await std::move(story);
  co_await world.plugins.close();
  co_await world.server.close();
  world.poller.close();
  world.loop.stop();
}

void tell(World& world, Co<void> story) {
  Scope scope(world.loop);
  scope.spawn("story", finish(world, std::move(story)));
  world.loop.run();
}

Co<void> a_container_gets_devices(World& world) {
  FakePluginOptions options = world.fake_options();
  options.pre_start_required = true;
  options.preferred_allocation = true;
  FakeDevicePlugin plugin(world.loop, world.poller, options);
  plugin.set_devices(some_devices(3));
  CHECK(world.server.start(world.poller).ok());
  CHECK(plugin.start().ok());
  CHECK((co_await plugin.register_now(world.soon())).ok());
  CHECK(co_await world.until_allocatable(3));

  auto given = co_await world.plugins.give(a_pod("a", 2), ContainerName("app"));
  auto again = co_await world.plugins.give(a_pod("a", 2), ContainerName("app"));
  auto other = co_await world.plugins.give(a_pod("b", 2), ContainerName("app"));

  CHECK(given.ok());
  CHECK(given->setup.envs.at("PODWRIGHT_DEVICES") == "dev-1,dev-2");
  CHECK(again->setup == given->setup);
  CHECK(plugin.allocated.size() == 1);
  CHECK(plugin.pre_started.size() == 2);
  CHECK(other->wait->reason == "WaitingForDevices");

  co_await plugin.close();
  CHECK(co_await world.until_allocatable(0));
  CHECK(world.counts().capacity == 3);
}

Co<void> a_failed_allocation_holds_nothing(World& world) {
  FakeDevicePlugin plugin(world.loop, world.poller, world.fake_options());
  plugin.set_devices(some_devices(1));
  plugin.allocate_error = absl::InternalError("broken");
  CHECK(world.server.start(world.poller).ok());
  CHECK(plugin.start().ok());
  CHECK((co_await plugin.register_now(world.soon())).ok());
  CHECK(co_await world.until_allocatable(1));

  auto failed = co_await world.plugins.give(a_pod("a", 1), ContainerName("app"));
  plugin.allocate_error = absl::OkStatus();
  auto other = co_await world.plugins.give(a_pod("b", 1), ContainerName("app"));

  CHECK(failed.status().code() == absl::StatusCode::kInternal);
  CHECK(other.ok());
  CHECK_FALSE(other->wait);
  co_await plugin.close();
}

Co<void> a_plugin_serves_after_it_registered(World& world) {
  FakeDevicePlugin plugin(world.loop, world.poller, world.fake_options());
  plugin.set_devices(some_devices(1));
  CHECK(world.server.start(world.poller).ok());

  CHECK((co_await plugin.register_now(world.soon())).ok());
  CHECK(plugin.start().ok());

  CHECK(co_await world.until_allocatable(1));
  co_await plugin.close();
}

Co<void> a_new_agent_removes_old_sockets(World& world) {
  const std::string old = world.folder.path + "/old.sock";
  const int descriptor = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  old.copy(address.sun_path, sizeof(address.sun_path) - 1);
  CHECK(::bind(descriptor, reinterpret_cast<const sockaddr*>(&address), sizeof(address)) == 0);
  ::close(descriptor);
  CHECK(world.tree.write(world.folder.path + "/kubelet_internal_checkpoint", "{}", 0600).ok());

  CHECK(world.server.start(world.poller).ok());

  CHECK_FALSE(std::filesystem::exists(old));
  CHECK(std::filesystem::exists(world.folder.path + "/kubelet_internal_checkpoint"));
  CHECK(std::filesystem::is_socket(world.folder.path + "/kubelet.sock"));
  co_return;
}

}  // namespace

TEST_CASE("a container gets the devices that its plugin prefers, allocated once and prepared at each start") {
  World world;
  tell(world, a_container_gets_devices(world));
}

TEST_CASE("a failed allocation holds nothing") {
  World world;
  tell(world, a_failed_allocation_holds_nothing(world));
}

TEST_CASE("a plugin that serves only after it registered is found") {
  World world;
  tell(world, a_plugin_serves_after_it_registered(world));
}

TEST_CASE("a new agent removes the sockets that plugins left, and nothing else") {
  World world;
  tell(world, a_new_agent_removes_old_sockets(world));
}
