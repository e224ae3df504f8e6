#include "cri/classify.h"

#include <string>
#include <string_view>

namespace podwright::cri {
namespace {

struct Row {
  std::string_view text;
  bool at_end;  // else anywhere
  absl::StatusCode code;
};

// The first row that fits decides. "not found" alone says nothing: runc says it of a missing executable too.
// Source: containerd's errdefs ("not found" ends what is wrapped in it) and CRI plugin ("name ... is reserved for ...",
// "an error occurred when try to find container ..."), Go's context package, runc ("container does not exist"), CRI-O
// ("could not find container", "name is reserved").
constexpr Row kRows[] = {
    {"is reserved for", false, absl::StatusCode::kAlreadyExists},
    {"name is reserved", false, absl::StatusCode::kAlreadyExists},
    {"context deadline exceeded", true, absl::StatusCode::kDeadlineExceeded},
    {"context canceled", true, absl::StatusCode::kCancelled},
    {": not found", true, absl::StatusCode::kNotFound},
    {"an error occurred when try to find", false, absl::StatusCode::kNotFound},
    {"could not find container", false, absl::StatusCode::kNotFound},
    {"container does not exist", false, absl::StatusCode::kNotFound},
    {"no such container", false, absl::StatusCode::kNotFound},
    {"code = Unavailable", false, absl::StatusCode::kUnavailable},
    {"ttrpc: closed", true, absl::StatusCode::kUnavailable},
};

bool fits(const Row& row, std::string_view text) {
  return row.at_end ? text.ends_with(row.text) : text.find(row.text) != std::string_view::npos;
}

}  // namespace

absl::Status classify(const absl::Status& status) {
  // containerd 2 sends a reserved name as FailedPrecondition.
  const bool only_names = status.code() == absl::StatusCode::kFailedPrecondition;
  if (status.code() != absl::StatusCode::kUnknown && !only_names) return status;
  const std::string text(status.message());
  for (const auto& row : kRows) {
    if (only_names && row.code != absl::StatusCode::kAlreadyExists) continue;
    if (fits(row, text)) return absl::Status(row.code, text);
  }
  return status;
}

}  // namespace podwright::cri
