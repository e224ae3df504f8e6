// The launcher's own process.
#include <linux/close_range.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <cstring>
#include <map>

#include "base/process/launcher_protocol.h"

namespace podwright::launcher {
namespace {

struct Child {
  pid_t pid = -1;
  Descriptor exec_error;  // ends at exec, or has the errno
};

struct Received {
  Order order;
  std::vector<Descriptor> descriptors;
};

class Server {
 public:
  explicit Server(Descriptor socket) : socket_(std::move(socket)) {}

  [[noreturn]] void run() {
    sigset_t child_signal;
    sigemptyset(&child_signal);
    sigaddset(&child_signal, SIGCHLD);
    sigprocmask(SIG_BLOCK, &child_signal, nullptr);
    const Descriptor signals(::signalfd(-1, &child_signal, SFD_CLOEXEC | SFD_NONBLOCK));
    if (!signals.ok()) ::_exit(70);
    while (true) {
      std::vector<pollfd> waits = {{socket_.get(), POLLIN, 0}, {signals.get(), POLLIN, 0}};
      std::vector<uint64_t> starting;
      for (const auto& [id, child] : children_) {
        if (!child.exec_error.ok()) continue;
        waits.push_back({child.exec_error.get(), POLLIN, 0});
        starting.push_back(id);
      }
      if (::poll(waits.data(), waits.size(), -1) < 0) {
        if (errno == EINTR) continue;
        end();
      }
      // Before the ends are looked at: a child that could not exec is told as such.
      for (std::size_t i = 0; i < starting.size(); ++i) {
        if (waits[i + 2].revents != 0) look_at_start(starting[i]);
      }
      if (waits[1].revents != 0) {
        signalfd_siginfo drained{};
        while (::read(signals.get(), &drained, sizeof(drained)) > 0) {
        }
      }
      reap();
      if (waits[0].revents != 0) obey();
    }
  }

 private:
  [[noreturn]] void end() {
    for (const auto& [id, child] : children_) kill_group(child.pid);
    ::_exit(0);
  }

  // The child is not reaped yet, so its number is still its own.
  static void kill_group(pid_t pid) {
    (void)::kill(-pid, SIGKILL);
    (void)::kill(pid, SIGKILL);
  }

  void tell(const News& news) {
    // Blocks where the agent is slow; where it has ended, the socket's end tells.
    (void)!retry_on_signal([&] { return ::send(socket_.get(), &news, sizeof(news), MSG_NOSIGNAL); });
  }

  void obey() {
    Received received;
    if (!receive(&received)) end();
    if (received.order.kind == Order::Kind::kKill) {
      const auto child = children_.find(received.order.id);
      if (child != children_.end()) kill_group(child->second.pid);
      return;
    }
    if (received.descriptors.size() != kStartDescriptors) {
      // The kernel drops descriptors when there is no room for them.
      return tell({News::Kind::kNotStarted, received.order.id, EMFILE});
    }
    start(received.order.id, received.descriptors);
  }

  bool receive(Received* received) {
    alignas(cmsghdr) std::array<char, CMSG_SPACE(sizeof(int) * kStartDescriptors)> control{};
    iovec piece{&received->order, sizeof(received->order)};
    msghdr message{};
    message.msg_iov = &piece;
    message.msg_iovlen = 1;
    message.msg_control = control.data();
    message.msg_controllen = control.size();
    const ssize_t got = retry_on_signal([&] { return ::recvmsg(socket_.get(), &message, MSG_CMSG_CLOEXEC); });
    if (got != static_cast<ssize_t>(sizeof(received->order))) return false;
    for (cmsghdr* part = CMSG_FIRSTHDR(&message); part != nullptr; part = CMSG_NXTHDR(&message, part)) {
      if (part->cmsg_level != SOL_SOCKET || part->cmsg_type != SCM_RIGHTS) continue;
      const std::size_t count = (part->cmsg_len - CMSG_LEN(0)) / sizeof(int);
      for (std::size_t i = 0; i < count; ++i) {
        int fd = -1;
        std::memcpy(&fd, CMSG_DATA(part) + i * sizeof(int), sizeof(fd));
        received->descriptors.emplace_back(fd);
      }
    }
    return true;
  }

  static int read_command(const Descriptor& file, Command* command) {
    struct stat seen {};
    if (::fstat(file.get(), &seen) != 0) return errno;
    std::string bytes(static_cast<std::size_t>(seen.st_size), '\0');
    const ssize_t got = ::pread(file.get(), bytes.data(), bytes.size(), 0);
    if (got != static_cast<ssize_t>(bytes.size())) return EIO;
    return decode(bytes, command) ? 0 : EINVAL;
  }

