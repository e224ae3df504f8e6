#include <algorithm>
#include <cctype>

#include "api/validation_names.h"
#include "api/validation_parts.h"

namespace podwright::api {
namespace {

constexpr int kMostRestartRules = 20;
constexpr int kMostExitCodes = 255;

using Names = std::set<std::string>;

void check_ports(const core::Container& container, const Path& path, Report& report) {
  Names names;
  for (int i = 0; i < container.ports_size(); ++i) {
    const auto& port = container.ports(i);
    if (!port.name().empty()) {
      const Faults faults = port_name_faults(port.name());
      report.faults(path[i] / "name", port.name(), faults);
      if (faults.empty() && !names.insert(port.name()).second) report.duplicate(path[i] / "name", port.name());
    }
    if (port.containerport() == 0) {
      report.required(path[i] / "containerPort");
    } else {
      report.port(path[i] / "containerPort", port.containerport());
    }
    if (port.hostport() != 0) report.port(path[i] / "hostPort", port.hostport());
    report.one_of(path[i] / "protocol", port.protocol(), {"SCTP", "TCP", "UDP"});
    if (!port.hostip().empty()) report.faults(path[i] / "hostIP", port.hostip(), ip_faults(port.hostip()));
  }
}

// Two containers that run at the same time cannot have one port of the node.
void check_host_ports(const core::Container& container, const Path& path, Names& taken, Report& report) {
  for (int i = 0; i < container.ports_size(); ++i) {
    const auto& port = container.ports(i);
    if (port.hostport() == 0) continue;
    const std::string key = fmt::format("{}/{}/{}", port.protocol(), port.hostip(), port.hostport());
    if (!taken.insert(key).second) report.duplicate((path / "ports")[i] / "hostPort", key);
  }
}

void check_restart(const core::Container& container, const Path& path, Report& report) {
  if (container.has_restartpolicy()) {
    report.one_of(path / "restartPolicy", container.restartpolicy(), {"Always", "OnFailure", "Never"});
  } else if (container.restartpolicyrules_size() > 0) {
    report.required(path / "restartPolicy", "must specify restartPolicy when restart rules are used");
  }
  const Path rules = path / "restartPolicyRules";
  if (container.restartpolicyrules_size() > kMostRestartRules) {
    report.too_many(rules, container.restartpolicyrules_size(), kMostRestartRules);
  }
  for (int i = 0; i < container.restartpolicyrules_size(); ++i) {
    const auto& rule = container.restartpolicyrules(i);
    report.one_of(rules[i] / "action", rule.action(), {"Restart", "RestartAllContainers"});
    const Path codes = rules[i] / "exitCodes";
    if (!rule.has_exitcodes()) {
      report.required(codes, "must be specified");
      continue;
    }
    report.one_of(codes / "operator", rule.exitcodes().operator_(), {"In", "NotIn"});
    if (rule.exitcodes().values_size() > kMostExitCodes) {
      report.too_many(codes / "values", rule.exitcodes().values_size(), kMostExitCodes);
    }
  }
}

void check_common(const core::Container& container, const PodScope& scope, const Path& path, Report& report) {
  report.name(path / "name", container.name(), label_faults);
  const std::string& image = container.image();
  if (image.empty()) {
    report.required(path / "image");
  } else if (std::isspace(static_cast<unsigned char>(image.front())) != 0 ||
             std::isspace(static_cast<unsigned char>(image.back())) != 0) {
    report.invalid(path / "image", image, "must not have leading or trailing whitespace");
  }
  report.one_of(path / "terminationMessagePolicy", container.terminationmessagepolicy(),
                {"File", "FallbackToLogsOnError"});
  report.one_of(path / "imagePullPolicy", container.imagepullpolicy(), {"Always", "IfNotPresent", "Never"});
  check_ports(container, path / "ports", report);
  check_env(container, scope, path, report);
  check_mounts(container, scope, path, report);
  check_resources(container.resources(), scope.claims, path / "resources", report);
  check_resize_policy(container, scope.spec, path / "resizePolicy", report);
  check_security(container, scope.spec, path, report);
}

void check_name_is_new(const std::string& name, const Path& path, Names& names, Report& report) {
  if (!name.empty() && !names.insert(name).second) report.duplicate(path / "name", name);
}

void check_regular(const PodScope& scope, const Path& path, Names& names, Report& report) {
  const auto& containers = scope.spec.containers();
  if (containers.empty()) report.required(path);
  Names ports;
  for (int i = 0; i < containers.size(); ++i) {
    check_common(containers[i], scope, path[i], report);
    check_name_is_new(containers[i].name(), path[i], names, report);
    check_probes(containers[i], scope, path[i], report);
    check_restart(containers[i], path[i], report);
    check_host_ports(containers[i], path[i], ports, report);
  }
}

void forbid_probes(const core::Container& container, std::string_view why, const Path& path, Report& report) {
  if (container.has_lifecycle()) report.forbidden(path / "lifecycle", why);
  if (container.has_livenessprobe()) report.forbidden(path / "livenessProbe", why);
  if (container.has_readinessprobe()) report.forbidden(path / "readinessProbe", why);
  if (container.has_startupprobe()) report.forbidden(path / "startupProbe", why);
}

void check_init(const PodScope& scope, const Path& path, Names& names, Report& report) {
  const auto& containers = scope.spec.initcontainers();
  for (int i = 0; i < containers.size(); ++i) {
    check_common(containers[i], scope, path[i], report);
    check_name_is_new(containers[i].name(), path[i], names, report);
    check_restart(containers[i], path[i], report);
    // They run one by one, so a port may come again in the next.
    Names ports;
    check_host_ports(containers[i], path[i], ports, report);
    if (containers[i].restartpolicy() == "Always") {
      check_probes(containers[i], scope, path[i], report);
    } else {
      forbid_probes(containers[i], "may not be set for init containers without restartPolicy=Always", path[i], report);
    }
  }
}

// It comes to look into a pod and is no part of its work, so nothing of the pod may depend on it.
void check_ephemeral_limits(const core::Container& container, const Path& path, Report& report) {
  constexpr std::string_view kWhy = "cannot be set for an Ephemeral Container";
  if (container.ports_size() > 0) report.forbidden(path / "ports", kWhy);
  if (container.resources().ByteSizeLong() > 0) report.forbidden(path / "resources", kWhy);
  if (container.resizepolicy_size() > 0) report.forbidden(path / "resizePolicy", kWhy);
  if (container.has_restartpolicy()) report.forbidden(path / "restartPolicy", kWhy);
  if (container.restartpolicyrules_size() > 0) report.forbidden(path / "restartPolicyRules", kWhy);
  forbid_probes(container, kWhy, path, report);
  for (int i = 0; i < container.volumemounts_size(); ++i) {
    const Path mount = (path / "volumeMounts")[i];
    if (!container.volumemounts(i).subpath().empty()) report.forbidden(mount / "subPath", kWhy);
    if (!container.volumemounts(i).subpathexpr().empty()) report.forbidden(mount / "subPathExpr", kWhy);
  }
}

void check_ephemeral(const PodScope& scope, const Path& path, Names names, Report& report) {
  const Names targets = names;
  const auto& containers = scope.spec.ephemeralcontainers();
  for (int i = 0; i < containers.size(); ++i) {
    // The common part has the fields of a Container, with the same numbers.
    core::Container container;
    if (!container.ParseFromString(containers[i].ephemeralcontainercommon().SerializeAsString())) {
      report.invalid(path[i], "", "cannot be read as a container");
      continue;
    }
    check_common(container, scope, path[i], report);
    check_name_is_new(container.name(), path[i], names, report);
    check_ephemeral_limits(container, path[i], report);
    const std::string& target = containers[i].targetcontainername();
    if (!target.empty() && !targets.contains(target)) report.not_found(path[i] / "targetContainerName", target);
  }
}

}  // namespace

void check_containers(const PodScope& scope, const Path& spec, Report& report) {
  Names names;
  check_regular(scope, spec / "containers", names, report);
  check_init(scope, spec / "initContainers", names, report);
  check_ephemeral(scope, spec / "ephemeralContainers", names, report);
}

}  // namespace podwright::api
