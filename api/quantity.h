// The text form of a Quantity. Its value as a number is api/amount.h's concern; two quantities are compared there and
// never as text, since one value has several texts.
#pragma once

#include <absl/status/statusor.h>

#include <string>
#include <string_view>

namespace podwright::api {

// The canonical text: "1.5" is "1500m", "1024Ki" is "1Mi", "1e4" is "10e3". The suffix family (decimal, binary,
// exponent) stays as written. InvalidArgument for a text that is no quantity.
// Source: apimachinery pkg/api/resource/quantity.go, CanonicalizeBytes; with its quirk that a decimal value of 10^21
// or more loses its suffix.
absl::StatusOr<std::string> canonical_quantity(std::string_view text);

}  // namespace podwright::api
