// Short names of the Kubernetes types.
#pragma once

#include "k8s/core/v1.pb.h"
#include "k8s/meta/v1.pb.h"

namespace podwright {

namespace core = k8s::io::api::core::v1;
namespace meta = k8s::io::apimachinery::pkg::apis::meta::v1;
using Quantity = k8s::io::apimachinery::pkg::api::resource::Quantity;
using IntOrString = k8s::io::apimachinery::pkg::util::intstr::IntOrString;

}  // namespace podwright
