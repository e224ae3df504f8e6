#include "base/process/launcher_processes.h"

#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "base/limits.h"
#include "base/log/log.h"
#include "base/status/annotate.h"

namespace podwright {
namespace {

namespace asio = boost::asio;
using asio::posix::stream_descriptor;

// How long after SIGKILL a child may take to end before the kernel is believed to hold it.
constexpr auto kKillPatience = std::chrono::milliseconds(500);

absl::StatusOr<Descriptor> memory_file(const char* name, std::string_view content) {
  Descriptor file(::memfd_create(name, MFD_CLOEXEC));
  if (!file.ok()) return errno_status(errno, "memfd_create");
  if (const int error = write_all(file.get(), content); error != 0) return errno_status(error, "fill a memory file");
  if (::lseek(file.get(), 0, SEEK_SET) != 0) return errno_status(errno, "rewind a memory file");
  return file;
}

absl::StatusOr<launcher::Command> command_of(const ProcessRequest& request) {
  launcher::Command command;
  command.arguments.push_back(request.program);
  command.arguments.insert(command.arguments.end(), request.arguments.begin(), request.arguments.end());
  for (const auto& [name, value] : request.env) command.environment.push_back(name + "=" + value);
  if (!request.program.starts_with('/')) {
    return make_status(absl::StatusCode::kInvalidArgument, "run {}: not an absolute path", request.program);
  }
  for (const auto* list : {&command.arguments, &command.environment}) {
    for (const std::string& text : *list) {
      if (text.find('\0') != std::string::npos) {
        return make_status(absl::StatusCode::kInvalidArgument, "run {}: an argument has a NUL in it", request.program);
      }
    }
  }
  return command;
}

}  // namespace

struct LauncherProcesses::Child {
  Child(RealLoop& loop, uint64_t number, Descriptor out_end, Descriptor err_end)
      : id(number), cell(loop), out(loop.io(), out_end.release()), err(loop.io(), err_end.release()) {}

  uint64_t id;
  std::size_t output_limit = 0;
  WaitCell cell;
  stream_descriptor out, err;
  ProcessResult result;
  absl::Status failure;  // to start, or of the launcher
  bool ended = false;
  bool too_much = false;

  // What the pipe holds now. False at its end.
  bool read_some(bool is_stdout) {
    stream_descriptor& from = is_stdout ? out : err;
    std::string& into = is_stdout ? result.stdout_bytes : result.stderr_bytes;
    std::array<char, 16384> piece;
    while (from.is_open()) {
      const ssize_t got = retry_on_signal([&] { return ::read(from.native_handle(), piece.data(), piece.size()); });
      if (got == 0) return false;
      if (got < 0) return errno == EAGAIN;
      const std::size_t room = output_limit - into.size();
      into.append(piece.data(), std::min(room, static_cast<std::size_t>(got)));
      if (static_cast<std::size_t>(got) > room) {
        too_much = true;
        cell.fire();
        return false;
      }
    }
    return false;
  }

