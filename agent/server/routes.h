// What is served where. Every handler is registered with the verb and subresource that an authorizer is asked about and
// the listeners it is mounted on (security rule S5): Access has no default, so a route without it does not compile.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "base/http/message.h"

namespace podwright::server {

// Sets of listeners, as bits.
enum Listener : unsigned {
  kMain = 1,      // the TLS port, with authentication and authorization
  kReadOnly = 2,  // the read-only port: nobody is asked who they are
  kHealth = 4,    // 127.0.0.1:10248
  kLocal = 8,     // the root-only unix socket
};

enum class Verb { kGet, kCreate, kUpdate };
// Of the resource `nodes`, this node's name. kProxy is what everything else is.
enum class Subresource { kProxy, kPods, kHealthz, kConfigz, kStats, kMetrics, kLog };
std::string_view name_of(Verb verb);
std::string_view name_of(Subresource subresource);

class Access {
 public:
  constexpr Access(Verb verb, Subresource subresource, unsigned listeners)
      : verb_(verb), subresource_(subresource), listeners_(listeners) {}
  constexpr Verb verb() const { return verb_; }
  constexpr Subresource subresource() const { return subresource_; }
  constexpr bool on(Listener listener) const { return (listeners_ & listener) != 0; }

 private:
  Verb verb_;
  Subresource subresource_;
  unsigned listeners_;
};

using Handler = std::function<Co<HttpResponse>(HttpRequest)>;

struct Route {
  std::string method;   // "GET"
  std::string pattern;  // "/api/v1/namespaces/{ns}/pods/{name}"
  Access access;
  Handler handler;
};

}  // namespace podwright::server
