#include "base/files/beneath.h"

#include <sys/syscall.h>

#include <algorithm>

namespace podwright {
namespace {

// Source: openat2(2) tells callers to retry EAGAIN; with two renames a microsecond one walk in a few is disturbed.
constexpr int kMostTries = 256;

}  // namespace

Descriptor open_resolved(int directory, const std::string& path, uint64_t flags, uint64_t resolve) {
  open_how how{};
  how.flags = flags | O_CLOEXEC;
  how.resolve = resolve;
  for (int i = 0;; ++i) {
    const auto fd = static_cast<int>(::syscall(SYS_openat2, directory, path.c_str(), &how, sizeof(how)));
    if (fd >= 0 || i == kMostTries || (errno != EAGAIN && errno != EINTR)) return Descriptor(fd);
  }
}

Descriptor open_beneath(int directory, const std::string& path, uint64_t flags) {
  return open_resolved(directory, path.empty() ? "." : path, flags, RESOLVE_BENEATH | RESOLVE_NO_MAGICLINKS);
}

Descriptor open_or_make_beneath(int directory, const std::string& path, mode_t mode) {
  Descriptor whole = open_beneath(directory, path, O_PATH);
  if (whole.ok() || errno != ENOENT) return whole;
  // From here on each part is taken from the descriptor of the one before. What exists is resolved from the top, so
  // that links which stay inside work; what is made is entered without following anything.
  const std::vector<std::string> parts = path_parts(path);
  std::string prefix = ".";
  std::size_t next = 0;
  Descriptor at = open_beneath(directory, prefix, O_PATH | O_DIRECTORY);
  for (; at.ok() && next < parts.size(); ++next) {
    Descriptor deeper = open_beneath(directory, prefix + "/" + parts[next], O_PATH);
    if (!deeper.ok()) {
      if (errno != ENOENT) return deeper;
      break;
    }
    prefix += "/" + parts[next];
    at = std::move(deeper);
  }
  for (; at.ok() && next < parts.size(); ++next) {
    if (::mkdirat(at.get(), parts[next].c_str(), 0700) != 0) return Descriptor();
    Descriptor made = open_resolved(at.get(), parts[next], O_PATH | O_DIRECTORY | O_NOFOLLOW,
                                    RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_XDEV);
    if (!made.ok()) return made;
    if (const int error = set_mode_of(made, mode); error != 0) {
      errno = error;
      return Descriptor();
    }
    at = std::move(made);
  }
  return at;
}

int set_mode_of(const Descriptor& file, mode_t mode) {
  struct stat seen {};
  if (::fstat(file.get(), &seen) != 0) return errno;
  if (S_ISLNK(seen.st_mode)) return ELOOP;
  if ((seen.st_mode & 07777) == mode) return 0;
  return ::chmod(file.proc_path().c_str(), mode) == 0 ? 0 : errno;
}

std::vector<std::string> path_parts(std::string_view path) {
  std::vector<std::string> parts;
  while (!path.empty()) {
    const std::size_t slash = std::min(path.find('/'), path.size());
    if (slash > 0) parts.emplace_back(path.substr(0, slash));
    path.remove_prefix(std::min(slash + 1, path.size()));
  }
  return parts;
}

}  // namespace podwright
