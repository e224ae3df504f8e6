#include <algorithm>

#include "agent/containers/config.h"
#include "agent/containers/resources.h"
#include "agent/containers/security.h"
#include "base/status/annotate.h"
#include "probes/spec.h"

namespace podwright::containers {
namespace {

bool mounts_path(const core::Container& container, const std::string& path) {
  return std::any_of(container.volumemounts().begin(), container.volumemounts().end(),
                     [&path](const auto& mount) { return mount.mountpath() == path; });
}

std::string json_string(const std::string& text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') out += '\\';
    if (static_cast<unsigned char>(c) < 0x20) {
      out += fmt::format("\\u{:04x}", static_cast<unsigned char>(c));
    } else {
      out += c;
    }
  }
  return out + "\"";
}

std::string ports_json(const core::Container& container) {
  std::string json = "[";
  for (const auto& port : container.ports()) {
    json += json.size() > 1 ? ",{" : "{";
    if (!port.name().empty()) json += fmt::format("\"name\":{},", json_string(port.name()));
    if (port.hostport() != 0) json += fmt::format("\"hostPort\":{},", port.hostport());
    json += fmt::format("\"containerPort\":{},\"protocol\":{}", port.containerport(), json_string(port.protocol()));
    if (!port.hostip().empty()) json += fmt::format(",\"hostIP\":{}", json_string(port.hostip()));
    json += "}";
  }
  return json + "]";
}

// The handler's JSON, so that an agent without the pod's spec can still run it.
std::string pre_stop_json(const core::LifecycleHandler& handler) {
  if (handler.has_exec()) {
    std::string commands;
    for (const auto& part : handler.exec().command()) commands += (commands.empty() ? "" : ",") + json_string(part);
    return fmt::format("{{\"exec\":{{\"command\":[{}]}}}}", commands);
  }
  if (handler.has_httpget()) {
    const auto& get = handler.httpget();
    const std::string port =
        get.port().type() == 1 ? json_string(get.port().strval()) : fmt::format("{}", get.port().intval());
    return fmt::format("{{\"httpGet\":{{\"path\":{},\"port\":{},\"host\":{},\"scheme\":{}}}}}", json_string(get.path()),
                       port, json_string(get.host()), json_string(get.scheme()));
  }
  if (handler.has_sleep()) return fmt::format("{{\"sleep\":{{\"seconds\":{}}}}}", handler.sleep().seconds());
  return "{}";
}

void set_labels(const ContainerInputs& in, cri::ContainerConfig& config) {
  const auto& pod = *in.pod;
  const auto& spec = *in.container.spec;
  config.labels[cri::kPodNameLabel] = pod.metadata().name();
  config.labels[cri::kPodNamespaceLabel] = pod.metadata().namespace_();
  config.labels[cri::kPodUidLabel] = pod.metadata().uid();
  config.labels[cri::kContainerNameLabel] = in.container.name.value;
  // What device plugins say comes first: the agent's own keys win.
  config.annotations = {in.device_annotations.begin(), in.device_annotations.end()};
  config.annotations[cri::kHashAnnotation] = pods::container_hash(spec);
  config.annotations[cri::kRestartCountAnnotation] = fmt::format("{}", in.restart_count);
  config.annotations[cri::kTerminationMessagePathAnnotation] = spec.terminationmessagepath();
  config.annotations[cri::kTerminationMessagePolicyAnnotation] = spec.terminationmessagepolicy();
  if (spec.lifecycle().has_prestop()) {
    config.annotations[cri::kPreStopHandlerAnnotation] = pre_stop_json(spec.lifecycle().prestop());
  }
  if (spec.ports_size() > 0) config.annotations[cri::kPortsAnnotation] = ports_json(spec);
  config.annotations[cri::kTerminationGraceAnnotation] = fmt::format("{}", pod.spec().terminationgraceperiodseconds());
  if (pod.metadata().has_deletiongraceperiodseconds()) {
    config.annotations[cri::kDeletionGraceAnnotation] = fmt::format("{}", pod.metadata().deletiongraceperiodseconds());
  }
}

void set_mounts(const ContainerInputs& in, const NodeFacts& node, cri::ContainerConfig& config) {
  const auto& spec = *in.container.spec;
  config.mounts = in.volume_mounts.mounts;
  if (in.userns_base) {
    // Files of a volume belong to the IDs that the pod sees (idmapped mounts, KEP-127).
    for (cri::Mount& mount : config.mounts) {
      mount.uid_mappings = mount.gid_mappings = {{*in.userns_base, 0, node.user_namespace_ids}};
    }
  }
  config.mounts.insert(config.mounts.end(), in.device_mounts.begin(), in.device_mounts.end());
  if (!in.hosts_path.empty() && !mounts_path(spec, "/etc/hosts")) {
    cri::Mount hosts;
    hosts.container_path = "/etc/hosts";
    hosts.host_path = in.hosts_path;
    hosts.selinux_relabel = true;
    config.mounts.push_back(std::move(hosts));
  }
  if (!in.termination_message_path.empty() && !spec.terminationmessagepath().empty()) {
    cri::Mount message;
    message.container_path = spec.terminationmessagepath();
    message.host_path = in.termination_message_path;
    message.selinux_relabel = true;
    config.mounts.push_back(std::move(message));
  }
  config.devices = in.volume_mounts.devices;
  config.devices.insert(config.devices.end(), in.devices.begin(), in.devices.end());
  config.cdi_devices = in.cdi_devices;
}

}  // namespace

absl::StatusOr<cri::ContainerConfig> make_container_config(const ContainerInputs& in, const NodeFacts& node) {
  const auto& spec = *in.container.spec;
  cri::ContainerConfig config;
  config.name = in.container.name;
  config.attempt = in.restart_count;
  config.image = in.image_ref;
  config.user_specified_image = spec.image();
  config.envs = in.env;
  const std::map<std::string, std::string> known(in.env.begin(), in.env.end());
  for (const auto& part : spec.command()) config.command.push_back(probes::expand(part, known));
  for (const auto& part : spec.args()) config.args.push_back(probes::expand(part, known));
  config.working_dir = spec.workingdir();
  config.log_path = container_log_path(in.container.name, in.restart_count);
  config.stdin = spec.stdin();
  config.stdin_once = spec.stdinonce();
  config.tty = spec.tty();
  if (spec.lifecycle().has_stopsignal()) config.stop_signal = spec.lifecycle().stopsignal();
  set_labels(in, config);
  set_mounts(in, node, config);
  config.resources = container_resources(*in.pod, spec, node);
  if (absl::Status s = set_container_security(in, node, config); !s.ok()) return s;
  for (const auto& mount : config.mounts) {
    if (mount.recursive_readonly) {
      const auto& handlers = node.runtime.handlers;
      const bool supported = std::any_of(handlers.begin(), handlers.end(),
                                         [](const auto& handler) { return handler.recursive_readonly_mounts; });
      if (!supported) {
        return make_status(absl::StatusCode::kFailedPrecondition,
                           "volumeMounts: the container runtime cannot make {} read-only recursively",
                           mount.container_path);
      }
    }
  }
  return config;
}

}  // namespace podwright::containers
