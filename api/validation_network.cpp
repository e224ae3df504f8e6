#include "api/validation_names.h"
#include "api/validation_parts.h"

namespace podwright::api {
namespace {

// Source: what libc's resolver takes.
constexpr int kMostNameservers = 3;
constexpr int kMostSearches = 32;
constexpr std::size_t kSearchesBytes = 2048;
// Source: sethostname(2).
constexpr std::size_t kHostnameBytes = 64;

void check_dns(const core::PodSpec& spec, const Path& path, Report& report) {
  const auto& dns = spec.dnsconfig();
  const Path nameservers = path / "nameservers";
  if (spec.dnspolicy() == "None" && !spec.has_dnsconfig()) {
    report.required(path, "must provide `dnsConfig` when `dnsPolicy` is None");
  } else if (spec.dnspolicy() == "None" && dns.nameservers_size() == 0) {
    report.required(nameservers, "must provide at least one DNS nameserver when `dnsPolicy` is None");
  }
  if (dns.nameservers_size() > kMostNameservers) {
    report.invalid(nameservers, dns.nameservers_size(),
                   fmt::format("must not have more than {} nameservers", kMostNameservers));
  }
  for (int i = 0; i < dns.nameservers_size(); ++i) {
    report.faults(nameservers[i], dns.nameservers(i), ip_faults(dns.nameservers(i)));
  }
  const Path searches = path / "searches";
  if (dns.searches_size() > kMostSearches) {
    report.invalid(searches, dns.searches_size(),
                   fmt::format("must not have more than {} search paths", kMostSearches));
  }
  std::size_t bytes = 0;
  for (int i = 0; i < dns.searches_size(); ++i) {
    std::string_view search = dns.searches(i);
    bytes += search.size() + (i == 0 ? 0 : 1);
    if (search == ".") continue;
    if (search.ends_with('.')) search.remove_suffix(1);
    report.faults(searches[i], dns.searches(i), search_domain_faults(search));
  }
  if (bytes > kSearchesBytes) {
    report.invalid(
        searches, static_cast<int64_t>(bytes),
        fmt::format("must not have more than {} characters (including spaces) in the search list", kSearchesBytes));
  }
  for (int i = 0; i < dns.options_size(); ++i) {
    if (dns.options(i).name().empty()) report.required((path / "options")[i], "must not be empty");
  }
}

void check_hostnames(const core::PodSpec& spec, const Path& path, Report& report) {
  if (!spec.hostname().empty()) report.faults(path / "hostname", spec.hostname(), label_faults(spec.hostname()));
  if (!spec.subdomain().empty()) report.faults(path / "subdomain", spec.subdomain(), label_faults(spec.subdomain()));
  if (!spec.has_hostnameoverride()) return;
  const Path field = path / "hostnameOverride";
  const std::string& name = spec.hostnameoverride();
  report.faults(field, name, subdomain_faults(name));
  if (name.size() > kHostnameBytes) report.too_long(field, kHostnameBytes);
  if (spec.hostnetwork()) report.forbidden(field, "may not be specified when `hostNetwork` is true");
  if (spec.sethostnameasfqdn()) report.forbidden(field, "may not be specified when `setHostnameAsFQDN` is true");
}

void check_host_aliases(const core::PodSpec& spec, const Path& path, Report& report) {
  for (int i = 0; i < spec.hostaliases_size(); ++i) {
    const auto& alias = spec.hostaliases(i);
    report.faults(path[i] / "ip", alias.ip(), ip_faults(alias.ip()));
    for (int j = 0; j < alias.hostnames_size(); ++j) {
      report.faults((path[i] / "hostnames")[j], alias.hostnames(j), subdomain_faults(alias.hostnames(j)));
    }
  }
}

void check_host_namespaces(const core::PodSpec& spec, const Path& path, Report& report) {
  if (spec.has_hostusers() && !spec.hostusers()) {
    constexpr std::string_view kWhy = "when `hostUsers` is false";
    if (spec.hostnetwork()) report.forbidden(path / "hostNetwork", kWhy);
    if (spec.hostpid()) report.forbidden(path / "hostPID", kWhy);
    if (spec.hostipc()) report.forbidden(path / "hostIPC", kWhy);
  }
  if (spec.shareprocessnamespace() && spec.hostpid()) {
    report.invalid(path / "shareProcessNamespace", "true", "shareProcessNamespace and hostPID cannot both be enabled");
  }
  if (!spec.hostnetwork()) return;
  const auto check = [&](const auto& containers, const Path& where) {
    for (int i = 0; i < containers.size(); ++i) {
      for (int j = 0; j < containers[i].ports_size(); ++j) {
        const auto& port = containers[i].ports(j);
        if (port.hostport() == port.containerport()) continue;
        report.invalid((where[i] / "ports")[j] / "hostPort", port.hostport(),
                       "must match `containerPort` when `hostNetwork` is true");
      }
    }
  };
  check(spec.containers(), path / "containers");
  check(spec.initcontainers(), path / "initContainers");
}

}  // namespace

void check_network(const core::PodSpec& spec, const Path& path, Report& report) {
  report.one_of(path / "dnsPolicy", spec.dnspolicy(), {"ClusterFirstWithHostNet", "ClusterFirst", "Default", "None"});
  check_dns(spec, path / "dnsConfig", report);
  check_hostnames(spec, path, report);
  check_host_aliases(spec, path / "hostAliases", report);
  check_host_namespaces(spec, path, report);
}

}  // namespace podwright::api