  void close() {
    boost::system::error_code ignored;  // closing a pipe's read end cannot fail in a way that matters
    out.close(ignored);
    err.close(ignored);
  }
};

LauncherProcesses::LauncherProcesses(RealLoop& loop, Launcher launcher)
    : loop_(loop), socket_(loop.io(), launcher.take_socket().release()) {
  wait_for_news();
}

LauncherProcesses::~LauncherProcesses() {
  *alive_ = false;
  for (auto& [id, child] : children_) child->close();
}

absl::StatusOr<std::shared_ptr<LauncherProcesses::Child>> LauncherProcesses::begin(const ProcessRequest& request) {
  if (lost_) return absl::UnavailableError("the launcher has ended: no child can be started until the agent restarts");
  const auto command = command_of(request);
  if (!command.ok()) return command.status();
  const std::string bytes = launcher::encode(*command);
  if (bytes.size() > limits::kCommandBytes) {
    return make_status(absl::StatusCode::kInvalidArgument, "run {}: arguments and environment exceed {} bytes",
                       request.program, limits::kCommandBytes);
  }
  auto request_file = memory_file("request", bytes);
  if (!request_file.ok()) return request_file.status();
  auto stdin_file = memory_file("stdin", request.stdin_bytes);
  if (!stdin_file.ok()) return stdin_file.status();
  std::array<std::array<int, 2>, 2> pipes;
  for (auto& ends : pipes) {
    // O_NONBLOCK belongs to the open file, and each end is one: the child's end blocks.
    if (::pipe2(ends.data(), O_CLOEXEC) != 0) {
      const int error = errno;
      if (&ends != pipes.data()) {
        ::close(pipes[0][0]);
        ::close(pipes[0][1]);
      }
      return errno_status(error, "make a pipe");
    }
    (void)::fcntl(ends[0], F_SETFL, O_NONBLOCK);
  }
  auto child = std::make_shared<Child>(loop_, next_id_++, Descriptor(pipes[0][0]), Descriptor(pipes[1][0]));
  child->output_limit = request.output_limit;
  Packet packet{{launcher::Order::Kind::kStart, child->id}, {}};
  packet.descriptors.push_back(*std::move(request_file));
  packet.descriptors.push_back(*std::move(stdin_file));
  packet.descriptors.emplace_back(pipes[0][1]);
  packet.descriptors.emplace_back(pipes[1][1]);
  children_[child->id] = child;
  give(std::move(packet));
  pump(child, true);
  pump(child, false);
  return child;
}

Co<absl::StatusOr<ProcessResult>> LauncherProcesses::run(ProcessRequest request, Instant deadline) {
  const auto begun = begin(request);
  if (!begun.ok()) co_return begun.status();
  const std::shared_ptr<Child> child = *begun;
  while (!child->ended && !child->too_much) {
    const Wait wait = co_await child->cell.wait(deadline);
    if (child->ended || child->too_much || wait == Wait::kRung) continue;
    co_await end(child);
    if (wait == Wait::kCancelled) co_return absl::CancelledError(fmt::format("run {}: cancelled", request.program));
    co_return absl::DeadlineExceededError(fmt::format("run {}: it did not end in time", request.program));
  }
  if (child->too_much) {
    co_await end(child);
    co_return make_status(absl::StatusCode::kResourceExhausted, "run {}: more than {} bytes of output", request.program,
                          request.output_limit);
  }
  children_.erase(child->id);
  child->close();
  if (!child->failure.ok()) co_return annotate(child->failure, "run {}", request.program);
  co_return std::move(child->result);
}

Co<void> LauncherProcesses::end(std::shared_ptr<Child> child) {
  if (!child->ended) give({{launcher::Order::Kind::kKill, child->id}, {}});
  const Instant patience = after(loop_.now(), kKillPatience);
  while (!child->ended && loop_.now() < patience) (void)co_await child->cell.wait_uncancelled(patience);
  if (!child->ended) {
    left_.insert(child->id);
    log_warning({}, "a killed child does not end and is left behind", {{"left", left_.size()}});
  }
  children_.erase(child->id);
  child->close();
}

void LauncherProcesses::pump(std::shared_ptr<Child> child, bool is_stdout) {
  stream_descriptor& from = is_stdout ? child->out : child->err;
  from.async_wait(stream_descriptor::wait_read,
                  [this, alive = alive_, child, is_stdout](const boost::system::error_code& error) {
                    if (error || !*alive || child->ended) return;
                    if (child->read_some(is_stdout)) pump(child, is_stdout);
                  });
}

// --- the socket --------------------------------------------------------------------------------------------------

void LauncherProcesses::give(Packet packet) {
  queue_.push_back(std::move(packet));
  flush();
}

void LauncherProcesses::flush() {
  while (!queue_.empty() && !lost_ && !waits_to_send_) {
    Packet& packet = queue_.front();
    alignas(cmsghdr) std::array<char, CMSG_SPACE(sizeof(int) * launcher::kStartDescriptors)> control{};
    iovec piece{&packet.order, sizeof(packet.order)};
    msghdr message{};
    message.msg_iov = &piece;
    message.msg_iovlen = 1;
    if (!packet.descriptors.empty()) {
      message.msg_control = control.data();
      message.msg_controllen = control.size();
      cmsghdr* header = CMSG_FIRSTHDR(&message);
      header->cmsg_level = SOL_SOCKET;
      header->cmsg_type = SCM_RIGHTS;
      header->cmsg_len = CMSG_LEN(sizeof(int) * packet.descriptors.size());
      for (std::size_t i = 0; i < packet.descriptors.size(); ++i) {
        const int fd = packet.descriptors[i].get();
        std::memcpy(CMSG_DATA(header) + i * sizeof(int), &fd, sizeof(fd));
      }
    }
    const ssize_t sent = retry_on_signal([&] { return ::sendmsg(socket_.native_handle(), &message, MSG_NOSIGNAL); });
    if (sent >= 0) {
      queue_.pop_front();
    } else if (errno == EAGAIN || errno == ETOOMANYREFS || errno == ENOBUFS) {
      waits_to_send_ = true;
      socket_.async_wait(stream_descriptor::wait_write, [this, alive = alive_](const boost::system::error_code& error) {
        if (error || !*alive) return;
        waits_to_send_ = false;
        flush();
      });
    } else {
      lose_launcher();
    }
  }
}

void LauncherProcesses::wait_for_news() {
  socket_.async_wait(stream_descriptor::wait_read, [this, alive = alive_](const boost::system::error_code& error) {
    if (error || !*alive) return;
    read_news();
    if (!lost_) wait_for_news();
  });
}

void LauncherProcesses::read_news() {
  while (true) {
    launcher::News news;
    const ssize_t got =
        retry_on_signal([&] { return ::recv(socket_.native_handle(), &news, sizeof(news), MSG_DONTWAIT); });
    if (got < 0 && errno == EAGAIN) return;
    if (got != static_cast<ssize_t>(sizeof(news))) return lose_launcher();
    left_.erase(news.id);
    const auto found = children_.find(news.id);
    if (found == children_.end()) continue;
    const std::shared_ptr<Child> child = found->second;
    if (news.kind == launcher::News::Kind::kNotStarted) {
      child->failure = errno_status(news.value, "start the program");
    } else {
      child->result.exit_code = news.value;
      (void)child->read_some(true);
      (void)child->read_some(false);
    }
    child->ended = true;
    child->cell.fire();
  }
}

void LauncherProcesses::lose_launcher() {
  if (lost_) return;
  lost_ = true;
  queue_.clear();
  log_error({}, "the launcher has ended: mount helpers and credential plugins cannot run until the agent restarts");
  for (const auto& [id, child] : children_) {
    child->failure = absl::UnavailableError("the launcher has ended");
    child->ended = true;
    child->cell.fire();
  }
}

}  // namespace podwright
