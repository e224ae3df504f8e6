#include "base/status/annotate.h"

#include <cctype>
#include <cerrno>
#include <cstring>

namespace podwright {
namespace {

absl::StatusCode code_of(int error_number) {
  switch (error_number) {
    case ENOENT:
    case ESRCH:
    case ENXIO:
    case ENODEV: return absl::StatusCode::kNotFound;
    case EEXIST: return absl::StatusCode::kAlreadyExists;
    case EACCES:
    case EPERM:
    case EROFS: return absl::StatusCode::kPermissionDenied;
    case EINVAL:
    case ENAMETOOLONG:
    case ELOOP:
    case EXDEV: return absl::StatusCode::kInvalidArgument;
    case ENOSPC:
    case EDQUOT:
    case ENOMEM:
    case EMFILE:
    case ENFILE: return absl::StatusCode::kResourceExhausted;
    case ETIMEDOUT: return absl::StatusCode::kDeadlineExceeded;
    case ECANCELED: return absl::StatusCode::kCancelled;
    case ENOSYS:
    case EOPNOTSUPP: return absl::StatusCode::kUnimplemented;
    case ECONNREFUSED:
    case ECONNRESET:
    case EPIPE:
    case ENETUNREACH:
    case EHOSTUNREACH: return absl::StatusCode::kUnavailable;
    case ENOTDIR:
    case EISDIR:
    case ENOTEMPTY:
    case EBUSY: return absl::StatusCode::kFailedPrecondition;
    default: return absl::StatusCode::kUnknown;
  }
}

}  // namespace

std::string errno_name(int error_number) {
  const char* name = strerrorname_np(error_number);
  return name != nullptr ? std::string(name) : fmt::format("errno {}", error_number);
}

absl::Status errno_status(int error_number, std::string_view what) {
  const char* description = strerrordesc_np(error_number);
  std::string words = description != nullptr ? description : "unknown error";
  if (words.size() > 1 && std::islower(static_cast<unsigned char>(words[1])) != 0) {
    words[0] = static_cast<char>(std::tolower(static_cast<unsigned char>(words[0])));
  }
  return absl::Status(code_of(error_number), fmt::format("{}: {} ({})", what, errno_name(error_number), words));
}

}  // namespace podwright