  void start(uint64_t id, const std::vector<Descriptor>& descriptors) {
    Command command;
    int pipe_ends[2] = {-1, -1};
    int error = read_command(descriptors[0], &command);
    if (error == 0 && ::pipe2(pipe_ends, O_CLOEXEC) != 0) error = errno;
    if (error != 0) return tell({News::Kind::kNotStarted, id, error});
    Descriptor failure(pipe_ends[0]);
    const Descriptor failure_out(pipe_ends[1]);
    const pid_t pid = ::fork();
    if (pid < 0) return tell({News::Kind::kNotStarted, id, errno});
    if (pid == 0) become(command, descriptors, failure_out.get());
    children_[id] = Child{pid, std::move(failure)};
  }

  // In the child, up to exec.
  [[noreturn]] static void become(const Command& command, const std::vector<Descriptor>& descriptors, int failure) {
    const auto fail = [failure] {
      const int error = errno;
      (void)!::write(failure, &error, sizeof(error));
      ::_exit(127);
    };
    const pid_t launcher = ::getppid();
    ::setsid();
    // The launcher kills all groups as it ends; this is for when it is killed itself.
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (::getppid() != launcher) ::_exit(127);
    for (int i = 0; i < 3; ++i) {
      if (::dup2(descriptors[static_cast<std::size_t>(i) + 1].get(), i) < 0) fail();
    }
    if (::close_range(3, ~0U, CLOSE_RANGE_CLOEXEC) != 0) fail();
    for (const int number : {SIGINT, SIGTERM, SIGHUP, SIGPIPE, SIGCHLD}) std::signal(number, SIG_DFL);
    sigset_t none;
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, nullptr);
    ::umask(022);
    if (::chdir("/") != 0) fail();
    std::vector<char*> arguments;
    for (const std::string& text : command.arguments) arguments.push_back(const_cast<char*>(text.c_str()));
    arguments.push_back(nullptr);
    std::vector<char*> environment;
    for (const std::string& text : command.environment) environment.push_back(const_cast<char*>(text.c_str()));
    environment.push_back(nullptr);
    ::execve(arguments[0], arguments.data(), environment.data());
    fail();
    std::abort();
  }

  void look_at_start(uint64_t id) {
    const auto found = children_.find(id);
    if (found == children_.end()) return;
    int error = 0;
    const ssize_t got = retry_on_signal([&] { return ::read(found->second.exec_error.get(), &error, sizeof(error)); });
    found->second.exec_error.reset();
    if (got != static_cast<ssize_t>(sizeof(error))) return;
    const pid_t pid = found->second.pid;
    children_.erase(found);
    (void)retry_on_signal([&] { return ::waitpid(pid, nullptr, 0); });
    tell({News::Kind::kNotStarted, id, error});
  }

  void reap() {
    for (auto entry = children_.begin(); entry != children_.end();) {
      const auto [id, pid] = std::pair(entry->first, entry->second.pid);
      siginfo_t seen{};
      if (::waitid(P_PID, static_cast<id_t>(pid), &seen, WEXITED | WNOHANG | WNOWAIT) != 0 || seen.si_pid == 0) {
        ++entry;
        continue;
      }
      if (entry->second.exec_error.ok()) look_at_start(id);
      if (!children_.contains(id)) {
        entry = children_.upper_bound(id);
        continue;
      }
      (void)::kill(-pid, SIGKILL);
      (void)retry_on_signal([&] { return ::waitpid(pid, nullptr, 0); });
      entry = children_.erase(entry);
      const int code = seen.si_code == CLD_EXITED ? seen.si_status : 128 + seen.si_status;
      tell({News::Kind::kEnded, id, code});
    }
  }

  Descriptor socket_;
  std::map<uint64_t, Child> children_;
};

// The socket stays at 3; stdin reads nothing, stdout and stderr stay those of the agent, all else is closed.
Descriptor keep_only(Descriptor socket) {
  if (socket.get() != 3) {
    if (::dup3(socket.get(), 3, O_CLOEXEC) < 0) ::_exit(70);
    socket.reset(3);
  }
  if (::close_range(4, ~0U, 0) != 0) ::_exit(70);
  const int nothing = ::open("/dev/null", O_RDONLY | O_CLOEXEC);
  if (nothing >= 0) {
    (void)::dup2(nothing, 0);
    if (nothing > 2) (void)::close(nothing);
  }
  return socket;
}

}  // namespace

void serve(Descriptor socket) {
  ::prctl(PR_SET_NAME, "pw-launcher");
  // A signal to the agent's group (a terminal's Ctrl-C, a unit's stop) is the agent's to act on; its end is ours.
  ::setsid();
  for (const int number : {SIGINT, SIGTERM, SIGHUP}) std::signal(number, SIG_IGN);
  std::signal(SIGCHLD, SIG_DFL);
  Server server(keep_only(std::move(socket)));
  server.run();
}

}  // namespace podwright::launcher
