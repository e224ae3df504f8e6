#include "base/files/inotify.h"

#include <sys/inotify.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "base/status/annotate.h"

namespace podwright {
namespace {

constexpr uint32_t kSelfMask = IN_DELETE_SELF | IN_MOVE_SELF | IN_ATTRIB;
constexpr uint32_t kDirectoryMask = kSelfMask | IN_CLOSE_WRITE | IN_CREATE | IN_MOVED_FROM | IN_MOVED_TO | IN_DELETE;
constexpr uint32_t kFileMask = kSelfMask | IN_CLOSE_WRITE | IN_MODIFY;

std::optional<TreeEvent::Kind> kind_of(uint32_t mask) {
  if ((mask & (IN_CLOSE_WRITE | IN_MODIFY)) != 0) return TreeEvent::Kind::kWritten;
  if ((mask & IN_CREATE) != 0) return TreeEvent::Kind::kCreated;
  if ((mask & IN_MOVED_TO) != 0) return TreeEvent::Kind::kMovedIn;
  if ((mask & (IN_MOVED_FROM | IN_MOVE_SELF)) != 0) return TreeEvent::Kind::kMovedOut;
  if ((mask & (IN_DELETE | IN_DELETE_SELF | IN_UNMOUNT)) != 0) return TreeEvent::Kind::kDeleted;
  if ((mask & IN_ATTRIB) != 0) return TreeEvent::Kind::kAttributes;
  return std::nullopt;
}

}  // namespace

struct Inotify::Watch final : TreeWatch {
  ~Watch() override { inotify->drop(this); }

  std::shared_ptr<Inotify> inotify;
  std::shared_ptr<Sink<TreeEvent>> sink;  // shared, so that an event under way can see that the watch has ended
  int number = -1;
};

absl::StatusOr<std::shared_ptr<Inotify>> Inotify::open(RealLoop& loop) {
  const int fd = ::inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
  if (fd < 0) return errno_status(errno, "inotify_init (see fs.inotify.max_user_instances)");
  std::shared_ptr<Inotify> made(new Inotify(loop, fd));
  made->wait();
  return made;
}

absl::StatusOr<std::unique_ptr<TreeWatch>> Inotify::add(const std::string& path, Sink<TreeEvent> sink) {
  struct stat seen {};
  if (::stat(path.c_str(), &seen) != 0) return errno_status(errno, fmt::format("watch {}", path));
  const uint32_t mask = S_ISDIR(seen.st_mode) ? kDirectoryMask | IN_ONLYDIR : kFileMask;
  const int number = ::inotify_add_watch(stream_.native_handle(), path.c_str(), mask);
  if (number < 0) {
    const std::string_view hint = errno == ENOSPC ? " (see fs.inotify.max_user_watches)" : "";
    return errno_status(errno, fmt::format("watch {}{}", path, hint));
  }
  auto watch = std::make_unique<Watch>();
  watch->inotify = shared_from_this();
  watch->sink = std::make_shared<Sink<TreeEvent>>(std::move(sink));
  watch->number = number;
  watches_.emplace(number, watch.get());
  return watch;
}

void Inotify::drop(const Watch* watch) {
  const auto [begin, end] = watches_.equal_range(watch->number);
  for (auto place = begin; place != end; ++place) {
    if (place->second != watch) continue;
    watches_.erase(place);
    // EINVAL: the inode is gone and its watch with it.
    if (!watches_.contains(watch->number)) (void)::inotify_rm_watch(stream_.native_handle(), watch->number);
    return;
  }
}

void Inotify::wait() {
  stream_.async_wait(boost::asio::posix::stream_descriptor::wait_read,
                     [weak = weak_from_this()](const boost::system::error_code& error) {
                       const std::shared_ptr<Inotify> self = weak.lock();
                       if (error || !self) return;
                       self->read_events();
                       self->wait();
                     });
}

void Inotify::read_events() {
  // One bufferful a turn: the loop has others to serve.
  alignas(inotify_event) std::array<char, 32768> buffer;
  const ssize_t got = ::read(stream_.native_handle(), buffer.data(), buffer.size());
  if (got <= 0) return;  // EAGAIN, or EINTR: the descriptor stays readable
  const auto end = static_cast<std::size_t>(got);
  for (std::size_t at = 0; at + sizeof(inotify_event) <= end;) {
    inotify_event event{};
    std::memcpy(&event, buffer.data() + at, sizeof(event));
    const char* name = buffer.data() + at + sizeof(event);
    at += sizeof(event) + event.len;
    if (at > end) return;
    if ((event.mask & IN_Q_OVERFLOW) != 0) {
      std::vector<int> numbers;
      for (const auto& [number, watch] : watches_) {
        if (numbers.empty() || numbers.back() != number) numbers.push_back(number);
      }
      for (const int number : numbers) tell(number, {TreeEvent::Kind::kOverflow, ""});
      continue;
    }
    const auto kind = kind_of(event.mask);
    if (kind) tell(event.wd, {*kind, std::string(name, ::strnlen(name, event.len))});
  }
}

void Inotify::tell(int number, const TreeEvent& event) {
  std::vector<std::weak_ptr<Sink<TreeEvent>>> sinks;
  const auto [begin, end] = watches_.equal_range(number);
  for (auto place = begin; place != end; ++place) sinks.push_back(place->second->sink);
  for (const auto& weak : sinks) {
    if (const auto sink = weak.lock()) (*sink)(event);
  }
}

}  // namespace podwright
