// podwright-fake-device-plugin: a device plugin that plays hardware, for trying a node that has none.
//
//   podwright-fake-device-plugin [--dir DIR] [--resource NAME] [--count N | --script FILE] [--device-node PATH]
//
// Offers N devices dev-0 to dev-(N-1), or those of the file, one a line: "ID Healthy|Unhealthy [NUMA node]". The file
// may change while it runs. Registers again whenever kubelet.sock is another file. Ends on SIGTERM or SIGINT.
#include <sys/stat.h>

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <optional>
#include <sstream>
#include <string_view>

#include "base/co/real_loop.h"
#include "base/co/scope.h"
#include "base/process/termination.h"
#include "devices/fake/fake_device_plugin.h"

using namespace podwright;

namespace {

constexpr char kUsage[] =
    "usage: podwright-fake-device-plugin [--dir DIR] [--resource NAME] [--count N | --script FILE] "
    "[--device-node PATH]\n";

struct Arguments {
  devices::FakePluginOptions options;
  int count = 2;
  std::string script;
};

std::optional<Arguments> parse(int count, char** words) {
  Arguments to;
  for (int i = 1; i < count; ++i) {
    const std::string_view word = words[i];
    if (i + 1 >= count) return std::nullopt;
    const std::string value = words[++i];
    if (word == "--dir") {
      to.options.dir = value;
    } else if (word == "--resource") {
      to.options.resource = value;
      to.options.socket = value.substr(value.rfind('/') + 1) + ".sock";
    } else if (word == "--count") {
      to.count = std::atoi(value.c_str());
    } else if (word == "--script") {
      to.script = value;
    } else if (word == "--device-node") {
      to.options.device_node = value;
    } else {
      return std::nullopt;
    }
  }
  return to;
}

std::vector<v1beta1::Device> wanted(const Arguments& arguments) {
  std::vector<v1beta1::Device> devices;
  if (arguments.script.empty()) {
    for (int i = 0; i < arguments.count; ++i) {
      devices.emplace_back();
      devices.back().set_id(fmt::format("dev-{}", i));
      devices.back().set_health("Healthy");
    }
    return devices;
  }
  std::ifstream file(arguments.script);
  for (std::string line; std::getline(file, line);) {
    std::istringstream words(line);
    std::string id, health;
    if (!(words >> id >> health)) continue;
    devices.emplace_back();
    devices.back().set_id(id);
    devices.back().set_health(health);
    if (int64_t node = 0; words >> node) devices.back().mutable_topology()->add_nodes()->set_id(node);
  }
  return devices;
}

std::string text_of(const std::vector<v1beta1::Device>& devices) {
  std::string text;
  for (const auto& device : devices) text += device.ShortDebugString() + "\n";
  return text;
}

// Looks once a second whether the devices or the agent changed.
Co<void> play(RealLoop& loop, const Arguments& arguments, devices::FakeDevicePlugin& plugin) {
  const std::string agent = arguments.options.dir + "/kubelet.sock";
  std::string shown = "none yet";
  std::optional<std::pair<ino_t, int64_t>> registered;
  while (true) {
    std::vector<v1beta1::Device> devices = wanted(arguments);
    if (std::string text = text_of(devices); text != shown) {
      shown = std::move(text);
      plugin.set_devices(std::move(devices));
    }
    struct stat info {};
    if (::stat(agent.c_str(), &info) != 0) {
      registered.reset();
    } else if (const auto now = std::make_pair(info.st_ino, static_cast<int64_t>(info.st_ctim.tv_nsec));
               registered != now) {
      absl::Status done;
      // The agent may have removed the socket: it is made anew.
      co_await plugin.close();
      done = plugin.start();
      if (done.ok()) done = co_await plugin.register_now(after(loop.now(), std::chrono::seconds(5)));
      if (done.ok()) registered = now;
      std::printf("register: %s\n", done.ToString().c_str());
      std::fflush(stdout);
    }
    if (co_await sleep_until(loop, after(loop.now(), std::chrono::seconds(1))) == Wait::kCancelled) co_return;
  }
}

Co<void> close_and_stop(RealLoop& loop, Scope& scope, devices::FakeDevicePlugin& plugin) {
  co_await scope.close();
  co_await plugin.close();
  loop.stop();
}

}  // namespace

int main(int count, char** words) {
  const std::optional<Arguments> arguments = parse(count, words);
  if (!arguments) {
    std::fputs(kUsage, stderr);
    return 2;
  }
  RealLoop loop;
  rpc::Poller poller(loop);
  devices::FakeDevicePlugin plugin(loop, poller, arguments->options);
  Scope work(loop), closing(loop);
  work.spawn("play", play(loop, *arguments, plugin));
  const TerminationSignals signals(loop, [&](int) { closing.spawn("close", close_and_stop(loop, work, plugin)); });
  loop.run();
  return 0;
}
