#include "api/validation.h"

#include <limits>

#include "api/validation_names.h"
#include "api/validation_parts.h"

namespace podwright::api {
namespace {

void check_lifetime(const core::PodSpec& spec, const Path& path, Report& report) {
  report.one_of(path / "restartPolicy", spec.restartpolicy(), {"Always", "OnFailure", "Never"});
  if (!spec.has_terminationgraceperiodseconds()) report.required(path / "terminationGracePeriodSeconds");
  report.not_negative(path / "terminationGracePeriodSeconds", spec.terminationgraceperiodseconds());
  if (spec.has_activedeadlineseconds() &&
      (spec.activedeadlineseconds() < 1 || spec.activedeadlineseconds() > std::numeric_limits<int32_t>::max())) {
    report.invalid(path / "activeDeadlineSeconds", spec.activedeadlineseconds(),
                   "must be between 1 and 2147483647, inclusive");
  }
}

void check_os(const core::PodSpec& spec, const Path& path, Report& report) {
  if (!spec.has_os()) return;
  report.one_of(path / "os" / "name", spec.os().name(), {"linux", "windows"});
  if (spec.os().name() != "linux") return;
  constexpr std::string_view kForbidden = "windows options cannot be set for a linux pod";
  if (spec.securitycontext().has_windowsoptions()) {
    report.forbidden(path / "securityContext" / "windowsOptions", kForbidden);
  }
  const auto check = [&](const auto& containers, std::string_view kind) {
    for (int i = 0; i < containers.size(); ++i) {
      if (!containers[i].securitycontext().has_windowsoptions()) continue;
      report.forbidden((path / kind)[i] / "securityContext" / "windowsOptions", kForbidden);
    }
  };
  check(spec.initcontainers(), "initContainers");
  check(spec.containers(), "containers");
}

void check_references(const core::PodSpec& spec, const Path& path, Report& report) {
  const auto check = [&](std::string_view field, const std::string& value) {
    if (!value.empty()) report.faults(path / field, value, subdomain_faults(value));
  };
  check("serviceAccountName", spec.serviceaccountname());
  check("nodeName", spec.nodename());
  check("priorityClassName", spec.priorityclassname());
  if (spec.has_runtimeclassname()) {
    report.faults(path / "runtimeClassName", spec.runtimeclassname(), subdomain_faults(spec.runtimeclassname()));
  }
}

}  // namespace

std::vector<FieldError> validate_pod(const core::Pod& pod) {
  Report report;
  const auto& spec = pod.spec();
  const Path path("spec");
  check_metadata(pod.metadata(), Path("metadata"), report);
  check_volumes(spec, path, report);
  check_resource_claims(spec, path, report);
  PodScope scope{spec, {}, {}};
  for (const auto& volume : spec.volumes()) scope.volumes.emplace(volume.name(), &volume.volumesource());
  for (const auto& claim : spec.resourceclaims()) scope.claims.insert(claim.name());
  check_containers(scope, path, report);
  check_pod_resources(spec, path, report);
  check_lifetime(spec, path, report);
  check_security(spec, path, report);
  check_network(spec, path, report);
  check_scheduling(spec, path, report);
  check_references(spec, path, report);
  check_os(spec, path, report);
  return report.take();
}

std::string join(const std::vector<FieldError>& errors) {
  std::string text;
  for (const auto& error : errors) text += (text.empty() ? "" : ", ") + error.field + ": " + error.text;
  return errors.size() > 1 ? "[" + text + "]" : text;
}

}  // namespace podwright::api
