// What the command line takes from the local socket at most.
#include <doctest/doctest.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <string>
#include <thread>

#include "agent/cli/client.h"
#include "base/limits.h"

using namespace podwright;
using namespace podwright::cli;

namespace {

// What the client says to one answer.
absl::StatusOr<Reply> reply_to(const std::string& answer) {
  std::string folder = std::filesystem::temp_directory_path() / "podwright-bounds-XXXXXX";
  REQUIRE(::mkdtemp(folder.data()) != nullptr);
  const std::string path = folder + "/agent.sock";
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::strncpy(address.sun_path, path.c_str(), sizeof address.sun_path - 1);
  const int listener = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  REQUIRE(::bind(listener, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0);
  REQUIRE(::listen(listener, 1) == 0);
  std::thread agent([listener, &answer] {
    const int connection = ::accept(listener, nullptr, nullptr);
    std::array<char, 4096> request{};
    (void)!::read(connection, request.data(), request.size());
    (void)!::write(connection, answer.data(), answer.size());
    ::close(connection);
  });
  auto reply = Client(path).send("GET", "/x");
  agent.join();
  ::close(listener);
  std::filesystem::remove_all(folder);
  return reply;
}

}  // namespace

TEST_CASE("an answer that announces more than kLocalReplyBytes is refused before it is read") {
  const auto announced = [](std::size_t bytes) {
    return "HTTP/1.1 200 OK\r\nContent-Length: " + std::to_string(bytes) + "\r\n\r\n";
  };
  CHECK(absl::IsResourceExhausted(reply_to(announced(limits::kLocalReplyBytes + 1)).status()));
  // One byte less is read, and found to be cut off.
  CHECK(absl::IsUnavailable(reply_to(announced(limits::kLocalReplyBytes)).status()));
}
