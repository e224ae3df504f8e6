// What a pod must satisfy before a node runs it, with every error at once: the field's path and what is wrong with it,
// in the words of the API server, so that people find them. Pure.
// Source: pkg/apis/core/v1/validation (ValidatePodCreate); rules that concern only the scheduler (affinity between
// pods, topology spread) are left to it.
#pragma once

#include <string>
#include <vector>

#include "api/types.h"

namespace podwright::api {

struct FieldError {
  std::string field;  // "spec.containers[0].ports[0].containerPort"
  std::string text;   // "Invalid value: 99999: must be between 1 and 65535, inclusive"

  bool operator==(const FieldError&) const = default;
};

// Of a pod after set_defaults(). Empty: the pod is well formed.
std::vector<FieldError> validate_pod(const core::Pod& pod);

// What a pod that comes from a file or a URL may not refer to, since the API server knows nothing of such a pod:
// service accounts, claims, tokens, trust bundles and, unless `allow_config_objects`, secrets and config maps (which
// then stand in the manifests too).
std::vector<FieldError> validate_static_pod(const core::Pod& pod, bool allow_config_objects);

// "field: text"; several in brackets, with commas between them.
std::string join(const std::vector<FieldError>& errors);

}  // namespace podwright::api
