// Seccomp profiles of the node (type Localhost): read, checked with libseccomp down to a compiled filter, and refused
// with file, line and cause before the runtime sees them. A profile that cannot be understood must not become no
// profile (S10).
#pragma once

#include <absl/status/status.h>

#include <string>
#include <string_view>
#include <vector>

#include "base/files/tree.h"

namespace podwright::containers {

// What is wrong with the text of a profile, one line each: "line 12: syscalls[3].names[1]: no such system call: opn".
// Empty: the runtime can load it. Source of the form: the OCI runtime specification, linux.seccomp, as Docker extended
// it (archMap, includes, excludes).
std::vector<std::string> check_seccomp_profile(std::string_view text);

// Reads and checks the profile `name` below `root`, without leaving it.
absl::Status check_seccomp_file(Tree& tree, const std::string& root, const std::string& name);

}  // namespace podwright::containers
