#include "api/amount.h"
#include "api/quantity.h"
#include "api/validation_names.h"
#include "api/validation_parts.h"

namespace podwright::api {
namespace {

void check_toleration(const core::Toleration& toleration, const Path& path, Report& report) {
  const std::string& match = toleration.operator_();
  if (!toleration.key().empty()) report.faults(path / "key", toleration.key(), qualified_name_faults(toleration.key()));
  if (toleration.key().empty() && match != "Exists") {
    report.invalid(path / "operator", match,
                   "operator must be Exists when `key` is empty, which means \"match all values and all keys\"");
  }
  if (toleration.has_tolerationseconds() && toleration.effect() != "NoExecute") {
    report.invalid(path / "effect", toleration.effect(), "effect must be 'NoExecute' when `tolerationSeconds` is set");
  }
  report.one_of(path / "operator", match, {"", "Equal", "Exists", "Gt", "Lt"});
  if (match.empty() || match == "Equal") {
    report.faults(path / "operator", toleration.value(), label_value_faults(toleration.value()));
  } else if (match == "Exists" && !toleration.value().empty()) {
    report.invalid(path / "operator", toleration.value(), "value must be empty when `operator` is 'Exists'");
  }
  report.one_of(path / "effect", toleration.effect(), {"", "NoSchedule", "PreferNoSchedule", "NoExecute"});
}

void check_requirement(const core::NodeSelectorRequirement& requirement, const Path& path, Report& report) {
  const std::string& match = requirement.operator_();
  const int values = requirement.values_size();
  if (match == "In" || match == "NotIn") {
    if (values == 0) report.required(path / "values", "must be specified when `operator` is 'In' or 'NotIn'");
  } else if (match == "Exists" || match == "DoesNotExist") {
    if (values > 0) {
      report.forbidden(path / "values", "may not be specified when `operator` is 'Exists' or 'DoesNotExist'");
    }
  } else if (match == "Gt" || match == "Lt") {
    if (values != 1) report.required(path / "values", "must be specified single value when `operator` is 'Lt' or 'Gt'");
  } else {
    report.invalid(path / "operator", match, "not a valid selector operator");
  }
  report.faults(path / "key", requirement.key(), qualified_name_faults(requirement.key()));
}

void check_node_affinity(const core::NodeSelector& selector, const Path& path, Report& report) {
  if (selector.nodeselectorterms_size() == 0) report.required(path, "must have at least one node selector term");
  for (int i = 0; i < selector.nodeselectorterms_size(); ++i) {
    const auto& term = selector.nodeselectorterms(i);
    for (int j = 0; j < term.matchexpressions_size(); ++j) {
      check_requirement(term.matchexpressions(j), (path[i] / "matchExpressions")[j], report);
    }
    for (int j = 0; j < term.matchfields_size(); ++j) {
      const auto& field = term.matchfields(j);
      const Path here = (path[i] / "matchFields")[j];
      if (field.key() != "metadata.name") report.invalid(here / "key", field.key(), "not a valid field selector key");
      if (field.operator_() != "In" && field.operator_() != "NotIn") {
        report.invalid(here / "operator", field.operator_(), "not a valid selector operator");
      } else if (field.values_size() != 1) {
        report.required(here / "values",
                        "must be only one value when `operator` is 'In' or 'NotIn' for node field selector");
      }
    }
  }
}

}  // namespace

void check_scheduling(const core::PodSpec& spec, const Path& path, Report& report) {
  check_labels(spec.nodeselector(), path / "nodeSelector", report);
  for (int i = 0; i < spec.tolerations_size(); ++i) {
    check_toleration(spec.tolerations(i), (path / "tolerations")[i], report);
  }
  const auto& affinity = spec.affinity().nodeaffinity();
  if (affinity.has_requiredduringschedulingignoredduringexecution()) {
    check_node_affinity(
        affinity.requiredduringschedulingignoredduringexecution(),
        path / "affinity" / "nodeAffinity" / "requiredDuringSchedulingIgnoredDuringExecution" / "nodeSelectorTerms",
        report);
  }
  for (int i = 0; i < spec.readinessgates_size(); ++i) {
    const std::string& type = spec.readinessgates(i).conditiontype();
    report.faults((path / "readinessGates")[i] / "conditionType", type, qualified_name_faults(type));
  }
  std::set<std::string> gates;
  for (int i = 0; i < spec.schedulinggates_size(); ++i) {
    const std::string& name = spec.schedulinggates(i).name();
    report.faults((path / "schedulingGates")[i], name, qualified_name_faults(name));
    if (!gates.insert(name).second) report.duplicate((path / "schedulingGates")[i], name);
  }
  if (spec.has_preemptionpolicy()) {
    report.one_of(path / "preemptionPolicy", spec.preemptionpolicy(), {"PreemptLowerPriority", "Never"});
  }
  for (const auto& [resource, quantity] :
       std::map<std::string, Quantity>(spec.overhead().begin(), spec.overhead().end())) {
    const Path here = (path / "overhead").at(resource);
    if (!canonical_quantity(quantity.string()).ok()) {
      report.invalid(here, quantity.string(), "must be a quantity");
    } else if (nanos_of(quantity.string()).value_or(0) < 0) {
      report.invalid(here, quantity.string(), "must be greater than or equal to 0");
    }
  }
}

}  // namespace podwright::api
