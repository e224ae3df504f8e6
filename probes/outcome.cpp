#include "probes/outcome.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <string_view>

#include "base/limits.h"

namespace podwright::probes {

namespace {

// How many bytes the UTF-8 character at the front takes; 0 where there is none.
std::size_t character_size(std::string_view text) {
  const auto first = static_cast<unsigned char>(text[0]);
  const std::size_t size = first < 0x80   ? 1
                           : first < 0xC2 ? 0
                           : first < 0xE0 ? 2
                           : first < 0xF0 ? 3
                           : first < 0xF5 ? 4
                                          : 0;
  if (size == 0 || size > text.size()) return 0;
  for (std::size_t i = 1; i < size; ++i) {
    if ((static_cast<unsigned char>(text[i]) & 0xC0) != 0x80) return 0;
  }
  if (size < 3) return size;
  // Longer forms than needed, surrogates, and what lies beyond the last character.
  const auto second = static_cast<unsigned char>(text[1]);
  const bool wrong = (first == 0xE0 && second < 0xA0) || (first == 0xED && second > 0x9F) ||
                     (first == 0xF0 && second < 0x90) || (first == 0xF4 && second > 0x8F);
  return wrong ? 0 : size;
}

// What a container writes may be no text at all, but an event's message has to be.
std::string as_utf8(std::string_view text) {
  std::string result;
  result.reserve(text.size());
  while (!text.empty()) {
    const std::size_t size = character_size(text);
    result += size == 0 ? std::string_view("\xEF\xBF\xBD") : text.substr(0, size);
    text.remove_prefix(std::max<std::size_t>(size, 1));
  }
  return result;
}

}  // namespace

std::optional<ProbeEvent> event_of(ProbeKind kind, const ProbeOutcome& outcome, Verdict verdict) {
  const std::string text = cut_text(as_utf8(cut_text(outcome.text, limits::kProbeTextBytes)), limits::kProbeTextBytes);
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
