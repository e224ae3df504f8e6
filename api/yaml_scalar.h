// What a plain YAML scalar means (YAML 1.1 as the reference resolves it).
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "api/document.h"

namespace podwright::api {

// The kind and JSON text of a plain scalar; nothing for one that JSON cannot hold (.inf, .nan).
std::optional<Node> resolve_scalar(std::string_view text);

// A number as Go's JSON encoder writes a float64.
std::string float_text(double value);

}  // namespace podwright::api
