#include "agent/containers/dns.h"

#include <algorithm>
#include <set>

namespace podwright::containers {
namespace {

// Source: resolv.conf(5) of glibc, and the API's validation.
constexpr std::size_t kNameservers = 3;
constexpr std::size_t kSearches = 32;
constexpr std::size_t kSearchChars = 2048;

void append_unique(std::vector<std::string>& to, const std::string& value) {
  if (std::find(to.begin(), to.end(), value) == to.end()) to.push_back(value);
}

std::string joined(const std::vector<std::string>& parts) {
  std::string text;
  for (const auto& part : parts) text += (text.empty() ? "" : " ") + part;
  return text;
}

cri::DnsConfig of_host(const NodeFacts& node) {
  return {node.host_nameservers, node.host_searches, node.host_options};
}

// Options of the pod win over those of the policy by name: "ndots:2" over "ndots:5".
void merge_options(std::vector<std::string>& options, const core::PodDNSConfig& config) {
  for (const auto& option : config.options()) {
    const auto has_name = [&option](const std::string& text) {
      return text == option.name() || text.starts_with(option.name() + ":");
    };
    std::erase_if(options, has_name);
    options.push_back(option.value().empty() ? option.name() : option.name() + ":" + option.value());
  }
}

void enforce_limits(cri::DnsConfig& dns, std::vector<std::pair<std::string, std::string>>& warnings) {
  if (dns.servers.size() > kNameservers) {
    dns.servers.resize(kNameservers);
    warnings.emplace_back(
        "DNSConfigForming",
        fmt::format("Nameserver limits were exceeded, some nameservers have been omitted, the applied "
                    "nameserver line is: {}",
                    joined(dns.servers)));
  }
  bool cut = dns.searches.size() > kSearches;
  if (cut) dns.searches.resize(kSearches);
  while (joined(dns.searches).size() > kSearchChars) {
    dns.searches.pop_back();
    cut = true;
  }
  if (cut) {
    warnings.emplace_back("DNSConfigForming",
                          fmt::format("Search Line limits were exceeded, some search paths have been omitted, the "
                                      "applied search line is: {}",
                                      joined(dns.searches)));
  }
}

}  // namespace

cri::DnsConfig dns_of(const core::Pod& pod, const NodeFacts& node,
                      std::vector<std::pair<std::string, std::string>>& warnings) {
  const auto& spec = pod.spec();
  const bool wants_cluster =
      spec.dnspolicy() == "ClusterFirstWithHostNet" || (spec.dnspolicy() == "ClusterFirst" && !spec.hostnetwork());
  cri::DnsConfig dns;
  if (spec.dnspolicy() == "None") {
    // Only what dnsConfig says.
  } else if (wants_cluster && !node.cluster_dns.empty()) {
    dns.servers = node.cluster_dns;
    if (!node.cluster_domain.empty()) {
      dns.searches = {fmt::format("{}.svc.{}", pod.metadata().namespace_(), node.cluster_domain),
                      "svc." + node.cluster_domain, node.cluster_domain};
    }
    for (const auto& search : node.host_searches) append_unique(dns.searches, search);
    dns.options = {"ndots:5"};
  } else {
    if (wants_cluster) {
      warnings.emplace_back(
          "MissingClusterDNS",
          fmt::format("pod: \"{}_{}({})\". kubelet does not have ClusterDNS IP configured and cannot "
                      "create Pod using \"{}\" policy. Falling back to \"Default\" policy.",
                      pod.metadata().name(), pod.metadata().namespace_(), pod.metadata().uid(), spec.dnspolicy()));
    }
    dns = of_host(node);
  }
  if (spec.has_dnsconfig()) {
    for (const auto& server : spec.dnsconfig().nameservers()) append_unique(dns.servers, server);
    for (const auto& search : spec.dnsconfig().searches()) append_unique(dns.searches, search);
    merge_options(dns.options, spec.dnsconfig());
  }
  enforce_limits(dns, warnings);
  return dns;
}

}  // namespace podwright::containers
