// Small manifests for the simulation.
#pragma once

#include <fmt/format.h>

#include <string>

namespace podwright::sim {

// A pod with one container; `more` is added to the container, `spec` to the pod's spec (flow-style YAML members).
inline std::string one_container(const std::string& name, const std::string& spec = "", const std::string& more = "",
                                 const std::string& metadata = "") {
  return fmt::format(
      "apiVersion: v1\nkind: Pod\nmetadata: {{name: {}, namespace: t{}}}\nspec:\n  containers:\n"
      "  - {{name: c, image: \"registry.test/box:1\", imagePullPolicy: IfNotPresent, command: [sleep, "
      "\"3600\"]{}}}\n{}",
      name, metadata.empty() ? "" : ", " + metadata, more.empty() ? "" : ", " + more,
      spec.empty() ? "" : "  " + spec + "\n");
}

}  // namespace podwright::sim
