// Probes and hooks as plain values, and how they come out of a container's spec: defaults applied, port names looked
// up, static environment expanded in commands.
#pragma once

#include <absl/status/statusor.h>

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "api/ids.h"
#include "probes/probe_state.h"

namespace podwright::probes {

struct ExecAction {
  std::vector<std::string> command;
  bool operator==(const ExecAction&) const = default;
};

struct HttpGetAction {
  bool https = false;
  std::string host;  // empty: the pod
  uint16_t port = 0;
  std::string path = "/";  // with its query
  // As given; an empty User-Agent or Accept takes the default one away.
  std::vector<std::pair<std::string, std::string>> headers;
  bool operator==(const HttpGetAction&) const = default;
};

struct TcpAction {
  std::string host;  // empty: the pod
  uint16_t port = 0;
  bool operator==(const TcpAction&) const = default;
};

struct GrpcAction {
  uint16_t port = 0;
  std::string service;
  bool operator==(const GrpcAction&) const = default;
};

struct SleepAction {
  std::chrono::seconds time{0};
  bool operator==(const SleepAction&) const = default;
};

using ProbeAction = std::variant<ExecAction, HttpGetAction, TcpAction, GrpcAction>;
using HookAction = std::variant<ExecAction, HttpGetAction, TcpAction, SleepAction>;

struct ProbeSpec {
  ProbeAction action;
  std::chrono::seconds initial_delay{0};
  std::chrono::seconds timeout{1};
  std::chrono::seconds period{10};
  Thresholds thresholds;
  // The grace of a kill that this probe causes; nothing: the pod's.
  std::optional<std::chrono::seconds> termination_grace;
  bool operator==(const ProbeSpec&) const = default;
};

using ProbeSpecs = std::map<ProbeKind, ProbeSpec>;

// Whom a probe or a hook is about.
struct ProbeTarget {
  PodUid uid;
  PodKey pod;
  ContainerName container;
  ContainerId id;
  // The pod's addresses, primary first; those of the node where the pod uses the host's network.
  std::vector<std::string> pod_ips;
  bool host_network = false;
  bool operator==(const ProbeTarget&) const = default;
};

// Replaces $(NAME) by its value; $$ stands for $, an unknown name stays as it is. Source: third_party/forked/golang/
// expansion.
std::string expand(const std::string& text, const std::map<std::string, std::string>& env);

}  // namespace podwright::probes
