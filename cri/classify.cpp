#include "cri/classify.h"

#include <string>
#include <string_view>

namespace podwright::cri {
namespace {

struct Row {
  std::string_view text;
  absl::StatusCode code;
};

// Source: containerd's errdefs and its CRI plugin (store/..., "name ... is reserved for ..."), runc's messages.
constexpr Row kRows[] = {
    {"is reserved for", absl::StatusCode::kAlreadyExists},
    {"context deadline exceeded", absl::StatusCode::kDeadlineExceeded},
    {"context canceled", absl::StatusCode::kCancelled},
    {"no such container", absl::StatusCode::kNotFound},
    {"no such process", absl::StatusCode::kNotFound},
    {"does not exist", absl::StatusCode::kNotFound},
    {"not found", absl::StatusCode::kNotFound},
};

}  // namespace

absl::Status classify(const absl::Status& status) {
  if (status.code() != absl::StatusCode::kUnknown) return status;
  const std::string text(status.message());
  for (const auto& row : kRows) {
    if (text.find(row.text) != std::string::npos) return absl::Status(row.code, text);
  }
  return status;
}

}  // namespace podwright::cri
