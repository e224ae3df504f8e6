// Host names and the managed hosts file (behaviours 30).
#include <algorithm>

#include "agent/containers/config.h"
#include "base/status/annotate.h"

namespace podwright::containers {
namespace {

// Source: the kernel's limit of a host name (sethostname(2)), and the API's of a label.
constexpr std::size_t kHostNameBytes = 63;
constexpr std::size_t kFqdnBytes = 64;

std::string cut_hostname(std::string name) {
  if (name.size() > kHostNameBytes) {
    name.resize(kHostNameBytes);
    name.erase(name.find_last_not_of("-.") + 1);
  }
  return name;
}

}  // namespace

absl::StatusOr<HostName> hostname_of(const core::Pod& pod, const NodeFacts& node) {
  const auto& spec = pod.spec();
  HostName name;
  if (!spec.hostnameoverride().empty()) {
    name.host = spec.hostnameoverride();
    return name;
  }
  name.host = cut_hostname(spec.hostname().empty() ? pod.metadata().name() : spec.hostname());
  if (!spec.subdomain().empty()) {
    name.domain = fmt::format("{}.{}.svc.{}", spec.subdomain(), pod.metadata().namespace_(), node.cluster_domain);
  }
  if (spec.sethostnameasfqdn() && !name.domain.empty()) {
    const std::string full = name.host + "." + name.domain;
    if (full.size() > kFqdnBytes) {
      return make_status(absl::StatusCode::kInvalidArgument,
                         "failed to construct FQDN from pod hostname and cluster domain, FQDN {} is too long ({} "
                         "characters is the max, {} characters requested)",
                         full, kFqdnBytes, full.size());
    }
    name.host = full;
  }
  return name;
}

std::string make_hosts_file(const core::Pod& pod, const NodeFacts& node, const std::vector<std::string>& pod_ips,
                            const std::string& host_hosts_file) {
  std::string text;
  if (pod.spec().hostnetwork()) {
    text = "# Kubernetes-managed hosts file (host network).\n" + host_hosts_file;
    if (!text.ends_with('\n')) text += '\n';
  } else {
    text =
        "# Kubernetes-managed hosts file.\n"
        "127.0.0.1\tlocalhost\n"
        "::1\tlocalhost ip6-localhost ip6-loopback\n"
        "fe00::0\tip6-localnet\n"
        "fe00::0\tip6-mcastprefix\n"
        "fe00::1\tip6-allnodes\n"
        "fe00::2\tip6-allrouters\n";
    const auto name = hostname_of(pod, node);
    if (name.ok()) {
      std::string host = name->host;
      const bool has_domain = !name->domain.empty();
      if (has_domain && host.ends_with("." + name->domain)) host.resize(host.size() - name->domain.size() - 1);
      for (const auto& ip : pod_ips) {
        text += has_domain ? fmt::format("{}\t{}.{}\t{}\n", ip, host, name->domain, host)
                           : fmt::format("{}\t{}\n", ip, host);
      }
    }
  }
  if (pod.spec().hostaliases_size() > 0) {
    text += "\n# Entries added by HostAliases.\n";
    for (const auto& alias : pod.spec().hostaliases()) {
      text += alias.ip();
      for (const auto& host : alias.hostnames()) text += "\t" + host;
      text += "\n";
    }
  }
  return text;
}

}  // namespace podwright::containers
