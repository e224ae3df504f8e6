#include "probes/outcome.h"

#include <fmt/format.h>

#include <cstdlib>

#include "base/limits.h"

namespace podwright::probes {

std::optional<ProbeEvent> event_of(ProbeKind kind, const ProbeOutcome& outcome, Verdict verdict) {
  const std::string text = cut_text(outcome.text, limits::kProbeTextBytes);
  switch (outcome.result) {
    case Outcome::kSuccess:
      if (!outcome.foreign_target) return std::nullopt;
      return ProbeEvent{"ProbeWarning", fmt::format("{} probe warning: its target is not its pod", name_of(kind))};
    case Outcome::kWarning: return ProbeEvent{"ProbeWarning", fmt::format("{} probe warning: {}", name_of(kind), text)};
    case Outcome::kFailure: return ProbeEvent{"Unhealthy", fmt::format("{} probe failed: {}", name_of(kind), text)};
    case Outcome::kError:
      return ProbeEvent{"Unhealthy", fmt::format("{} probe errored and resulted in {} state: {}", name_of(kind),
                                                 name_of(verdict), text)};
  }
  std::abort();  // not one of the enumerators: memory is broken
}

std::string cut_text(std::string text, std::size_t limit) {
  if (text.size() <= limit) return text;
  std::size_t end = limit;
  // A character has at most three bytes behind its first; where there are more, the text is no UTF-8 and any place will
  // do.
  for (int back = 0; back < 3 && end > 0 && (static_cast<unsigned char>(text[end]) & 0xC0) == 0x80; ++back) --end;
  if (end > 0 && (static_cast<unsigned char>(text[end]) & 0xC0) == 0x80) end = limit;
  text.resize(end);
  return text;
}

}  // namespace podwright::probes
