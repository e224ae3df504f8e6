// exec, attach and port-forward: frames over the upgraded local socket, the terminal in raw mode while a session has
// one.
#include <absl/strings/numbers.h>
#include <arpa/inet.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <termios.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <thread>

#include "agent/cli/command.h"
#include "base/frames/frames.h"
#include "base/status/annotate.h"

namespace podwright::cli {
namespace {

constexpr std::size_t kPiece = 32 << 10;

bool write_all(int fd, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t wrote = ::write(fd, bytes.data(), bytes.size());
    if (wrote < 0 && errno == EINTR) continue;
    if (wrote < 0) return false;
    bytes.remove_prefix(static_cast<std::size_t>(wrote));
  }
  return true;
}

// Puts the terminal into raw mode for its life.
class RawTerminal {
 public:
  explicit RawTerminal(bool wanted) {
    if (!wanted || ::tcgetattr(STDIN_FILENO, &before_) != 0) return;
    termios raw = before_;
    ::cfmakeraw(&raw);
    active_ = ::tcsetattr(STDIN_FILENO, TCSANOW, &raw) == 0;
  }
  ~RawTerminal() {
    if (active_) ::tcsetattr(STDIN_FILENO, TCSANOW, &before_);
  }
  RawTerminal(const RawTerminal&) = delete;

 private:
  termios before_{};
  bool active_ = false;
};

std::string size_frame() {
  winsize size{};
  if (::ioctl(STDIN_FILENO, TIOCGWINSZ, &size) != 0) return {};
  return to_frame(StreamChannel::kResize, fmt::format(R"({{"Width":{},"Height":{}}})", size.ws_col, size.ws_row));
}

// A descriptor that tells of SIGWINCH, so that the session's one poll hears of it.
int window_changes() {
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGWINCH);
  ::sigprocmask(SIG_BLOCK, &set, nullptr);
  return ::signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
}

class Session {
 public:
  Session(Upgraded upgraded, bool with_stdin, bool tty) : fd_(upgraded.fd), stdin_(with_stdin), tty_(tty) {
    reader_.feed(upgraded.early);
    if (tty_) window_fd_ = window_changes();
  }
  ~Session() {
    ::close(fd_);
    if (window_fd_ >= 0) ::close(window_fd_);
  }

  // The exit code to end with.
  absl::StatusOr<int> run() {
    if (tty_ && !write_all(fd_, size_frame())) return lost();
    while (true) {
      auto code = drain();
      if (!code.ok()) return code.status();
      if (*code) return **code;
      pollfd polled[3] = {{fd_, POLLIN, 0}, {stdin_ ? STDIN_FILENO : -1, POLLIN, 0}, {window_fd_, POLLIN, 0}};
      if (::poll(polled, 3, -1) < 0 && errno != EINTR) return errno_status(errno, "poll");
      if (polled[2].revents != 0 && !resize()) return lost();
      if (polled[1].revents != 0 && !pass_stdin()) return lost();
      if (polled[0].revents != 0) {
        const absl::Status got = receive();
        if (!got.ok()) return got;
      }
    }
  }

 private:
  static absl::Status lost() { return absl::UnavailableError("the connection to the agent was lost"); }

  bool resize() {
    signalfd_siginfo told{};
    while (::read(window_fd_, &told, sizeof told) > 0) {
    }
    return write_all(fd_, size_frame());
  }

  bool pass_stdin() {
    char bytes[kPiece];
    const ssize_t got = ::read(STDIN_FILENO, bytes, sizeof bytes);
    if (got < 0 && errno == EINTR) return true;
    // An empty frame ends stdin there.
    const std::string_view piece(bytes, got > 0 ? static_cast<std::size_t>(got) : 0);
    if (piece.empty()) stdin_ = false;
    return write_all(fd_, to_frame(StreamChannel::kStdin, piece));
  }

  absl::Status receive() {
    char bytes[kPiece];
    const ssize_t got = ::read(fd_, bytes, sizeof bytes);
    if (got < 0 && errno == EINTR) return absl::OkStatus();
    if (got <= 0) return lost();
    reader_.feed(std::string_view(bytes, static_cast<std::size_t>(got)));
    return absl::OkStatus();
  }

  // Writes what came; the exit code once the result is there.
  absl::StatusOr<std::optional<int>> drain() {
    while (true) {
      auto frame = reader_.next();
      if (!frame.ok()) return frame.status();
      if (!*frame) return std::nullopt;
      const std::string& payload = (*frame)->payload;
      switch ((*frame)->channel) {
        case StreamChannel::kStdout: write_all(STDOUT_FILENO, payload); break;
        case StreamChannel::kStderr: write_all(STDERR_FILENO, payload); break;
        case StreamChannel::kResult: {
          const auto result = nlohmann::json::parse(payload, nullptr, false);
          if (!result.is_object()) return absl::InternalError("the session's result is no JSON");
          if (result.contains("error")) return absl::UnknownError(result.value("error", "unknown"));
          return result.value("exitCode", 0);
        }
        case StreamChannel::kStdin:
        case StreamChannel::kResize: break;
      }
    }
  }

  int fd_;
  bool stdin_, tty_;
  int window_fd_ = -1;
  FrameReader reader_;
};

