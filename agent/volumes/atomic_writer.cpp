#include "agent/volumes/atomic_writer.h"

#include <algorithm>
#include <set>

#include "base/limits.h"
#include "base/status/annotate.h"

namespace podwright::volumes {
namespace {

constexpr char kData[] = "..data";
constexpr char kDataNew[] = "..data_tmp";
constexpr mode_t kDirectoryMode = 0755;

absl::Status give(Tree& tree, const std::string& path, const PayloadOwner& owner) {
  if (!owner.uid && !owner.gid) return absl::OkStatus();
  return tree.set_owner(path, owner.uid.value_or(static_cast<uid_t>(-1)), owner.gid.value_or(static_cast<gid_t>(-1)));
}

std::string first_part(const std::string& path) {
  return path.substr(0, path.find('/'));
}

absl::StatusOr<bool> is_current(Tree& tree, const std::string& version, const Payload& payload) {
  for (const auto& [path, file] : payload) {
    const std::string full = join_path(version, path);
    const auto info = tree.info(full);
    if (absl::IsNotFound(info.status())) return false;
    if (!info.ok()) return info.status();
    if (info->mode != file.mode) return false;
    const auto content = tree.read(full, limits::kObjectVolumeFileBytes);
    if (!content.ok()) return content.status();
    if (*content != file.content) return false;
  }
  return true;
}

// Files of an old version that the new one has not.
absl::StatusOr<bool> has_more(Tree& tree, const std::string& dir, const std::string& prefix, const Payload& payload) {
  const auto entries = tree.list(dir);
  if (!entries.ok()) return entries.status();
  for (const auto& entry : *entries) {
    const std::string path = prefix.empty() ? entry.name : prefix + "/" + entry.name;
    if (entry.type == FileType::kDirectory) {
      const auto more = has_more(tree, join_path(dir, entry.name), path, payload);
      if (!more.ok() || *more) return more;
    } else if (!payload.contains(path)) {
      return true;
    }
  }
  return false;
}

absl::Status write_version(Tree& tree, const std::string& version, const Payload& payload, const PayloadOwner& owner) {
  if (absl::Status s = tree.make_directories(version, kDirectoryMode); !s.ok()) return s;
  if (absl::Status s = give_directory(tree, version, owner); !s.ok()) return s;
  for (const auto& [path, file] : payload) {
    for (std::size_t slash = path.find('/'); slash != std::string::npos; slash = path.find('/', slash + 1)) {
      const std::string directory = join_path(version, path.substr(0, slash));
      if (absl::Status s = tree.make_directories(directory, kDirectoryMode); !s.ok()) return s;
      if (absl::Status s = give_directory(tree, directory, owner); !s.ok()) return s;
    }
    const std::string full = join_path(version, path);
    if (absl::Status s = tree.write(full, file.content, file.mode); !s.ok()) return s;
    if (absl::Status s = give(tree, full, owner); !s.ok()) return s;
    // A change of owner takes setuid bits away; the mode is what was asked for.
    if (absl::Status s = tree.set_mode(full, file.mode); !s.ok()) return s;
  }
  return absl::OkStatus();
}

absl::Status swap(Tree& tree, const std::string& dir, const std::string& version_name) {
  const std::string fresh = join_path(dir, kDataNew);
  if (absl::Status s = tree.remove_file(fresh); !s.ok() && !absl::IsNotFound(s)) return s;
  if (absl::Status s = tree.make_symlink(version_name, fresh); !s.ok()) return s;
  return tree.rename(fresh, join_path(dir, kData));
}

absl::Status set_visible_names(Tree& tree, const std::string& dir, const Payload& payload) {
  std::set<std::string> wanted;
  for (const auto& [path, file] : payload) wanted.insert(first_part(path));
  for (const auto& name : wanted) {
    const std::string link = join_path(dir, name);
    const auto there = tree.read_symlink(link);
    if (there.ok() && *there == join_path(kData, name)) continue;
    if (there.ok()) {
      if (absl::Status s = tree.remove_file(link); !s.ok()) return s;
    }
    if (absl::Status s = tree.make_symlink(join_path(kData, name), link); !s.ok()) return s;
  }
  const auto entries = tree.list(dir);
  if (!entries.ok()) return entries.status();
  for (const auto& entry : *entries) {
    if (entry.name.starts_with("..") || wanted.contains(entry.name)) continue;
    if (entry.type != FileType::kSymlink) continue;
    if (absl::Status s = tree.remove_file(join_path(dir, entry.name)); !s.ok()) return s;
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status give_directory(Tree& tree, const std::string& path, const PayloadOwner& owner) {
  if (absl::Status s = give(tree, path, owner); !s.ok()) return s;
  // After the owner, whose change takes the bit away. Source: SetVolumeOwnership.
  return owner.gid ? tree.set_mode(path, 02000 | kDirectoryMode) : absl::OkStatus();
}

absl::Status check_payload_path(const std::string& path) {
  if (path.empty()) return absl::InvalidArgumentError("invalid path: must not be empty");
  if (path.starts_with("/"))
    return make_status(absl::StatusCode::kInvalidArgument, "invalid path {:?}: must be relative", path);
  if (path.starts_with("..")) {
    return make_status(absl::StatusCode::kInvalidArgument, "invalid path {:?}: must not start with '..'", path);
  }
  std::size_t begin = 0;
  while (begin <= path.size()) {
    const std::size_t end = std::min(path.find('/', begin), path.size());
    const std::string part = path.substr(begin, end - begin);
    if (part == ".." || part.empty() || part == ".") {
      return make_status(absl::StatusCode::kInvalidArgument, "invalid path {:?}: must not contain {:?}", path, part);
    }
    begin = end + 1;
  }
  return absl::OkStatus();
}

absl::StatusOr<bool> write_payload(Tree& tree, const std::string& dir, const Payload& payload, PayloadOwner owner,
                                   const std::string& version_name) {
  for (const auto& [path, file] : payload) {
    if (absl::Status s = check_payload_path(path); !s.ok()) return s;
    if (file.content.size() > limits::kObjectVolumeFileBytes) {
      return make_status(absl::StatusCode::kInvalidArgument, "file {:?} has {} bytes, more than {}", path,
                         file.content.size(), limits::kObjectVolumeFileBytes);
    }
  }
  std::string old_version;
  const auto current = tree.read_symlink(join_path(dir, kData));
  // A link that we did not make may lead anywhere; nothing is read through it.
  if (current.ok() && current->starts_with("..") && current->find('/') == std::string::npos && *current != "..") {
    old_version = join_path(dir, *current);
    const auto same = is_current(tree, old_version, payload);
    if (same.ok() && *same) {
      const auto more = has_more(tree, old_version, "", payload);
      // The swap may have been the last thing before a crash: the names are looked at all the same.
      if (more.ok() && !*more) {
        if (absl::Status s = set_visible_names(tree, dir, payload); !s.ok()) return s;
        return false;
      }
    }
  } else if (!current.ok() && !absl::IsNotFound(current.status())) {
    return current.status();
  }
  const std::string version = join_path(dir, version_name);
  if (absl::Status s = write_version(tree, version, payload, owner); !s.ok()) {
    (void)tree.remove_tree(version);
    return s;
  }
  if (absl::Status s = swap(tree, dir, version_name); !s.ok()) return s;
  if (absl::Status s = set_visible_names(tree, dir, payload); !s.ok()) return s;
  // What older versions a crash left goes now too.
  const auto entries = tree.list(dir);
  if (!entries.ok()) return entries.status();
  for (const auto& entry : *entries) {
    if (!entry.name.starts_with("..") || entry.name == version_name || entry.type != FileType::kDirectory) continue;
    if (absl::Status s = tree.remove_tree(join_path(dir, entry.name)); !s.ok()) return s;
  }
  return true;
}

}  // namespace podwright::volumes
