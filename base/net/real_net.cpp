#include "base/net/real_net.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <boost/asio/posix/stream_descriptor.hpp>
#include <cerrno>
#include <cstring>

#include "base/co/bell.h"
#include "base/limits.h"
#include "base/net/errors.h"
#include "base/net/resolver.h"
#include "base/status/annotate.h"

namespace podwright {
namespace asio = boost::asio;

namespace {

using Descriptor = asio::posix::stream_descriptor;

// A descriptor that is closed when its owner dies and can be waited for. The reactor's answer is a hint: the caller
// tries its system call again.
class Watched {
 public:
  Watched(RealLoop& loop, int fd) : loop_(loop), descriptor_(loop.io()) { descriptor_.assign(fd, error_); }
  bool ok() const { return !error_; }
  absl::Status status() const { return errno_status(error_.value(), "watch a socket"); }
  int fd() { return descriptor_.native_handle(); }

  Co<Wait> ready(Descriptor::wait_type what, Instant deadline) {
    if (co_await is_stopping()) co_return Wait::kCancelled;
    if (deadline <= loop_.now()) co_return Wait::kLate;
    const auto bell = std::make_shared<Bell>(loop_);
    descriptor_.async_wait(what, [bell](const boost::system::error_code&) { bell->ring(); });
    const Wait wait = co_await bell->wait_until(deadline);
    // Wakes a waiter of the other direction too, for nothing.
    boost::system::error_code ignored;
    if (wait != Wait::kRung) descriptor_.cancel(ignored);
    co_return wait;
  }

 private:
  RealLoop& loop_;
  boost::system::error_code error_;
  Descriptor descriptor_;
};

// A socket's failure in Go's words: "connection refused", all lower case.
absl::Status socket_error(int error_number, std::string_view what) {
  std::string words = std::strerror(error_number);
  std::transform(words.begin(), words.end(), words.begin(), [](unsigned char c) { return std::tolower(c); });
  return absl::UnavailableError(fmt::format("{}: {}", what, words));
}

absl::Status wait_error(Wait wait, std::string_view what) {
  if (wait == Wait::kCancelled) return absl::CancelledError(fmt::format("{}: stopped", what));
  return absl::DeadlineExceededError(fmt::format("{}: i/o timeout", what));
}

class SocketStream final : public Stream {
 public:
  SocketStream(RealLoop& loop, int fd) : socket_(loop, fd) {}
  bool ok() const { return socket_.ok(); }
  absl::Status status() const { return socket_.status(); }
  Watched& socket() { return socket_; }

  Co<absl::StatusOr<std::string>> read_some(std::size_t limit, Instant deadline) override {
    std::string bytes(std::min(limit, limits::kStreamReadBytes), '\0');
    while (true) {
      const ssize_t got = ::recv(socket_.fd(), bytes.data(), bytes.size(), 0);
      if (got >= 0) {
        bytes.resize(static_cast<std::size_t>(got));
        co_return bytes;
      }
      if (errno == EINTR) continue;
      if (errno != EAGAIN) co_return socket_error(errno, "read");
      const Wait wait = co_await socket_.ready(Descriptor::wait_read, deadline);
      if (wait != Wait::kRung) co_return wait_error(wait, "read");
    }
  }

  Co<absl::Status> write_all(std::string bytes, Instant deadline) override {
    std::size_t done = 0;
    while (done < bytes.size()) {
      const ssize_t put = ::send(socket_.fd(), bytes.data() + done, bytes.size() - done, MSG_NOSIGNAL);
      if (put >= 0) {
        done += static_cast<std::size_t>(put);
        continue;
      }
      if (errno == EINTR) continue;
      if (errno != EAGAIN) co_return socket_error(errno, "write");
      const Wait wait = co_await socket_.ready(Descriptor::wait_write, deadline);
      if (wait != Wait::kRung) co_return wait_error(wait, "write");
    }
    co_return absl::OkStatus();
  }

  absl::Status shutdown_write() override {
    if (::shutdown(socket_.fd(), SHUT_WR) != 0) return socket_error(errno, "shutdown");
    return absl::OkStatus();
  }

  void set_linger_reset() override {
    const linger reset{.l_onoff = 1, .l_linger = 0};
    // Only saves a TIME_WAIT: a failure costs that and no more.
    (void)::setsockopt(socket_.fd(), SOL_SOCKET, SO_LINGER, &reset, sizeof(reset));
  }

