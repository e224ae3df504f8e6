#include <algorithm>

#include "api/validation_names.h"
#include "api/validation_parts.h"

namespace podwright::api {
namespace {

void check_port(const IntOrString& port, const Path& path, Report& report) {
  if (port.type() == 0) {
    report.port(path, port.intval());
  } else {
    report.faults(path, port.strval(), port_name_faults(port.strval()));
  }
}

void check_http(const core::HTTPGetAction& http, const Path& path, Report& report) {
  if (http.path().empty()) report.required(path / "path");
  check_port(http.port(), path / "port", report);
  report.one_of(path / "scheme", http.scheme(), {"HTTP", "HTTPS"});
  for (int i = 0; i < http.httpheaders_size(); ++i) {
    const std::string& name = http.httpheaders(i).name();
    report.faults(path / "httpHeaders", name, header_name_faults(name));
  }
}

// The kinds of action that a probe and a hook share; tells how many of them are set.
template <class Handler>
int check_shared(const Handler& handler, const Path& path, Report& report) {
  if (handler.has_exec() && handler.exec().command().empty()) report.required(path / "exec" / "command");
  if (handler.has_httpget()) check_http(handler.httpget(), path / "httpGet", report);
  if (handler.has_tcpsocket()) check_port(handler.tcpsocket().port(), path / "tcpSocket" / "port", report);
  return (handler.has_exec() ? 1 : 0) + (handler.has_httpget() ? 1 : 0) + (handler.has_tcpsocket() ? 1 : 0);
}

void check_count(int kinds, std::string_view last, const Path& path, Report& report) {
  if (kinds == 0) report.required(path, "must specify a handler type");
  if (kinds > 1) report.forbidden(path / last, "may not specify more than 1 handler type");
}

void check_probe(const core::Probe& probe, const Path& path, Report& report) {
  const auto& handler = probe.handler();
  const int kinds = check_shared(handler, path, report) + (handler.has_grpc() ? 1 : 0);
  if (handler.has_grpc()) report.port(path / "grpc" / "port", handler.grpc().port());
  check_count(kinds, handler.has_grpc() ? "grpc" : handler.has_tcpsocket() ? "tcpSocket" : "httpGet", path, report);
  report.not_negative(path / "initialDelaySeconds", probe.initialdelayseconds());
  report.not_negative(path / "timeoutSeconds", probe.timeoutseconds());
  report.not_negative(path / "periodSeconds", probe.periodseconds());
  report.not_negative(path / "successThreshold", probe.successthreshold());
  report.not_negative(path / "failureThreshold", probe.failurethreshold());
  if (probe.has_terminationgraceperiodseconds() && probe.terminationgraceperiodseconds() <= 0) {
    report.invalid(path / "terminationGracePeriodSeconds", probe.terminationgraceperiodseconds(),
                   "must be greater than 0");
  }
}

// One success is all that a running container can show.
void check_stopping_probe(const core::Probe& probe, const Path& path, Report& report) {
  check_probe(probe, path, report);
  if (probe.successthreshold() != 1) report.invalid(path / "successThreshold", probe.successthreshold(), "must be 1");
}

void check_hook(const core::LifecycleHandler& hook, int64_t grace_seconds, const Path& path, Report& report) {
  const int kinds = check_shared(hook, path, report) + (hook.has_sleep() ? 1 : 0);
  check_count(kinds, hook.has_sleep() ? "sleep" : hook.has_tcpsocket() ? "tcpSocket" : "httpGet", path, report);
  if (!hook.has_sleep()) return;
  const int64_t seconds = hook.sleep().seconds();
  if (seconds < 0 || seconds > grace_seconds) {
    report.invalid(path / "sleep", seconds,
                   fmt::format("must be non-negative and less than terminationGracePeriodSeconds ({})", grace_seconds));
  }
}

}  // namespace

void check_probes(const core::Container& container, const PodScope& scope, const Path& path, Report& report) {
  if (container.has_livenessprobe()) check_stopping_probe(container.livenessprobe(), path / "livenessProbe", report);
  if (container.has_startupprobe()) check_stopping_probe(container.startupprobe(), path / "startupProbe", report);
  if (container.has_readinessprobe()) {
    const Path here = path / "readinessProbe";
    check_probe(container.readinessprobe(), here, report);
    if (container.readinessprobe().has_terminationgraceperiodseconds()) {
      report.invalid(here / "terminationGracePeriodSeconds", container.readinessprobe().terminationgraceperiodseconds(),
                     "must not be set for readinessProbes");
    }
  }
  if (!container.has_lifecycle()) return;
  const auto& lifecycle = container.lifecycle();
  const Path here = path / "lifecycle";
  const int64_t grace_seconds = scope.spec.terminationgraceperiodseconds();
  if (lifecycle.has_poststart()) check_hook(lifecycle.poststart(), grace_seconds, here / "postStart", report);
  if (lifecycle.has_prestop()) check_hook(lifecycle.prestop(), grace_seconds, here / "preStop", report);
  if (lifecycle.has_stopsignal() && !lifecycle.stopsignal().starts_with("SIG")) {
    report.invalid(here / "stopSignal", lifecycle.stopsignal(), "must be the name of a signal (e.g. 'SIGTERM')");
  }
}

}  // namespace podwright::api
