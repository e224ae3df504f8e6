// A Quantity as a number: exact, in units or thousandths, rounded up as the consumers of quantities do. The text form
// (canonical or as written) is api/quantity.h's concern.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "api/types.h"

namespace podwright::api {

// Billionths of a unit, exact; what is finer is rounded away from zero. Nothing for a text that is no quantity.
// Values beyond what 128 bits hold saturate.
std::optional<__int128> nanos_of(std::string_view text);

// Whole units, rounded up (away from zero for positive values), saturating at int64. 0 for a text that is no quantity:
// validation has refused it before.
int64_t units_of(const Quantity& quantity);
int64_t units_of(std::string_view text);
// Thousandths, the same way.
int64_t milli_of(const Quantity& quantity);
int64_t milli_of(std::string_view text);

}  // namespace podwright::api
