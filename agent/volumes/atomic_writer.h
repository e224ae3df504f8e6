// AtomicWriter: puts a set of files into a directory so that a reader sees all of one version or all of another.
//
//   <dir>/..2026_12_01_05_18_03.<random>/a   the files
//   <dir>/..data -> ..2026_...               swapped by one rename
//   <dir>/a -> ..data/a                      what users open
//
// Source: the layout that consumers of ConfigMap volumes rely on (pkg/volume/util/atomic_writer).
#pragma once

#include <map>
#include <optional>
#include <string>

#include "base/files/tree.h"
#include "base/time/time.h"

namespace podwright::volumes {

struct PayloadFile {
  std::string content;
  mode_t mode = 0644;
  bool operator==(const PayloadFile&) const = default;
};

// By relative path; a path may have several parts, none of them "." or "..".
using Payload = std::map<std::string, PayloadFile>;

struct PayloadOwner {
  std::optional<uid_t> uid;
  std::optional<gid_t> gid;
};

// True where the directory changed. `stamp` and `rng` name the new version.
absl::StatusOr<bool> write_payload(Tree& tree, const std::string& dir, const Payload& payload, PayloadOwner owner,
                                   const std::string& version_name);

// A relative path that stays inside: not empty, not absolute, no "..", no part that begins with "..".
absl::Status check_payload_path(const std::string& path);

}  // namespace podwright::volumes
