#include "base/process/launcher.h"

#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <filesystem>

#include "base/process/launcher_protocol.h"
#include "base/status/annotate.h"

namespace podwright {
namespace {

bool has_one_thread() {
  std::error_code error;
  std::size_t threads = 0;
  for (auto entry = std::filesystem::directory_iterator("/proc/self/task", error);
       !error && entry != std::filesystem::directory_iterator(); entry.increment(error)) {
    ++threads;
  }
  return error || threads == 1;
}

}  // namespace

absl::StatusOr<Launcher> Launcher::start() {
  if (!has_one_thread()) {
    std::fputs("fatal: the launcher must be started before any thread\n", stderr);
    std::abort();
  }
  int ends[2] = {-1, -1};
  if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0) {
    return errno_status(errno, "make the launcher's socket");
  }
  Descriptor ours(ends[0]);
  Descriptor theirs(ends[1]);
  const pid_t pid = ::fork();
  if (pid < 0) return errno_status(errno, "fork the launcher");
  if (pid == 0) {
    (void)::close(ours.release());
    launcher::serve(std::move(theirs));
  }
  if (::fcntl(ours.get(), F_SETFL, O_NONBLOCK) != 0) return errno_status(errno, "set up the launcher's socket");
  return Launcher(std::move(ours), pid);
}

namespace launcher {
namespace {

void append_strings(std::string* to, const std::vector<std::string>& strings) {
  *to += std::to_string(strings.size());
  *to += '\0';
  for (const std::string& text : strings) {
    *to += text;
    *to += '\0';
  }
}

bool take_string(std::string_view* from, std::string* text) {
  const std::size_t end = from->find('\0');
  if (end == std::string_view::npos) return false;
  *text = std::string(from->substr(0, end));
  from->remove_prefix(end + 1);
  return true;
}

bool take_strings(std::string_view* from, std::vector<std::string>* strings) {
  std::string count;
  if (!take_string(from, &count)) return false;
  const unsigned long long wanted = std::strtoull(count.c_str(), nullptr, 10);
  for (unsigned long long i = 0; i < wanted; ++i) {
    if (!take_string(from, &strings->emplace_back())) return false;
  }
  return true;
}

}  // namespace

std::string encode(const Command& command) {
  std::string bytes;
  append_strings(&bytes, command.arguments);
  append_strings(&bytes, command.environment);
  return bytes;
}

bool decode(std::string_view bytes, Command* command) {
  return take_strings(&bytes, &command->arguments) && take_strings(&bytes, &command->environment) && bytes.empty() &&
         !command->arguments.empty();
}

}  // namespace launcher
}  // namespace podwright
