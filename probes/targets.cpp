#include "probes/targets.h"

#include <arpa/inet.h>
#include <netinet/in.h>

#include <algorithm>
#include <cstring>

#include "base/status/annotate.h"

namespace podwright::probes {

namespace {

struct Address {
  std::optional<uint32_t> v4;  // host order; of a v4-mapped one too
  in6_addr v6{};
};

std::optional<Address> parse_address(std::string_view text) {
  if (text.size() > 2 && text.front() == '[' && text.back() == ']') text = text.substr(1, text.size() - 2);
  const std::string plain(text.substr(0, text.find('%')));
  Address address;
  in_addr v4{};
  // inet_aton() takes "0xa9fea9fe" and "169.254.43518" too, as connecting by such a name would.
  if (inet_aton(plain.c_str(), &v4) != 0) {
    address.v4 = ntohl(v4.s_addr);
    return address;
  }
  if (inet_pton(AF_INET6, plain.c_str(), &address.v6) != 1) return std::nullopt;
  if (IN6_IS_ADDR_V4MAPPED(&address.v6) || IN6_IS_ADDR_V4COMPAT(&address.v6)) {
    uint32_t low = 0;
    std::memcpy(&low, address.v6.s6_addr + 12, sizeof low);
    address.v4 = ntohl(low);
  }
  return address;
}

bool is_loopback(const std::string& text) {
  const auto address = parse_address(text);
  if (!address) return false;
  if (address->v4) return (*address->v4 >> 24) == 127;
  return IN6_IS_ADDR_LOOPBACK(&address->v6);
}

bool same_address(const std::string& a, const std::string& b) {
  if (a == b) return true;
  const auto first = parse_address(a), second = parse_address(b);
  if (!first || !second || first->v4 != second->v4) return false;
  return first->v4 || std::memcmp(&first->v6, &second->v6, sizeof first->v6) == 0;
}

// Whether the address belongs to the pod: its own ones, and its loopback where that is the node's.
bool is_of(const ProbeTarget& target, const std::string& address) {
  if (target.host_network && is_loopback(address)) return true;
  return std::any_of(target.pod_ips.begin(), target.pod_ips.end(),
                     [&](const std::string& own) { return same_address(own, address); });
}

}  // namespace

std::optional<TargetPolicy> target_policy_from(std::string_view text) {
  if (text == "allow") return TargetPolicy::kAllow;
  if (text == "warn") return TargetPolicy::kWarn;
  if (text == "deny") return TargetPolicy::kDeny;
  return std::nullopt;
}

bool is_metadata_address(std::string_view text) {
  const auto address = parse_address(text);
  if (!address) return false;
  if (address->v4) return *address->v4 == 0xA9FEA9FE;  // 169.254.169.254
  static constexpr uint8_t kV6[16] = {0xfd, 0x00, 0x0e, 0xc2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0x02, 0x54};
  return std::memcmp(address->v6.s6_addr, kV6, sizeof kV6) == 0;
}

Co<absl::StatusOr<Targets::Resolved>> Targets::resolve(ProbeTarget target, std::string host, Instant deadline) {
  if (host.empty()) {
    if (target.pod_ips.empty()) co_return absl::NotFoundError("the pod has no address yet");
    co_return Resolved{{target.pod_ips.front()}, false};
  }
  if (host.size() > 2 && host.front() == '[' && host.back() == ']') host = host.substr(1, host.size() - 2);
  if (!target.host_network && is_metadata_address(host)) {
    ++counts_.metadata_refused;
    co_return make_status(absl::StatusCode::kPermissionDenied, "{} is the address of a metadata service", host);
  }
  auto addresses = co_await net_.resolve(host, deadline);
  if (!addresses.ok()) co_return addresses.status();
  // Looked at again, since a name may stand for anything; what is dialled is what was looked at.
  for (const std::string& address : *addresses) {
    if (target.host_network || !is_metadata_address(address)) continue;
    ++counts_.metadata_refused;
    co_return make_status(absl::StatusCode::kPermissionDenied, "{} leads to a metadata service", host);
  }
  Resolved resolved{*std::move(addresses), false};
  const bool own = std::all_of(resolved.addresses.begin(), resolved.addresses.end(),
                               [&](const std::string& address) { return is_of(target, address); });
  if (own) co_return resolved;
  if (policy_ == TargetPolicy::kDeny) {
    ++counts_.denied;
    co_return make_status(absl::StatusCode::kPermissionDenied, "{} is not the pod, and the node denies such targets",
                          host);
  }
  ++counts_.foreign;
  resolved.foreign = policy_ == TargetPolicy::kWarn;
  co_return resolved;
}

Co<absl::StatusOr<std::unique_ptr<Stream>>> Targets::dial(Resolved to, uint16_t port, Instant deadline) {
  absl::Status last = absl::NotFoundError("no address to dial");
  for (const std::string& address : to.addresses) {
    auto stream = co_await net_.dial(Endpoint::tcp(address, port), deadline);
    if (stream.ok() || absl::IsCancelled(stream.status())) co_return stream;
    last = stream.status();
  }
  co_return last;
}

}  // namespace podwright::probes
