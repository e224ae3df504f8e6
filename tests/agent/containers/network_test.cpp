#include <doctest/doctest.h>

#include "agent/containers/dns.h"
#include "tests/agent/containers/containers_world.h"

namespace podwright::containers {
namespace {

constexpr char kOne[] = "containers: [{name: a, image: 'i:1'}]";

pods::PodPtr with(const std::string& spec, const std::string& metadata = "") {
  return a_pod(std::string("{") + kOne + (spec.empty() ? "" : ", " + spec) + "}", metadata);
}

std::string text_of(const std::vector<std::string>& parts) {
  std::string text;
  for (const auto& part : parts) text += (text.empty() ? "" : " ") + part;
  return text;
}

struct Dns {
  cri::DnsConfig config;
  std::vector<std::pair<std::string, std::string>> warnings;
};
Dns dns(const std::string& spec, const NodeFacts& node = a_node()) {
  Dns made;
  made.config = dns_of(*with(spec), node, made.warnings);
  return made;
}

TEST_CASE("the DNS policies") {
  const auto cluster = dns("").config;
  CHECK(text_of(cluster.servers) == "10.96.0.10");
  CHECK(text_of(cluster.searches) == "default.svc.cluster.local svc.cluster.local cluster.local example.com");
  CHECK(text_of(cluster.options) == "ndots:5");
  CHECK(dns("hostNetwork: true, dnsPolicy: ClusterFirstWithHostNet").config == cluster);

  const auto host = dns("dnsPolicy: Default").config;
  CHECK(text_of(host.servers) == "192.0.2.53");
  CHECK(text_of(host.searches) == "example.com");
  CHECK(text_of(host.options) == "timeout:1");
  CHECK(dns("hostNetwork: true").config == host);
  CHECK(dns("hostNetwork: true").warnings.empty());

  const auto none = dns("dnsPolicy: None, dnsConfig: {nameservers: [9.9.9.9], searches: [x], options: [{name: a}]}");
  CHECK(none.config == cri::DnsConfig{{"9.9.9.9"}, {"x"}, {"a"}});
}

TEST_CASE("without a cluster DNS the host's is taken, with a warning") {
  NodeFacts node = a_node();
  node.cluster_dns.clear();
  const Dns made = dns("", node);
  CHECK(text_of(made.config.servers) == "192.0.2.53");
  REQUIRE(made.warnings.size() == 1);
  CHECK(made.warnings[0].first == "MissingClusterDNS");
}

TEST_CASE("dnsConfig is put on top: servers behind, options by their names, nothing twice") {
  const auto made = dns("dnsConfig: {nameservers: [10.96.0.10, 9.9.9.9], searches: [example.com, x.test],"
                        " options: [{name: ndots, value: '2'}, {name: edns0}]}")
                        .config;
  CHECK(text_of(made.servers) == "10.96.0.10 9.9.9.9");
  CHECK(text_of(made.searches) == "default.svc.cluster.local svc.cluster.local cluster.local example.com x.test");
  CHECK(text_of(made.options) == "ndots:2 edns0");
}

TEST_CASE("more than a resolver takes is left out, with a warning that says what is left") {
  const Dns servers = dns("dnsPolicy: None, dnsConfig: {nameservers: [1.1.1.1, 2.2.2.2, 3.3.3.3, 4.4.4.4]}");
  CHECK(text_of(servers.config.servers) == "1.1.1.1 2.2.2.2 3.3.3.3");
  REQUIRE(servers.warnings.size() == 1);
  CHECK(servers.warnings[0].first == "DNSConfigForming");
  CHECK(servers.warnings[0].second ==
        "Nameserver limits were exceeded, some nameservers have been omitted, the applied nameserver line is: "
        "1.1.1.1 2.2.2.2 3.3.3.3");

  std::string many;
  for (int i = 0; i < 33; ++i) many += fmt::format("{}s{}", i == 0 ? "" : ", ", i);
  const Dns searches = dns("dnsPolicy: None, dnsConfig: {nameservers: [1.1.1.1], searches: [" + many + "]}");
  CHECK(searches.config.searches.size() == 32);
  CHECK(searches.warnings.size() == 1);

  std::string longest;
  for (int i = 0; i < 11; ++i) longest += (i == 0 ? "" : ", ") + std::string(200, static_cast<char>('a' + i));
  const Dns chars = dns("dnsPolicy: None, dnsConfig: {nameservers: [1.1.1.1], searches: [" + longest + "]}");
  CHECK(chars.config.searches.size() == 10);
  CHECK(chars.warnings.size() == 1);
}

TEST_CASE("host names: the pod's, cut to what the kernel takes, or the one that is asked for") {
  const NodeFacts node = a_node();
  CHECK(hostname_of(*with(""), node)->host == "web");
  CHECK(hostname_of(*with("hostname: h, subdomain: s"), node)->host == "h");
  CHECK(hostname_of(*with("hostname: h, subdomain: s"), node)->domain == "s.default.svc.cluster.local");
  CHECK(hostname_of(*with("hostname: h, subdomain: s, setHostnameAsFQDN: true"), node)->host ==
        "h.s.default.svc.cluster.local");
  CHECK(hostname_of(*with("hostnameOverride: o.example"), node)->host == "o.example");

  core::Pod pod = *with("");
  pod.mutable_metadata()->set_name(std::string(61, 'x') + "-.y");
  CHECK(hostname_of(pod, node)->host == std::string(61, 'x'));
}

TEST_CASE("a full name that is too long for the kernel is an error") {
  core::Pod pod = *with("subdomain: s, setHostnameAsFQDN: true");
  pod.mutable_metadata()->set_name(std::string(40, 'x'));
  const auto name = hostname_of(pod, a_node());
  CHECK(!name.ok());
  CHECK(std::string(name.status().message()).find("is too long (64 characters is the max, 68 characters requested)") !=
        std::string::npos);
}

constexpr char kOwnHosts[] =
    "# Kubernetes-managed hosts file.\n127.0.0.1\tlocalhost\n::1\tlocalhost ip6-localhost ip6-loopback\n"
    "fe00::0\tip6-localnet\nfe00::0\tip6-mcastprefix\nfe00::1\tip6-allnodes\nfe00::2\tip6-allrouters\n";

TEST_CASE("the hosts file of a pod in its own network") {
  const NodeFacts node = a_node();
  CHECK(make_hosts_file(*with(""), node, {"10.1.0.2", "fd00::2"}, "") ==
        std::string(kOwnHosts) + "10.1.0.2\tweb\nfd00::2\tweb\n");
  const std::string line = "10.1.0.2\tweb.s.default.svc.cluster.local\tweb\n";
  CHECK(make_hosts_file(*with("subdomain: s"), node, {"10.1.0.2"}, "") == kOwnHosts + line);
  CHECK(make_hosts_file(*with("subdomain: s, setHostnameAsFQDN: true"), node, {"10.1.0.2"}, "") == kOwnHosts + line);
}

TEST_CASE("the hosts file in the host's network is the node's, and aliases come last") {
  CHECK(make_hosts_file(*with("hostNetwork: true, hostAliases: [{ip: 1.2.3.4, hostnames: [h1, h2]}]"), a_node(), {},
                        "127.0.0.1 me") ==
        "# Kubernetes-managed hosts file (host network).\n127.0.0.1 me\n\n# Entries added by HostAliases.\n"
        "1.2.3.4\th1\th2\n");
}

}  // namespace
}  // namespace podwright::containers
