#include "api/resources.h"

#include <algorithm>
#include <cstdlib>
#include <limits>
#include <set>

#include "api/amount.h"

namespace podwright::api {
namespace {

using QuantityMap = google::protobuf::Map<std::string, Quantity>;

int64_t amount(const std::string& resource, const Quantity& quantity) {
  return resource == "cpu" ? milli_of(quantity) : units_of(quantity);
}

int64_t plus(int64_t a, int64_t b) {
  int64_t sum = 0;
  return __builtin_add_overflow(a, b, &sum) ? std::numeric_limits<int64_t>::max() : sum;
}

void add(Amounts& to, const Amounts& from) {
  for (const auto& [name, value] : from) to[name] = plus(to[name], value);
}

void raise(Amounts& to, const Amounts& from) {
  for (const auto& [name, value] : from) to[name] = std::max(to[name], value);
}

Amounts amounts_of(const QuantityMap& quantities) {
  Amounts amounts;
  for (const auto& [name, quantity] : quantities) amounts[name] = amount(name, quantity);
  return amounts;
}

bool is_sidecar(const core::Container& container) {
  return container.restartpolicy() == "Always";
}

template <class Of>
Amounts effective(const core::Pod& pod, Of of) {
  Amounts total;
  for (const auto& container : pod.spec().containers()) add(total, amounts_of(of(container)));
  Amounts sidecars;
  Amounts init_peak;
  for (const auto& container : pod.spec().initcontainers()) {
    Amounts own = amounts_of(of(container));
    if (is_sidecar(container)) {
      add(sidecars, own);
      raise(init_peak, sidecars);
    } else {
      add(own, sidecars);
      raise(init_peak, own);
    }
  }
  add(total, sidecars);
  raise(total, init_peak);
  return total;
}

bool counts_for_qos(const std::string& resource) {
  return resource == "cpu" || resource == "memory";
}

}  // namespace

std::string_view name_of(Qos qos) {
  switch (qos) {
    case Qos::kGuaranteed: return "Guaranteed";
    case Qos::kBurstable: return "Burstable";
    case Qos::kBestEffort: return "BestEffort";
  }
  std::abort();  // not one of the enumerators: memory is broken
}

Qos qos_of(const core::Pod& pod) {
  Amounts requests;
  Amounts limits;
  bool guaranteed = true;
  const auto count = [&](const QuantityMap& asked, const QuantityMap& allowed) {
    std::set<std::string> limited;
    for (const auto& [name, quantity] : asked) {
      if (counts_for_qos(name) && amount(name, quantity) > 0)
        requests[name] = plus(requests[name], amount(name, quantity));
    }
    for (const auto& [name, quantity] : allowed) {
      if (!counts_for_qos(name) || amount(name, quantity) <= 0) continue;
      limits[name] = plus(limits[name], amount(name, quantity));
      limited.insert(name);
    }
    if (limited.size() < 2) guaranteed = false;
  };
  const auto& spec = pod.spec();
  if (spec.has_resources() && (spec.resources().requests_size() > 0 || spec.resources().limits_size() > 0)) {
    count(spec.resources().requests(), spec.resources().limits());
  } else {
    for (const auto& container : spec.containers())
      count(container.resources().requests(), container.resources().limits());
    for (const auto& container : spec.initcontainers()) {
      count(container.resources().requests(), container.resources().limits());
    }
  }
  if (requests.empty() && limits.empty()) return Qos::kBestEffort;
  if (!guaranteed) return Qos::kBurstable;
  // A request left out counts as its limit.
  for (const auto& [name, limit] : limits) {
    const auto found = requests.find(name);
    if (found != requests.end() && found->second != limit) return Qos::kBurstable;
  }
  return Qos::kGuaranteed;
}

Amounts effective_requests(const core::Pod& pod) {
  Amounts total =
      effective(pod, [](const core::Container& c) -> const QuantityMap& { return c.resources().requests(); });
  for (const auto& [name, quantity] : pod.spec().resources().requests()) total[name] = amount(name, quantity);
  add(total, amounts_of(pod.spec().overhead()));
  return total;
}

Amounts effective_limits(const core::Pod& pod) {
  Amounts total = effective(pod, [](const core::Container& c) -> const QuantityMap& { return c.resources().limits(); });
  const auto& spec = pod.spec();
  std::erase_if(total, [&spec](const auto& entry) {
    const auto lacks = [&entry](const core::Container& c) { return !c.resources().limits().contains(entry.first); };
    return std::any_of(spec.containers().begin(), spec.containers().end(), lacks) ||
           std::any_of(spec.initcontainers().begin(), spec.initcontainers().end(),
                       [&lacks](const core::Container& c) { return lacks(c); });
  });
  for (const auto& [name, quantity] : spec.resources().limits()) total[name] = amount(name, quantity);
  const Amounts overhead = amounts_of(spec.overhead());
  for (auto& [name, value] : total) {
    const auto more = overhead.find(name);
    if (more != overhead.end()) value = plus(value, more->second);
  }
  return total;
}

int64_t request_of(const core::Container& container, const std::string& resource) {
  const auto found = container.resources().requests().find(resource);
  return found == container.resources().requests().end() ? 0 : amount(resource, found->second);
}

int64_t limit_of(const core::Container& container, const std::string& resource) {
  const auto found = container.resources().limits().find(resource);
  return found == container.resources().limits().end() ? 0 : amount(resource, found->second);
}

bool has_limit(const core::Container& container, const std::string& resource) {
  return container.resources().limits().contains(resource);
}

bool has_request(const core::Container& container, const std::string& resource) {
  return container.resources().requests().contains(resource);
}

}  // namespace podwright::api
