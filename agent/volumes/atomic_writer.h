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

// By relative path; a path may have several parts.
using Payload = std::map<std::string, PayloadFile>;

struct PayloadOwner {
  std::optional<uid_t> uid;
  std::optional<gid_t> gid;
};

// Gives a directory to its owner; one with a group hands the group on to what is made in it. Nothing where there is
// neither.
absl::Status give_directory(Tree& tree, const std::string& path, const PayloadOwner& owner);

// True where the directory changed. `version_name` is a fresh name that begins with "..". InvalidArgument for a path
// that check_payload_path() refuses and for a file of more than limits::kObjectVolumeFileBytes.
absl::StatusOr<bool> write_payload(Tree& tree, const std::string& dir, const Payload& payload, PayloadOwner owner,
                                   const std::string& version_name);

// A relative path that stays inside: not empty, not absolute, no part that is empty, "." or "..", and no name in the
// volume's directory that begins with "..", as the writer's own do.
absl::Status check_payload_path(const std::string& path);

}  // namespace podwright::volumes
