#include <fmt/ranges.h>

#include "base/limits.h"
#include "base/status/annotate.h"
#include "probes/probers.h"

namespace podwright::probes {

std::string quoted(std::string_view text) {
  std::string result = "\"";
  for (const char c : text) {
    switch (c) {
      case '"': result += "\\\""; break;
      case '\\': result += "\\\\"; break;
      case '\n': result += "\\n"; break;
      case '\r': result += "\\r"; break;
      case '\t': result += "\\t"; break;
      default:
        if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) {
          result += fmt::format("\\x{:02x}", static_cast<unsigned char>(c));
        } else {
          result += c;
        }
    }
  }
  return result + "\"";
}

std::string late_text(const ExecAction& action) {
  return fmt::format("command {} timed out", quoted(fmt::format("{}", fmt::join(action.command, " "))));
}

ProbeOutcome outcome_of(const ExecAction& action, const absl::StatusOr<cri::ExecResult>& answer) {
  ProbeOutcome outcome;
  if (absl::IsDeadlineExceeded(answer.status())) {
    outcome.result = Outcome::kFailure;
    outcome.text = late_text(action);
  } else if (!answer.ok()) {
    outcome.text = text_of(answer.status());
  } else {
    outcome.result = answer->exit_code == 0 ? Outcome::kSuccess : Outcome::kFailure;
    outcome.text = answer->stdout_bytes + answer->stderr_bytes;
  }
  outcome.text = cut_text(std::move(outcome.text), limits::kProbeTextBytes);
  return outcome;
}

}  // namespace podwright::probes