 private:
  Watched socket_;
};

struct Address {
  sockaddr_storage raw{};
  socklen_t size = 0;
  int family = AF_UNSPEC;
};

absl::StatusOr<Address> address_of(const Endpoint& endpoint) {
  Address address;
  if (!endpoint.unix_path.empty()) {
    auto* un = reinterpret_cast<sockaddr_un*>(&address.raw);
    if (endpoint.unix_path.size() >= sizeof(un->sun_path)) {
      return make_status(absl::StatusCode::kInvalidArgument, "socket path {} has more than {} bytes",
                         endpoint.unix_path, sizeof(un->sun_path) - 1);
    }
    un->sun_family = AF_UNIX;
    std::memcpy(un->sun_path, endpoint.unix_path.data(), endpoint.unix_path.size());
    address.size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + endpoint.unix_path.size() + 1);
    address.family = AF_UNIX;
    return address;
  }
  auto* v4 = reinterpret_cast<sockaddr_in*>(&address.raw);
  if (inet_pton(AF_INET, endpoint.host.c_str(), &v4->sin_addr) == 1) {
    v4->sin_family = AF_INET;
    v4->sin_port = htons(endpoint.port);
    address.size = sizeof(sockaddr_in);
    address.family = AF_INET;
    return address;
  }
  auto* v6 = reinterpret_cast<sockaddr_in6*>(&address.raw);
  if (inet_pton(AF_INET6, endpoint.host.c_str(), &v6->sin6_addr) == 1) {
    v6->sin6_family = AF_INET6;
    v6->sin6_port = htons(endpoint.port);
    address.size = sizeof(sockaddr_in6);
    address.family = AF_INET6;
    return address;
  }
  return make_status(absl::StatusCode::kInvalidArgument, "{} is not an address", endpoint.host);
}

Endpoint local_of(int fd, const Endpoint& asked) {
  if (!asked.unix_path.empty()) return asked;
  sockaddr_storage raw{};
  socklen_t size = sizeof(raw);
  Endpoint local = asked;
  if (::getsockname(fd, reinterpret_cast<sockaddr*>(&raw), &size) == 0) {
    local.port = raw.ss_family == AF_INET6 ? ntohs(reinterpret_cast<sockaddr_in6*>(&raw)->sin6_port)
                                           : ntohs(reinterpret_cast<sockaddr_in*>(&raw)->sin_port);
  }
  return local;
}

void set_no_delay(int fd) {
  const int on = 1;
  // A unix socket has no such option, and a failure only costs latency.
  (void)::setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
}

Co<absl::StatusOr<std::unique_ptr<Stream>>> dial_one(RealLoop& loop, Endpoint to, Instant deadline) {
  const absl::StatusOr<Address> address = address_of(to);
  if (!address.ok()) co_return address.status();
  const int fd = ::socket(address->family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  if (fd < 0) co_return errno_status(errno, "socket");
  auto stream = std::make_unique<SocketStream>(loop, fd);
  if (!stream->ok()) {
    ::close(fd);
    co_return stream->status();
  }
  if (address->family != AF_UNIX) set_no_delay(fd);
  const auto* raw = reinterpret_cast<const sockaddr*>(&address->raw);
  while (::connect(fd, raw, address->size) != 0) {
    if (errno == EISCONN) break;
    if (errno == EINTR) continue;
    if (errno == EAGAIN) {  // a unix socket whose backlog is full: nothing tells when there is room
      const Instant again = std::min(deadline, after(loop.now(), 10ms));
      if (co_await sleep_until(loop, again) == Wait::kCancelled) co_return wait_error(Wait::kCancelled, "dial");
      if (loop.now() >= deadline) co_return dial_late(to);
      continue;
    }
    if (errno != EINPROGRESS && errno != EALREADY) {
      co_return socket_error(errno, dial_words(to, "connect"));
    }
    const Wait wait = co_await stream->socket().ready(Descriptor::wait_write, deadline);
    if (wait == Wait::kCancelled) co_return wait_error(wait, dial_words(to, "connect"));
    if (wait == Wait::kLate) co_return dial_late(to);
    int error = 0;
    socklen_t size = sizeof(error);
    if (::getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &size) != 0) co_return errno_status(errno, "getsockopt");
    if (error != 0) co_return socket_error(error, dial_words(to, "connect"));
    break;
  }
  co_return std::unique_ptr<Stream>(std::move(stream));
}

class SocketListener final : public Listener {
 public:
  SocketListener(RealLoop& loop, int fd, Endpoint local) : loop_(loop), socket_(loop, fd), local_(std::move(local)) {}
  bool ok() const { return socket_.ok(); }
  absl::Status status() const { return socket_.status(); }
  Endpoint local() const override { return local_; }

