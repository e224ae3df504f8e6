#include "agent/sync/probe_targets.h"

#include <charconv>

#include "base/status/annotate.h"

namespace podwright::sync {
namespace {

// Source: API defaulting of probes (pkg/apis/core/v1/defaults.go).
constexpr int32_t kTimeout = 1;
constexpr int32_t kPeriod = 10;
constexpr int32_t kSuccess = 1;
constexpr int32_t kFailure = 3;

int32_t or_default(int32_t value, int32_t fallback) {
  return value > 0 ? value : fallback;
}

// 0 where the name belongs to no port of the container: the probe then fails with a text that says so.
uint16_t port_number(const IntOrString& port, const core::Container& container) {
  if (port.type() == 0) return static_cast<uint16_t>(port.intval());
  for (const auto& one : container.ports()) {
    if (one.name() == port.strval()) return static_cast<uint16_t>(one.containerport());
  }
  uint16_t number = 0;
  const std::string& text = port.strval();
  std::from_chars(text.data(), text.data() + text.size(), number);
  return number;
}

// Only variables with a plain value count in a probe's command.
std::map<std::string, std::string> static_env(const core::Container& container) {
  std::map<std::string, std::string> env;
  for (const auto& variable : container.env()) {
    if (!variable.has_valuefrom()) env[variable.name()] = probes::expand(variable.value(), env);
  }
  return env;
}

probes::ExecAction exec_action(const core::ExecAction& exec, const core::Container& container, bool expands) {
  probes::ExecAction action;
  const auto env = expands ? static_env(container) : std::map<std::string, std::string>();
  for (const auto& part : exec.command()) action.command.push_back(expands ? probes::expand(part, env) : part);
  return action;
}

probes::HttpGetAction http_action(const core::HTTPGetAction& get, const core::Container& container) {
  probes::HttpGetAction action;
  action.https = get.scheme() == "HTTPS" || get.scheme() == "https";
  action.host = get.host();
  action.port = port_number(get.port(), container);
  action.path = get.path().empty() ? "/" : get.path().starts_with("/") ? get.path() : "/" + get.path();
  for (const auto& header : get.httpheaders()) action.headers.emplace_back(header.name(), header.value());
  return action;
}

std::optional<probes::ProbeAction> action_of(const core::Probe& probe, const core::Container& container) {
  const auto& handler = probe.handler();
  if (handler.has_exec()) return exec_action(handler.exec(), container, true);
  if (handler.has_httpget()) return http_action(handler.httpget(), container);
  if (handler.has_tcpsocket()) {
    return probes::TcpAction{handler.tcpsocket().host(), port_number(handler.tcpsocket().port(), container)};
  }
  if (handler.has_grpc()) {
    return probes::GrpcAction{static_cast<uint16_t>(handler.grpc().port()), handler.grpc().service()};
  }
  return std::nullopt;
}

void add(const core::Probe& probe, probes::ProbeKind kind, const core::Container& container,
         probes::ProbeSpecs& specs) {
  auto action = action_of(probe, container);
  if (!action) return;
  probes::ProbeSpec spec;
  spec.action = *std::move(action);
  spec.initial_delay = std::chrono::seconds(probe.initialdelayseconds());
  spec.timeout = std::chrono::seconds(or_default(probe.timeoutseconds(), kTimeout));
  spec.period = std::chrono::seconds(or_default(probe.periodseconds(), kPeriod));
  spec.thresholds.success = or_default(probe.successthreshold(), kSuccess);
  spec.thresholds.failure = or_default(probe.failurethreshold(), kFailure);
  if (probe.has_terminationgraceperiodseconds()) {
    spec.termination_grace = std::chrono::seconds(probe.terminationgraceperiodseconds());
  }
  specs[kind] = std::move(spec);
}

}  // namespace

probes::ProbeTarget probe_target(const PodContext& pod, const pods::ContainerRef& container, ContainerId id,
                                 const containers::NodeFacts& node) {
  probes::ProbeTarget target;
  target.uid = pod.uid;
  target.pod = pod.record.key;
  target.container = container.name;
  target.id = std::move(id);
  target.host_network = pod.pod->spec().hostnetwork();
  target.pod_ips = target.host_network ? node.host_ips : pod.record.pod_ips;
  return target;
}

probes::ProbeSpecs probe_specs(const pods::ContainerRef& container) {
  probes::ProbeSpecs specs;
  const auto& spec = *container.spec;
  if (spec.has_livenessprobe()) add(spec.livenessprobe(), probes::ProbeKind::kLiveness, spec, specs);
  if (spec.has_readinessprobe()) add(spec.readinessprobe(), probes::ProbeKind::kReadiness, spec, specs);
  if (spec.has_startupprobe()) add(spec.startupprobe(), probes::ProbeKind::kStartup, spec, specs);
  return specs;
}

absl::StatusOr<probes::HookAction> hook_action(const core::LifecycleHandler& handler,
                                               const pods::ContainerRef& container) {
  if (handler.has_exec()) return exec_action(handler.exec(), *container.spec, false);
  if (handler.has_httpget()) return http_action(handler.httpget(), *container.spec);
  if (handler.has_sleep()) return probes::SleepAction{std::chrono::seconds(handler.sleep().seconds())};
  if (handler.has_tcpsocket()) {
    return probes::TcpAction{handler.tcpsocket().host(), port_number(handler.tcpsocket().port(), *container.spec)};
  }
  return absl::InvalidArgumentError("lifecycle: the handler names neither exec, httpGet nor sleep");
}

}  // namespace podwright::sync
