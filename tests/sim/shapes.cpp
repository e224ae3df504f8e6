#include "tests/sim/shapes.h"

#include <chrono>

#include "tests/sim/manifests.h"

namespace podwright::sim {
namespace {

// FNV-1a: the same on every machine.
uint64_t mix(uint64_t hash, std::string_view text) {
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 1'099'511'628'211ULL;
  return hash;
}

std::string init(const std::string& name, const std::string& command, const std::string& more = "") {
  return fmt::format("  - {{name: {}, image: \"{}\", imagePullPolicy: IfNotPresent, command: [{}]{}}}\n", name,
                     kPresentImage, command, more.empty() ? "" : ", " + more);
}

// The probes and hooks of a pod, whose outcome Behaviour decides.
cri::ExecScript outcome(const Behaviour& behaviour, const std::string& pod, const std::string& command,
                        SeededRng& rng) {
  cri::ExecScript script;
  const std::string name = pod.substr(0, pod.find('-'));
  if (command == "ready" && behaviour.unready.contains(name)) script.exit_code = 1;
  if (command == "live" && behaviour.dead.contains(name)) script.exit_code = 1;
  if (command == "hook") {
    script.takes = std::chrono::milliseconds(rng.below(3000));
    if (!behaviour.calm && rng.below(6) == 0) script.exit_code = 1;
    if (!behaviour.calm && rng.below(12) == 0) script.takes = std::chrono::seconds(60);
  }
  return script;
}

}  // namespace

std::string draw_manifest(SeededRng& rng, const std::string& name, int revision) {
  const std::string metadata = fmt::format("annotations: {{rev: \"{}\"}}", revision);
  const std::string sidecar = init("s", "sidecar", "restartPolicy: Always");
  switch (rng.below(12)) {
    case 0: return one_container(name, "terminationGracePeriodSeconds: 5", "", metadata);
    case 1: return one_container(name, "restartPolicy: Never", "", metadata);
    case 2: return one_container(name, "restartPolicy: OnFailure", "", metadata);
    case 3: return one_container(name, "", "readinessProbe: {exec: {command: [ready]}, periodSeconds: 5}", metadata);
    case 4:
      return one_container(name, "initContainers:\n" + init("i", "init") + "  terminationGracePeriodSeconds: 10", "",
                           metadata);
    case 5:
      return one_container(name, "initContainers:\n" + sidecar + "  volumes: [{name: e, emptyDir: {}}]",
                           "volumeMounts: [{name: e, mountPath: /e}]", metadata);
    case 6:
      return one_container(name, "restartPolicy: Never\n  initContainers:\n" + init("i", "init") + sidecar, "",
                           metadata);
    case 7:
      return one_container(name,
                           "restartPolicy: OnFailure\n  initContainers:\n" + init("i", "init") + sidecar +
                               init("j", "init") + "  terminationGracePeriodSeconds: 3",
                           "", metadata);
    case 8:
      return one_container(name, "terminationGracePeriodSeconds: 4",
                           "livenessProbe: {exec: {command: [live]}, periodSeconds: 3}, "
                           "startupProbe: {exec: {command: [live]}, periodSeconds: 2}",
                           metadata);
    case 9:
      return one_container(name, "terminationGracePeriodSeconds: 8",
                           "lifecycle: {postStart: {exec: {command: [hook]}}, preStop: {exec: {command: [hook]}}}",
                           metadata);
    case 10:
      return fmt::format(
          "apiVersion: v1\nkind: Pod\nmetadata: {{name: {}, namespace: t, {}}}\nspec:\n"
          "  terminationGracePeriodSeconds: 6\n  containers:\n"
          "  - {{name: c, image: \"{}\", imagePullPolicy: IfNotPresent, command: [sleep]}}\n"
          "  - {{name: d, image: \"{}\", imagePullPolicy: IfNotPresent, command: [sleep]}}\n",
          name, metadata, kPresentImage, kPulledImage);
    default: return one_container(name, "hostNetwork: true\n  terminationGracePeriodSeconds: 1", "", metadata);
  }
}

cri::ContainerScript script_of(const Behaviour& behaviour, const cri::SandboxConfig& sandbox,
                               const cri::ContainerConfig& container) {
  uint64_t hash = mix(14'695'981'039'346'656'037ULL ^ behaviour.seed, sandbox.uid.value);
  hash = mix(hash, container.name.value);
  SeededRng rng(hash + container.attempt * 7919 + sandbox.attempt * 104'729);
  cri::ContainerScript script;
  const std::string command = container.command.empty() ? "" : container.command.front();
  const bool ends_badly = rng.below(4) == 0;
  const uint64_t kind = rng.below(6);
  if (command == "init") {
    script.run_for = std::chrono::seconds(1 + rng.below(5));
    if (ends_badly && !behaviour.calm) script.exit_code = 1;
  } else if (command != "sidecar") {
    if (kind == 0 && !behaviour.calm) {
      script.run_for = std::chrono::seconds(1 + rng.below(60));
      script.exit_code = static_cast<int32_t>(rng.below(3));
      script.oom = script.exit_code == 2 && rng.below(2) == 0;
      if (script.oom) script.exit_code = 137;
    } else if (kind == 1) {
      script.ignores_term = true;
    } else if (kind == 2) {
      script.term_takes = std::chrono::seconds(rng.below(8));
    } else if (kind == 3 && ends_badly && !behaviour.calm) {
      script.start_error = "exec: \"sleep\": executable file not found in $PATH";
    }
  }
  script.exec = [&behaviour, pod = sandbox.pod.name, rng](const std::vector<std::string>& words) mutable {
    return std::optional(outcome(behaviour, pod, words.empty() ? "" : words.front(), rng));
  };
  return script;
}

}  // namespace podwright::sim
