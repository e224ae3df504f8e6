// podwright-fake-cri: the fake runtime behind a CRI socket, for the bench and for trying the agent without a runtime.
//
//   podwright-fake-cri --listen unix:///run/fake.sock [--image REF]... [--any-image] [--no-events] [--like-containerd]
//
// Containers run until they are told to stop; nothing is really started. Ends on SIGTERM or SIGINT.
#include <sys/signalfd.h>
#include <unistd.h>

#include <boost/asio/posix/stream_descriptor.hpp>
#include <csignal>
#include <cstdio>
#include <string_view>

#include "base/co/real_loop.h"
#include "base/co/scope.h"
#include "cri/fake/fake_runtime.h"
#include "cri/fake/server/cri_server.h"

using namespace podwright;

namespace {

struct Arguments {
  std::string listen;
  std::vector<std::string> images;
  bool any_image = false;
  bool events = true;
  bool like_containerd = false;
};

constexpr char kUsage[] =
    "usage: podwright-fake-cri --listen unix:///PATH [--image REF]... [--any-image] [--no-events] "
    "[--like-containerd]\n";

std::optional<Arguments> parse(int count, char** words) {
  Arguments to;
  for (int i = 1; i < count; ++i) {
    const std::string_view word = words[i];
    const bool has_value = i + 1 < count;
    if (word == "--listen" && has_value) {
      to.listen = words[++i];
    } else if (word == "--image" && has_value) {
      to.images.emplace_back(words[++i]);
    } else if (word == "--any-image") {
      to.any_image = true;
    } else if (word == "--no-events") {
      to.events = false;
    } else if (word == "--like-containerd") {
      to.like_containerd = true;
    } else {
      return std::nullopt;
    }
  }
  if (to.listen.empty()) return std::nullopt;
  return to;
}

Co<void> close_and_stop(RealLoop& loop, cri::CriServer& server) {
  co_await server.close();
  loop.stop();
}

}  // namespace

int main(int count, char** words) {
  const std::optional<Arguments> arguments = parse(count, words);
  if (!arguments) {
    std::fputs(kUsage, stderr);
    return 2;
  }
  sigset_t ends;
  sigemptyset(&ends);
  sigaddset(&ends, SIGTERM);
  sigaddset(&ends, SIGINT);
  sigprocmask(SIG_BLOCK, &ends, nullptr);

  RealLoop loop;
  cri::FakeRuntimeOptions options;
  options.checks_images = !arguments->any_image;
  if (arguments->like_containerd) options.takes = cri::containerd_durations();
  cri::FakeRuntime runtime(loop, options);
  for (const auto& image : arguments->images) runtime.add_image(image);
  rpc::Poller poller(loop);
  cri::CriServer server(loop, runtime, runtime, runtime, arguments->events);
  const absl::Status listening = server.listen(poller, arguments->listen);
  if (!listening.ok()) {
    std::fprintf(stderr, "%s\n", listening.ToString().c_str());
    return 1;
  }
  std::printf("listening on %s\n", arguments->listen.c_str());
  std::fflush(stdout);

  Scope scope(loop);
  boost::asio::posix::stream_descriptor signals(loop.io(), signalfd(-1, &ends, SFD_CLOEXEC | SFD_NONBLOCK));
  signals.async_wait(boost::asio::posix::stream_descriptor::wait_read,
                     [&](const boost::system::error_code&) { scope.spawn("close", close_and_stop(loop, server)); });
  loop.run();
  return 0;
}
