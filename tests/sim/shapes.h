// What the pods of a schedule look like, and how their containers behave: drawn from the seed and from the container's
// own name and attempt, so that leaving out one operation does not change how all others go.
#pragma once

#include <set>
#include <string>

#include "base/time/time.h"
#include "cri/fake/scripts.h"
#include "cri/types.h"

namespace podwright::sim {

// An image that is there, and one that has to be pulled.
inline constexpr char kPresentImage[] = "registry.test/box:1";
inline constexpr char kPulledImage[] = "registry.test/pulled:1";

// A manifest of a drawn shape; another revision is another pod.
std::string draw_manifest(SeededRng& rng, const std::string& name, int revision);

// What changes how containers behave while a schedule runs.
struct Behaviour {
  uint64_t seed = 1;
  // Nothing ends badly or by itself any more.
  bool calm = false;
  // Pods whose readiness and liveness probes fail, by the name in the manifest.
  std::set<std::string> unready, dead;
};

cri::ContainerScript script_of(const Behaviour& behaviour, const cri::SandboxConfig& sandbox,
                               const cri::ContainerConfig& container);

}  // namespace podwright::sim
