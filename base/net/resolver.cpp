#include "base/net/resolver.h"

#include <ares.h>
#include <arpa/inet.h>
#include <netinet/in.h>

#include <algorithm>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <map>
#include <memory>
#include <optional>

#include "base/co/bell.h"
#include "base/status/annotate.h"

namespace podwright {
namespace asio = boost::asio;

namespace {

using Descriptor = asio::posix::stream_descriptor;

// One lookup and its channel. Alive while its coroutine waits; handlers that come later find it gone.
class Lookup : public std::enable_shared_from_this<Lookup> {
 public:
  explicit Lookup(RealLoop& loop) : done(loop), loop_(loop) {}
  Lookup(const Lookup&) = delete;
  Lookup& operator=(const Lookup&) = delete;

  ~Lookup() {
    if (timer_ != 0) loop_.forget(timer_);
    // Calls back for what is unfinished, and for each socket that it closes.
    if (channel_ != nullptr) ares_destroy(channel_);
  }

  absl::Status start(const std::string& name) {
    static const int library = ares_library_init(ARES_LIB_INIT_ALL);
    if (library != ARES_SUCCESS) return failure(name, library);
    ares_options options{};
    options.sock_state_cb = [](void* self, ares_socket_t fd, int readable, int writable) {
      static_cast<Lookup*>(self)->watch(fd, readable != 0, writable != 0);
    };
    options.sock_state_cb_data = this;
    const int made = ares_init_options(&channel_, &options, ARES_OPT_SOCK_STATE_CB);
    if (made != ARES_SUCCESS) return failure(name, made);
    ares_addrinfo_hints hints{};
    hints.ai_family = AF_UNSPEC;
    hints.ai_socktype = SOCK_STREAM;
    name_ = name;
    ares_getaddrinfo(
        channel_, name.c_str(), nullptr, &hints,
        [](void* self, int status, int, ares_addrinfo* found) { static_cast<Lookup*>(self)->finish(status, found); },
        this);
    arm_timer();
    return absl::OkStatus();
  }

  Bell done;
  std::optional<absl::StatusOr<std::vector<std::string>>> result;

 private:
  struct Socket {
    explicit Socket(asio::io_context& io) : descriptor(io) {}
    // The descriptor is c-ares's to close.
    ~Socket() {
      if (descriptor.is_open()) descriptor.release();
    }
    Descriptor descriptor;
    bool want_read = false, want_write = false;
    bool waits_read = false, waits_write = false;
  };

  static absl::Status failure(const std::string& name, int status) {
    const std::string text = fmt::format("lookup {}: {}", name, ares_strerror(status));
    if (status == ARES_ENOTFOUND || status == ARES_ENODATA) return absl::NotFoundError(text);
    if (status == ARES_EBADNAME || status == ARES_EBADSTR) return absl::InvalidArgumentError(text);
    return absl::UnavailableError(text);
  }

  void finish(int status, ares_addrinfo* found) {
    if (status != ARES_SUCCESS) {
      result = failure(name_, status);
    } else {
      std::vector<std::string> addresses;
      for (const ares_addrinfo_node* node = found->nodes; node != nullptr; node = node->ai_next) {
        char text[INET6_ADDRSTRLEN] = {};
        const void* raw = node->ai_family == AF_INET
                              ? static_cast<const void*>(&reinterpret_cast<sockaddr_in*>(node->ai_addr)->sin_addr)
                              : static_cast<const void*>(&reinterpret_cast<sockaddr_in6*>(node->ai_addr)->sin6_addr);
        if (inet_ntop(node->ai_family, raw, text, sizeof(text)) == nullptr) continue;
        if (std::find(addresses.begin(), addresses.end(), text) == addresses.end()) addresses.emplace_back(text);
      }
      if (addresses.empty()) {
        result = failure(name_, ARES_ENODATA);
      } else {
        result = std::move(addresses);
      }
    }
    if (found != nullptr) ares_freeaddrinfo(found);
    done.ring();
  }

  // c-ares tells which events it waits for; neither means that it is about to close the socket.
  void watch(int fd, bool readable, bool writable) {
    if (!readable && !writable) {
      sockets_.erase(fd);
      return;
    }
    auto& socket = sockets_[fd];
    if (!socket) {
      socket = std::make_unique<Socket>(loop_.io());
      boost::system::error_code error;
      socket->descriptor.assign(fd, error);
      if (error) {
        // The reactor takes no more descriptors; the lookup ends by its deadline.
        sockets_.erase(fd);
        return;
      }
    }
    socket->want_read = readable;
    socket->want_write = writable;
    // The constructor's shared pointer exists by now: start() runs on a shared Lookup.
    wait(fd);
  }

  void wait(int fd) {
    const auto place = sockets_.find(fd);
    if (place == sockets_.end()) return;
    Socket& socket = *place->second;
    if (socket.want_read && !socket.waits_read) {
      socket.waits_read = true;
      socket.descriptor.async_wait(Descriptor::wait_read,
                                   [weak = weak_from_this(), fd](const boost::system::error_code& error) {
                                     if (const auto self = weak.lock(); self && !error) self->ready(fd, true);
                                   });
    }
    if (socket.want_write && !socket.waits_write) {
      socket.waits_write = true;
      socket.descriptor.async_wait(Descriptor::wait_write,
                                   [weak = weak_from_this(), fd](const boost::system::error_code& error) {
                                     if (const auto self = weak.lock(); self && !error) self->ready(fd, false);
                                   });
    }
  }

  void ready(int fd, bool for_read) {
    const auto place = sockets_.find(fd);
    if (place == sockets_.end()) return;
    (for_read ? place->second->waits_read : place->second->waits_write) = false;
    ares_process_fd(channel_, for_read ? fd : ARES_SOCKET_BAD, for_read ? ARES_SOCKET_BAD : fd);
    wait(fd);
    arm_timer();
  }

  void arm_timer() {
    if (timer_ != 0) loop_.forget(std::exchange(timer_, 0));
    timeval wait{};
    if (result || ares_timeout(channel_, nullptr, &wait) == nullptr) return;
    const Duration delay = std::chrono::seconds(wait.tv_sec) + std::chrono::microseconds(wait.tv_usec);
    timer_ = loop_.call_at(after(loop_.now(), delay), [weak = weak_from_this()] {
      const auto self = weak.lock();
      if (!self) return;
      self->timer_ = 0;
      ares_process_fd(self->channel_, ARES_SOCKET_BAD, ARES_SOCKET_BAD);
      self->arm_timer();
    });
  }

  RealLoop& loop_;
  ares_channel channel_ = nullptr;
  std::string name_;
  std::map<int, std::unique_ptr<Socket>> sockets_;
  uint64_t timer_ = 0;
};

}  // namespace

Co<absl::StatusOr<std::vector<std::string>>> resolve_name(RealLoop& loop, std::string name, Instant deadline) {
  const auto lookup = std::make_shared<Lookup>(loop);
  const absl::Status started = lookup->start(name);
  if (!started.ok()) co_return started;
  if (!lookup->result) {
    const Wait wait = co_await lookup->done.wait_until(deadline);
    if (wait == Wait::kCancelled) co_return absl::CancelledError(fmt::format("lookup {}: stopped", name));
    if (wait == Wait::kLate) co_return absl::DeadlineExceededError(fmt::format("lookup {}: i/o timeout", name));
  }
  co_return std::move(*lookup->result);
}

}  // namespace podwright