  Co<absl::StatusOr<std::unique_ptr<Stream>>> accept() override {
    while (true) {
      const int fd = ::accept4(socket_.fd(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC);
      if (fd >= 0) {
        if (local_.unix_path.empty()) set_no_delay(fd);
        co_return stream_of(loop_, fd);
      }
      const int error = errno;
      if (error == EINTR || error == ECONNABORTED) continue;
      Wait wait = Wait::kRung;
      if (error == EAGAIN) {
        wait = co_await socket_.ready(Descriptor::wait_read, Instant::max());
      } else if (error == EMFILE || error == ENFILE || error == ENOBUFS || error == ENOMEM) {
        // No descriptor is free: others must end first, and the reactor would tell again at once.
        wait = co_await sleep_until(loop_, after(loop_.now(), 100ms));
      } else {
        co_return errno_status(error, "accept");
      }
      if (wait == Wait::kCancelled) co_return absl::CancelledError("accept: stopped");
    }
  }

 private:
  RealLoop& loop_;
  Watched socket_;
  Endpoint local_;
};

// Whether somebody still listens at the path; a dead socket file is in the way of a new one.
bool is_alive(const Address& address) {
  const int fd = ::socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  if (fd < 0) return true;
  const bool refused =
      ::connect(fd, reinterpret_cast<const sockaddr*>(&address.raw), address.size) != 0 && errno == ECONNREFUSED;
  ::close(fd);
  return !refused;
}

absl::Status clear_dead_socket(const Endpoint& at, const Address& address) {
  struct stat seen {};
  if (::lstat(at.unix_path.c_str(), &seen) != 0) {
    if (errno == ENOENT) return absl::OkStatus();
    return errno_status(errno, "stat " + at.unix_path);
  }
  if (!S_ISSOCK(seen.st_mode)) {
    return make_status(absl::StatusCode::kAlreadyExists, "{} is there and is not a socket", at.unix_path);
  }
  if (is_alive(address)) {
    return make_status(absl::StatusCode::kAlreadyExists, "another process listens at {}", at.unix_path);
  }
  if (::unlink(at.unix_path.c_str()) != 0) return errno_status(errno, "unlink " + at.unix_path);
  return absl::OkStatus();
}

absl::Status bind_and_listen(int fd, const Endpoint& at, const Address& address, mode_t mode) {
  if (address.family == AF_UNIX) {
    const absl::Status cleared = clear_dead_socket(at, address);
    if (!cleared.ok()) return cleared;
    // Before bind, so that the file never has a wider mode.
    if (::fchmod(fd, mode) != 0) return errno_status(errno, "chmod the socket of " + at.unix_path);
  } else {
    const int on = 1, off = 0;
    if (::setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on)) != 0) return errno_status(errno, "SO_REUSEADDR");
    if (address.family == AF_INET6) (void)::setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof(off));
  }
  if (::bind(fd, reinterpret_cast<const sockaddr*>(&address.raw), address.size) != 0) {
    return errno_status(errno, "bind " + at.text());
  }
  if (address.family == AF_UNIX && ::chmod(at.unix_path.c_str(), mode) != 0) {
    return errno_status(errno, "chmod " + at.unix_path);
  }
  if (::listen(fd, SOMAXCONN) != 0) return errno_status(errno, "listen " + at.text());
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<std::unique_ptr<Stream>> stream_of(RealLoop& loop, int fd) {
  auto stream = std::make_unique<SocketStream>(loop, fd);
  if (!stream->ok()) {
    ::close(fd);
    return stream->status();
  }
  return std::unique_ptr<Stream>(std::move(stream));
}

Co<absl::StatusOr<std::vector<std::string>>> RealNet::resolve(std::string name, Instant deadline) {
  if (is_address(name)) co_return std::vector<std::string>{name};
  co_return co_await resolve_name(loop_, std::move(name), deadline);
}

Co<absl::StatusOr<std::unique_ptr<Stream>>> RealNet::dial(Endpoint to, Instant deadline) {
  if (!to.unix_path.empty() || is_address(to.host)) co_return co_await dial_one(loop_, to, deadline);
  const absl::StatusOr<std::vector<std::string>> addresses = co_await resolve(to.host, deadline);
  if (!addresses.ok()) co_return annotate(addresses.status(), "dial tcp");
  absl::Status last = absl::NotFoundError(dial_words(to, "no address"));
  for (const std::string& address : *addresses) {
    const Endpoint one = Endpoint::tcp(address, to.port);
    absl::StatusOr<std::unique_ptr<Stream>> stream = co_await dial_one(loop_, one, deadline);
    if (stream.ok() || absl::IsCancelled(stream.status())) co_return stream;
    last = stream.status();
  }
  co_return last;
}

absl::StatusOr<std::unique_ptr<Listener>> RealNet::listen(const Endpoint& asked, mode_t mode) {
  Endpoint at = asked;
  if (at.unix_path.empty() && at.host == "localhost") at.host = "127.0.0.1";
  if (at.unix_path.empty() && at.host.empty()) at.host = "0.0.0.0";
  const absl::StatusOr<Address> address = address_of(at);
  if (!address.ok()) return address.status();
  const int fd = ::socket(address->family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  if (fd < 0) return errno_status(errno, "socket");
  const absl::Status listening = bind_and_listen(fd, at, *address, mode);
  if (!listening.ok()) {
    ::close(fd);
    return listening;
  }
  auto listener = std::make_unique<SocketListener>(loop_, fd, local_of(fd, at));
  if (!listener->ok()) {
    ::close(fd);
    return listener->status();
  }
  return std::unique_ptr<Listener>(std::move(listener));
}

}  // namespace podwright
