// Opening what a user names: openat2 below a directory descriptor, without leaving it. For base/files/real_*.cpp only.
#pragma once

#include <linux/openat2.h>
#include <sys/stat.h>
#include <sys/types.h>

#include <string>
#include <vector>

#include "base/files/descriptor.h"

namespace podwright {

// openat2(2) with these RESOLVE_ flags. A rename elsewhere makes a beneath-walk fail with EAGAIN: tried again, not
// without end.
Descriptor open_resolved(int directory, const std::string& path, uint64_t flags, uint64_t resolve);

// RESOLVE_BENEATH and RESOLVE_NO_MAGICLINKS. errno is EXDEV where the path or a link in it leaves `directory`.
Descriptor open_beneath(int directory, const std::string& path, uint64_t flags);

// As open_beneath() with O_PATH, and makes the directories that are missing, with `mode` exactly.
Descriptor open_or_make_beneath(int directory, const std::string& path, mode_t mode);

// chmod by descriptor, also one opened with O_PATH. Zero or an errno.
int set_mode_of(const Descriptor& file, mode_t mode);

// The parts of a path between its slashes.
std::vector<std::string> path_parts(std::string_view path);

}  // namespace podwright
