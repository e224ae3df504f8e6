// Pods for tests, from the YAML of their specs, and what a runtime was seen to have of one.
#pragma once

#include <doctest/doctest.h>

#include <string>
#include <string_view>
#include <utility>

#include "agent/pods/containers.h"
#include "agent/pods/record.h"
#include "api/codec.h"
#include "api/defaults.h"
#include "api/document.h"
#include "pleg/pod_runtime.h"

namespace podwright {

// A message from YAML.
template <class T>
T from_yaml(const std::string& yaml) {
  const auto document = api::parse_document(yaml);
  REQUIRE_MESSAGE(document.ok(), std::string(document.status().message()));
  T message;
  const absl::Status status = api::decode_or_error(*document, &message, {.strict = true}, nullptr);
  REQUIRE_MESSAGE(status.ok(), std::string(status.message()));
  return message;
}

// Pod default/web with UID "u1", defaulted as a source does it. `spec` and `metadata` are flow-style YAML.
inline pods::PodPtr a_pod(const std::string& spec, const std::string& metadata = "") {
  auto pod = std::make_shared<core::Pod>();
  *pod = from_yaml<core::Pod>("metadata: {name: web, namespace: default, uid: u1" +
                              (metadata.empty() ? "" : ", " + metadata) + "}\nspec: " + spec + "\n");
  api::set_defaults(*pod);
  return pod;
}

// What a runtime has of the pod. Each call adds something newer than what was there.
class Seen {
 public:
  Seen& sandbox(const std::string& id, cri::SandboxState state = cri::SandboxState::kReady, uint32_t attempt = 0,
                std::vector<std::string> ips = {"10.1.0.2"}) {
    cri::SandboxStatus status;
    status.id = SandboxId(id);
    status.uid = PodUid("u1");
    status.state = state;
    status.attempt = attempt;
    status.ips = std::move(ips);
    runtime_.sandboxes.insert(runtime_.sandboxes.begin(), std::move(status));
    return *this;
  }

  // A container of the newest sandbox, made from `image`.
  Seen& container(const std::string& name, cri::ContainerState state, const std::string& id, uint32_t attempt = 0,
                  const std::string& image = "i:1") {
    cri::ContainerStatus status;
    status.id = ContainerId(id);
    status.name = ContainerName(name);
    status.state = state;
    status.attempt = attempt;
    if (!runtime_.sandboxes.empty()) status.sandbox = runtime_.sandboxes.front().id;
    core::Container spec;
    spec.set_name(name);
    spec.set_image(image);
    status.annotations[cri::kHashAnnotation] = pods::container_hash(spec);
    runtime_.containers.insert(runtime_.containers.begin(), std::move(status));
    return *this;
  }
  Seen& created(const std::string& name, const std::string& id, uint32_t attempt = 0) {
    return container(name, cri::ContainerState::kCreated, id, attempt);
  }
  Seen& running(const std::string& name, const std::string& id, uint32_t attempt = 0,
                const std::string& image = "i:1") {
    return container(name, cri::ContainerState::kRunning, id, attempt, image);
  }
  Seen& exited(const std::string& name, const std::string& id, int32_t code = 0, uint32_t attempt = 0,
               const std::string& reason = "") {
    container(name, cri::ContainerState::kExited, id, attempt);
    newest().exit_code = code;
    newest().reason = !reason.empty() ? reason : code == 0 ? "Completed" : "Error";
    return *this;
  }

  // The container that was added last.
  cri::ContainerStatus& newest() { return runtime_.containers.front(); }
  pleg::PodRuntime& runtime() { return runtime_; }
  pleg::PodRuntimePtr ptr() const { return std::make_shared<const pleg::PodRuntime>(runtime_); }

 private:
  pleg::PodRuntime runtime_;
};

}  // namespace podwright
