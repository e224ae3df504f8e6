// What the API server fills in before a node sees a pod. A pod of the server has it already; one that comes from a file
// or a URL gets it here, so that everything after it reads the same fields.
#pragma once

#include "api/types.h"

namespace podwright::api {

// Sets what is unset and changes nothing else; twice is the same as once.
// Source: pkg/apis/core/v1/defaults.go, SetDefaults_Pod and what it calls.
void set_defaults(core::Pod& pod);

}  // namespace podwright::api