int run_session(const Command& command, const char* what, std::vector<std::pair<std::string, std::string>> query) {
  const bool with_stdin = command.flags.is_set("stdin");
  bool tty = command.flags.is_set("tty");
  if (tty && ::isatty(STDIN_FILENO) == 0) {
    std::fputs("stdin is no terminal: going on without one\n", stderr);
    tty = false;
  }
  if (const auto container = command.flags.value("container")) query.emplace_back("container", *container);
  if (with_stdin) query.emplace_back("stdin", "1");
  query.emplace_back("stdout", "1");
  query.emplace_back(tty ? "tty" : "stderr", "1");
  const std::string target =
      fmt::format("{}/{}{}", pod_path(command, pod_name(command.words[0])), what, query_text(query));
  auto upgraded = command.client.upgrade(target, kStreamProtocol);
  if (!upgraded.ok()) return fail(upgraded.status());
  absl::StatusOr<int> code = 0;
  {
    RawTerminal raw(tty && with_stdin);
    code = Session(*std::move(upgraded), with_stdin, tty).run();
  }
  return code.ok() ? *code : fail(code.status());
}

// Copies until `from` ends, then tells `to`.
void copy(int from, int to) {
  char bytes[kPiece];
  while (true) {
    const ssize_t got = ::read(from, bytes, sizeof bytes);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0 || !write_all(to, std::string_view(bytes, static_cast<std::size_t>(got)))) break;
  }
  ::shutdown(to, SHUT_WR);
}

void carry(Client client, std::string target, int local, uint16_t port) {
  auto upgraded = client.upgrade(target, kPortProtocol);
  if (!upgraded.ok()) {
    std::fputs(fmt::format("error: port {}: {}\n", port, text_of(upgraded.status())).c_str(), stderr);
    ::close(local);
    return;
  }
  if (write_all(local, upgraded->early)) {
    std::thread back(copy, upgraded->fd, local);
    copy(local, upgraded->fd);
    back.join();
  }
  ::close(local);
  ::close(upgraded->fd);
}

absl::StatusOr<int> listen_on(const std::string& address, uint16_t port, uint16_t& bound) {
  sockaddr_in at{};
  at.sin_family = AF_INET;
  at.sin_port = htons(port);
  if (::inet_pton(AF_INET, address.c_str(), &at.sin_addr) != 1) {
    return make_status(absl::StatusCode::kInvalidArgument, "--address: must be an IPv4 address, got \"{}\"", address);
  }
  const int fd = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (fd < 0) return errno_status(errno, "socket");
  const int on = 1;
  ::setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  if (::bind(fd, reinterpret_cast<const sockaddr*>(&at), sizeof at) != 0 || ::listen(fd, 16) != 0) {
    const int error = errno;
    ::close(fd);
    return errno_status(error, fmt::format("listen on {}:{}", address, port));
  }
  socklen_t size = sizeof at;
  ::getsockname(fd, reinterpret_cast<sockaddr*>(&at), &size);
  bound = ntohs(at.sin_port);
  return fd;
}

struct PortPair {
  uint16_t local = 0, remote = 0;
};

// "8080:80", "80", ":80".
std::optional<PortPair> parse_ports(const std::string& text) {
  const auto colon = text.find(':');
  int local = 0, remote = 0;
  if (!absl::SimpleAtoi(colon == std::string::npos ? text : text.substr(colon + 1), &remote)) return std::nullopt;
  if (colon == std::string::npos) {
    local = remote;
  } else if (colon > 0 && !absl::SimpleAtoi(text.substr(0, colon), &local)) {
    return std::nullopt;
  }
  if (remote < 1 || remote > 65535 || local < 0 || local > 65535) return std::nullopt;
  return PortPair{static_cast<uint16_t>(local), static_cast<uint16_t>(remote)};
}

}  // namespace

int exec(const Command& command) {
  if (command.words.empty()) return usage("exec where? podwright exec POD -- COMMAND...");
  std::vector<std::string> words = command.flags.rest;
  if (words.empty()) words.assign(command.words.begin() + 1, command.words.end());
  if (words.empty()) return usage("exec what? podwright exec POD -- COMMAND...");
  std::vector<std::pair<std::string, std::string>> query;
  for (const std::string& word : words) query.emplace_back("command", word);
  return run_session(command, "exec", std::move(query));
}

int attach(const Command& command) {
  if (command.words.empty()) return usage("attach to what? podwright attach POD");
  return run_session(command, "attach", {});
}

int port_forward(const Command& command) {
  if (command.words.size() < 2) return usage("podwright port-forward POD [LOCAL:]REMOTE...");
  const std::string address = command.flags.value("address").value_or("127.0.0.1");
  const std::string pod = pod_name(command.words[0]);
  // Asked first, so that a wrong name is told before anything listens.
  const auto there = fetch(command.client, pod_path(command, pod));
  if (!there.ok()) return fail(there.status());
  ::signal(SIGPIPE, SIG_IGN);
  std::vector<pollfd> polled;
  std::vector<uint16_t> remotes;
  for (std::size_t i = 1; i < command.words.size(); ++i) {
    const auto ports = parse_ports(command.words[i]);
    if (!ports) return usage(fmt::format("a port is [LOCAL:]REMOTE, got \"{}\"", command.words[i]));
    uint16_t bound = 0;
    const auto fd = listen_on(address, ports->local, bound);
    if (!fd.ok()) return fail(fd.status());
    polled.push_back({*fd, POLLIN, 0});
    remotes.push_back(ports->remote);
    std::puts(fmt::format("Forwarding from {}:{} -> {}", address, bound, ports->remote).c_str());
  }
  std::fflush(stdout);
  while (::poll(polled.data(), polled.size(), -1) >= 0 || errno == EINTR) {
    for (std::size_t i = 0; i < polled.size(); ++i) {
      if (polled[i].revents == 0) continue;
      const int local = ::accept4(polled[i].fd, nullptr, nullptr, SOCK_CLOEXEC);
      if (local < 0) continue;
      const std::string target = fmt::format("{}/portforward?port={}", pod_path(command, pod), remotes[i]);
      std::thread(carry, command.client, target, local, remotes[i]).detach();
    }
  }
  return fail(errno_status(errno, "poll"));
}

}  // namespace podwright::cli
