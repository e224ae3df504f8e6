// What a probe run gives back, and the words of the event about it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "probes/probe_state.h"

namespace podwright::probes {

struct ProbeOutcome {
  Outcome result = Outcome::kError;
  // The probe's output or why it failed; at most limits::kProbeTextBytes.
  std::string text;
  // The target was not the pod, and the node's policy wants that told.
  bool foreign_target = false;
};

// An event to record about the container: Warning always.
struct ProbeEvent {
  std::string reason;  // Unhealthy, ProbeWarning
  std::string message;
  bool operator==(const ProbeEvent&) const = default;
};

// Nothing after a success. `verdict` is what stands now, which an errored probe's event names.
std::optional<ProbeEvent> event_of(ProbeKind kind, const ProbeOutcome& outcome, Verdict verdict);

// Cuts at `limit` bytes without splitting a UTF-8 character.
std::string cut_text(std::string text, std::size_t limit);

}  // namespace podwright::probes
