// Small configurations for tests that talk to a runtime directly.
#pragma once

#include "cri/types.h"

namespace podwright::cri {

inline SandboxConfig a_sandbox(const std::string& uid, uint32_t attempt = 0) {
  SandboxConfig config;
  config.pod = {"default", "pod-" + uid};
  config.uid = PodUid(uid);
  config.attempt = attempt;
  config.log_directory = "/var/log/pods/default_pod-" + uid + "_" + uid;
  config.labels = {{kPodNameLabel, config.pod.name}, {kPodNamespaceLabel, config.pod.ns}, {kPodUidLabel, uid}};
  return config;
}

inline ContainerConfig a_container(const SandboxConfig& sandbox, const std::string& name, uint32_t attempt = 0) {
  ContainerConfig config;
  config.name = ContainerName(name);
  config.attempt = attempt;
  config.labels = sandbox.labels;
  config.labels[kContainerNameLabel] = name;
  config.annotations[kRestartCountAnnotation] = std::to_string(attempt);
  config.log_path = name + "/" + std::to_string(attempt) + ".log";
  return config;
}

}  // namespace podwright::cri
