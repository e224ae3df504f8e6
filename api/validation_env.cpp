#include <algorithm>
#include <cctype>

#include "api/amount.h"
#include "api/quantity.h"
#include "api/validation_names.h"
#include "api/validation_parts.h"

namespace podwright::api {
namespace {

constexpr std::string_view kVariableFields[] = {
    "metadata.name", "metadata.namespace", "metadata.uid", "spec.nodeName", "spec.serviceAccountName",
    "status.hostIP", "status.hostIPs",     "status.podIP", "status.podIPs"};
constexpr std::string_view kFileFields[] = {"metadata.annotations", "metadata.labels", "metadata.name",
                                            "metadata.namespace", "metadata.uid"};
constexpr std::string_view kResources[] = {"limits.cpu",   "limits.ephemeral-storage",   "limits.memory",
                                           "requests.cpu", "requests.ephemeral-storage", "requests.memory"};
constexpr std::string_view kByteDivisors = "1, 1k, 1M, 1G, 1T, 1P, 1E, 1Ki, 1Mi, 1Gi, 1Ti, 1Pi, 1Ei";

bool contains(std::string_view list, std::string_view item) {
  return (", " + std::string(list) + ",").find(" " + std::string(item) + ",") != std::string::npos;
}

void check_divisor(const core::ResourceFieldSelector& field, const Path& path, Report& report) {
  const std::string& text = field.divisor().string();
  if (text.empty()) return;
  const auto divisor = canonical_quantity(text);
  if (!divisor.ok()) return report.invalid(path / "divisor", text, "must be a quantity");
  if (*divisor == "0") return;
  const bool is_cpu = field.resource().ends_with(".cpu");
  const std::string_view supported = is_cpu ? "1m, 1" : kByteDivisors;
  if (contains(supported, *divisor)) return;
  const auto dot = field.resource().find('.');
  report.invalid(path / "divisor", field.resource(),
                 fmt::format("only divisor's values {} are supported with the {} resource", supported,
                             dot == std::string::npos ? field.resource() : field.resource().substr(dot + 1)));
}

void check_key_ref(const std::string& name, const std::string& key, const Path& path, Report& report) {
  report.name(path / "name", name, subdomain_faults);
  report.name(path / "key", key, config_key_faults);
}

void check_file_ref(const core::FileKeySelector& field, const PodScope& scope, const Path& path, Report& report) {
  report.name(path / "volumeName", field.volumename(), label_faults);
  const auto volume = scope.volumes.find(field.volumename());
  if (!field.volumename().empty() && volume == scope.volumes.end()) {
    report.not_found(path / "volumeName", field.volumename());
  } else if (volume != scope.volumes.end() && !volume->second->has_emptydir()) {
    report.invalid(path / "volumeName", field.volumename(), "must be an emptyDir volume");
  }
  report.name(path / "path", field.path(), file_path_faults);
  report.name(path / "key", field.key(), variable_faults);
}

void check_value_from(const core::EnvVar& variable, const PodScope& scope, const Path& path, Report& report) {
  const auto& from = variable.valuefrom();
  int kinds = 0;
  if (from.has_fieldref()) {
    ++kinds;
    check_field_ref(from.fieldref(), false, path / "fieldRef", report);
  }
  if (from.has_resourcefieldref()) {
    ++kinds;
    check_resource_ref(from.resourcefieldref(), false, path / "resourceFieldRef", report);
  }
  if (from.has_configmapkeyref()) {
    ++kinds;
    const auto& ref = from.configmapkeyref();
    check_key_ref(ref.localobjectreference().name(), ref.key(), path / "configMapKeyRef", report);
  }
  if (from.has_secretkeyref()) {
    ++kinds;
    const auto& ref = from.secretkeyref();
    check_key_ref(ref.localobjectreference().name(), ref.key(), path / "secretKeyRef", report);
  }
  if (from.has_filekeyref()) {
    ++kinds;
    check_file_ref(from.filekeyref(), scope, path / "fileKeyRef", report);
  }
  if (kinds == 0) {
    report.invalid(path, "",
                   "must specify one of: `fieldRef`, `resourceFieldRef`, `configMapKeyRef`, `secretKeyRef` or "
                   "`fileKeyRef`");
  } else if (!variable.value().empty()) {
    report.invalid(path, "", "may not be specified when `value` is not empty");
  } else if (kinds > 1) {
    report.invalid(path, "", "may not have more than one field specified at a time");
  }
}

void check_env_from(const core::EnvFromSource& source, const Path& path, Report& report) {
  if (!source.prefix().empty()) report.faults(path / "prefix", source.prefix(), variable_faults(source.prefix()));
  if (source.has_configmapref()) {
    report.name(path / "configMapRef" / "name", source.configmapref().localobjectreference().name(), subdomain_faults);
  }
  if (source.has_secretref()) {
    report.name(path / "secretRef" / "name", source.secretref().localobjectreference().name(), subdomain_faults);
  }
  if (!source.has_configmapref() && !source.has_secretref()) {
    report.invalid(path, "", "must specify one of: `configMapRef` or `secretRef`");
  } else if (source.has_configmapref() && source.has_secretref()) {
    report.invalid(path, "", "may not have more than one field specified at a time");
  }
}

}  // namespace

void check_field_ref(const core::ObjectFieldSelector& field, bool in_volume, const Path& path, Report& report) {
  if (field.apiversion().empty()) return report.required(path / "apiVersion");
  if (field.apiversion() != "v1") report.one_of(path / "apiVersion", field.apiversion(), {"v1"});
  if (field.fieldpath().empty()) return report.required(path / "fieldPath");
  const std::string& text = field.fieldpath();
  const auto bracket = text.find("['");
  if (bracket != std::string::npos && text.ends_with("']") && bracket + 4 <= text.size()) {
    const std::string name = text.substr(0, bracket);
    std::string key = text.substr(bracket + 2, text.size() - bracket - 4);
    if (name != "metadata.annotations" && name != "metadata.labels") {
      return report.invalid(path, name, "does not support subscript");
    }
    std::string checked = key;
    if (name == "metadata.annotations") {
      std::transform(checked.begin(), checked.end(), checked.begin(),
                     [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
    }
    return report.faults(path, key, qualified_name_faults(checked));
  }
  const std::vector<std::string_view> supported =
      in_volume ? std::vector<std::string_view>(std::begin(kFileFields), std::end(kFileFields))
                : std::vector<std::string_view>(std::begin(kVariableFields), std::end(kVariableFields));
  report.one_of(path / "fieldPath", text, supported);
}

void check_resource_ref(const core::ResourceFieldSelector& field, bool in_volume, const Path& path, Report& report) {
  if (in_volume && field.containername().empty()) report.required(path / "containerName");
  const std::string& resource = field.resource();
  if (!resource.starts_with("limits.hugepages-") && !resource.starts_with("requests.hugepages-")) {
    report.one_of(path / "resource", resource, {std::begin(kResources), std::end(kResources)});
  }
  check_divisor(field, path, report);
}

void check_env(const core::Container& container, const PodScope& scope, const Path& path, Report& report) {
  for (int i = 0; i < container.env_size(); ++i) {
    const auto& variable = container.env(i);
    const Path here = (path / "env")[i];
    report.name(here / "name", variable.name(), variable_faults);
    if (variable.has_valuefrom()) check_value_from(variable, scope, here / "valueFrom", report);
  }
  for (int i = 0; i < container.envfrom_size(); ++i) {
    check_env_from(container.envfrom(i), (path / "envFrom")[i], report);
  }
}

}  // namespace podwright::api
