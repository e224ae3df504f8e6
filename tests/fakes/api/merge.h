// How the API server applies a patch to an object's JSON: JSON merge patch (RFC 7386) and strategic merge patch, with
// the merge keys of the kinds that a node deals with.
#pragma once

#include "api/document.h"

namespace podwright::kube {

api::Node merge_patch(const api::Node& original, const api::Node& patch);
api::Node strategic_merge_patch(const api::Node& original, const api::Node& patch);

}  // namespace podwright::kube
