#include <algorithm>

#include "api/amount.h"
#include "api/quantity.h"
#include "api/resources.h"
#include "api/validation_names.h"
#include "api/validation_parts.h"

namespace podwright::api {
namespace {

using ResourceMap = google::protobuf::Map<std::string, Quantity>;

constexpr __int128 kNanosPerUnit = 1'000'000'000;

bool is_huge_page(std::string_view resource) {
  return resource.starts_with("hugepages-");
}

bool is_standard(std::string_view resource) {
  return resource == "cpu" || resource == "memory" || resource == "ephemeral-storage" || is_huge_page(resource);
}

// What the node never gives to two at once.
bool is_exclusive(std::string_view resource) {
  return is_huge_page(resource) || resource.find('/') != std::string_view::npos;
}

__int128 nanos(const Quantity& quantity) {
  return nanos_of(quantity.string()).value_or(0);
}

void check_name(const std::string& resource, const Path& path, Report& report) {
  if (resource.empty()) return report.required(path);
  const Faults faults = qualified_name_faults(resource);
  report.faults(path, resource, faults);
  if (faults.empty() && resource.find('/') == std::string::npos && !is_standard(resource)) {
    report.invalid(path, resource, "must be a standard resource type or fully qualified");
  }
}

void check_huge_page(const std::string& resource, const Quantity& quantity, const Path& path, Report& report) {
  const std::string size = resource.substr(sizeof("hugepages-") - 1);
  const auto page = nanos_of(size);
  if (size.empty() || !page || *page <= 0) return report.invalid(path, resource, "must name the size of a page");
  if (nanos(quantity) % *page != 0) {
    report.invalid(path, quantity.string(), fmt::format("must be a positive integer multiple of {}", size));
  }
}

void check_amounts(const ResourceMap& amounts, const Path& path, Report& report) {
  for (const auto& [resource, quantity] : std::map<std::string, Quantity>(amounts.begin(), amounts.end())) {
    const Path here = path.at(resource);
    check_name(resource, here, report);
    if (!canonical_quantity(quantity.string()).ok()) {
      report.invalid(here, quantity.string(), "must be a quantity");
      continue;
    }
    if (nanos(quantity) < 0) report.invalid(here, quantity.string(), "must be greater than or equal to 0");
    if (is_huge_page(resource)) {
      check_huge_page(resource, quantity, here, report);
    } else if (!is_standard(resource) && nanos(quantity) % kNanosPerUnit != 0) {
      report.invalid(here, quantity.string(), "must be an integer");
    }
  }
}

void check_limit(const std::string& resource, const Quantity& request, const ResourceMap& limits, const Path& path,
                 Report& report) {
  const auto limit = limits.find(resource);
  if (limit == limits.end()) {
    if (is_exclusive(resource)) report.required(path, "Limit must be set for non overcommitable resources");
    return;
  }
  if (is_exclusive(resource) && nanos(request) != nanos(limit->second)) {
    report.invalid(path, request.string(),
                   fmt::format("must be equal to {} limit of {}", resource, limit->second.string()));
  } else if (nanos(request) > nanos(limit->second)) {
    report.invalid(path, request.string(),
                   fmt::format("must be less than or equal to {} limit of {}", resource, limit->second.string()));
  }
}

void check_requirements(const core::ResourceRequirements& resources, const Path& path, Report& report) {
  check_amounts(resources.limits(), path / "limits", report);
  check_amounts(resources.requests(), path / "requests", report);
  bool has_huge_pages = false;
  for (const auto& [resource, limit] : resources.limits()) has_huge_pages = has_huge_pages || is_huge_page(resource);
  const auto& requests = resources.requests();
  for (const auto& [resource, request] : std::map<std::string, Quantity>(requests.begin(), requests.end())) {
    has_huge_pages = has_huge_pages || is_huge_page(resource);
    check_limit(resource, request, resources.limits(), path / "requests", report);
  }
  const auto has = [&](const char* resource) {
    return resources.limits().contains(resource) || requests.contains(resource);
  };
  if (has_huge_pages && !has("cpu") && !has("memory")) report.forbidden(path, "HugePages require cpu or memory");
}

}  // namespace

void check_resources(const core::ResourceRequirements& resources, const std::set<std::string>& claims, const Path& path,
                     Report& report) {
  check_requirements(resources, path, report);
  std::set<std::string> used;
  for (int i = 0; i < resources.claims_size(); ++i) {
    const auto& claim = resources.claims(i);
    const Path here = (path / "claims")[i];
    const std::string key = claim.name() + (claim.request().empty() ? "" : "/" + claim.request());
    if (claim.name().empty()) {
      report.required(here / "name");
    } else if (!used.insert(key).second) {
      report.duplicate(here, key);
    } else if (!claims.contains(claim.name())) {
      report.not_found(here / "name", claim.name());
    }
  }
}

void check_pod_resources(const core::PodSpec& spec, const Path& spec_path, Report& report) {
  if (!spec.has_resources()) return;
  const Path path = spec_path / "resources";
  const auto& resources = spec.resources();
  if (resources.claims_size() > 0) {
    report.forbidden(path / "claims", "claims cannot be set for Resources at pod-level");
  }
  const auto check_supported = [&](const ResourceMap& amounts, const Path& where) {
    for (const auto& [resource, quantity] : std::map<std::string, Quantity>(amounts.begin(), amounts.end())) {
      if (resource == "cpu" || resource == "memory" || is_huge_page(resource)) continue;
      report.one_of(where.at(resource), resource, {"cpu", "hugepages-", "memory"});
    }
  };
  check_supported(resources.limits(), path / "limits");
  check_supported(resources.requests(), path / "requests");
  check_requirements(resources, path, report);

  core::Pod containers;
  *containers.mutable_spec()->mutable_containers() = spec.containers();
  *containers.mutable_spec()->mutable_initcontainers() = spec.initcontainers();
  for (const auto& [resource, amount] : effective_requests(containers)) {
    const auto request = resources.requests().find(resource);
    if (request == resources.requests().end()) continue;
    const bool is_cpu = resource == "cpu";
    if ((is_cpu ? milli_of(request->second) : units_of(request->second)) >= amount) continue;
    report.invalid((path / "requests").at(resource), request->second.string(),
                   fmt::format("must be greater than or equal to aggregate container requests of {}{}", amount,
                               is_cpu ? "m" : ""));
  }
  for (int i = 0; i < spec.containers_size(); ++i) {
    const auto& limits = spec.containers(i).resources().limits();
    for (const auto& [resource, limit] : std::map<std::string, Quantity>(limits.begin(), limits.end())) {
      const auto most = resources.limits().find(resource);
      if (most == resources.limits().end() || nanos(limit) <= nanos(most->second)) continue;
      report.invalid(((spec_path / "containers")[i] / "resources" / "limits").at(resource), limit.string(),
                     fmt::format("must be less than or equal to pod limits of {}", most->second.string()));
    }
  }
}

void check_resize_policy(const core::Container& container, const core::PodSpec& spec, const Path& path,
                         Report& report) {
  std::set<std::string> seen;
  for (int i = 0; i < container.resizepolicy_size(); ++i) {
    const auto& policy = container.resizepolicy(i);
    if (!seen.insert(policy.resourcename()).second) report.duplicate(path[i], policy.resourcename());
    report.one_of(path[i] / "resourceName", policy.resourcename(), {"cpu", "memory"});
    report.one_of(path[i] / "restartPolicy", policy.restartpolicy(), {"NotRequired", "RestartContainer"});
    if (spec.restartpolicy() == "Never" && policy.restartpolicy() == "RestartContainer") {
      report.invalid(path[i] / "restartPolicy", policy.restartpolicy(),
                     "must be 'NotRequired' when `restartPolicy` is 'Never'");
    }
  }
}

void check_resource_claims(const core::PodSpec& spec, const Path& spec_path, Report& report) {
  std::set<std::string> names;
  for (int i = 0; i < spec.resourceclaims_size(); ++i) {
    const auto& claim = spec.resourceclaims(i);
    const Path path = (spec_path / "resourceClaims")[i];
    report.name(path / "name", claim.name(), label_faults);
    if (!claim.name().empty() && !names.insert(claim.name()).second) report.duplicate(path / "name", claim.name());
    const bool has_name = claim.has_resourceclaimname();
    const bool has_template = claim.has_resourceclaimtemplatename();
    if (has_name && has_template) {
      report.invalid(path, claim.name(),
                     "at most one of `resourceClaimName` or `resourceClaimTemplateName` may be specified");
    } else if (!has_name && !has_template) {
      report.invalid(path, claim.name(), "must specify one of: `resourceClaimName`, `resourceClaimTemplateName`");
    }
    if (has_name) {
      report.faults(path / "resourceClaimName", claim.resourceclaimname(), subdomain_faults(claim.resourceclaimname()));
    }
    if (has_template) {
      report.faults(path / "resourceClaimTemplateName", claim.resourceclaimtemplatename(),
                    subdomain_faults(claim.resourceclaimtemplatename()));
    }
  }
}

}  // namespace podwright::api
