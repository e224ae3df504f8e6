// ApiServer: the port to the control plane, in the words of the API: objects, lists, watches. The real one speaks
// HTTP/2 (agent/kube/http_api_server.h), the simulated one keeps objects in memory (tests/fakes/api).
//
// What a code means here, beyond the agent's table of codes:
//   NotFound            no such object
//   AlreadyExists       create: the name is taken
//   Aborted             a conflict: the resourceVersion or UID is not the object's any more. Read again
//   OutOfRange          410: the resourceVersion or continue token is too old. List anew
//   PermissionDenied, Unauthenticated
//   InvalidArgument     the server refuses the request or the object
//   ResourceExhausted   429: too many requests, and the time to wait is over the deadline
//   Unavailable         no connection, or the server says that it cannot serve now
//   DeadlineExceeded, Unknown   of a call with an effect: the outcome is not known
#pragma once

#include <absl/status/status.h>
#include <absl/status/statusor.h>

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "agent/kube/resource.h"
#include "base/co/co.h"
#include "base/time/time.h"

namespace podwright::kube {

// Which objects of a kind.
struct Selection {
  std::string ns;              // empty: of all namespaces
  std::string label_selector;  // "a=b,c!=d"
  std::string field_selector;  // "spec.nodeName=n1"
  bool operator==(const Selection&) const = default;
};

struct ListOptions {
  Selection selection;
  // Empty: the newest. "0": whatever the server has at hand.
  std::string resource_version;
  int64_t limit = 0;  // 0: all
  std::string continue_token;
};

struct ListPage {
  std::string resource_version;
  std::string continue_token;  // empty: the last page
  std::vector<ObjectPtr> objects;
};

struct WatchOptions {
  Selection selection;
  // What comes after it. Empty: from now on.
  std::string resource_version;
  // A streaming list: all objects there are come first, as added, and then a bookmark says that they did.
  bool send_initial_events = false;
  // The server ends the watch after it; zero: as it likes.
  std::chrono::seconds timeout{0};
};

struct WatchEvent {
  enum class Type { kAdded, kModified, kDeleted, kBookmark };
  Type type = Type::kAdded;
  // Of a bookmark only the resourceVersion means something; of a deletion it is the last state.
  ObjectPtr object;
  // A bookmark: the initial events are over.
  bool initial_events_end = false;
};

class Watch {
 public:
  virtual ~Watch() = default;  // ends it
  // Nothing at the rightful end. OutOfRange: list anew; other errors: the watch is over as well. One reader.
  virtual Co<absl::StatusOr<std::optional<WatchEvent>>> next(Instant deadline) = 0;
};

enum class PatchKind { kStrategic, kMerge };

struct DeleteOptions {
  std::optional<std::chrono::seconds> grace;  // nothing: the object's own
  std::string uid;                            // where not empty, only that object
  std::string resource_version;
};

class ApiServer {
 public:
  virtual ~ApiServer() = default;

  virtual Co<absl::StatusOr<ObjectPtr>> get(const Resource& of, ObjectKey key, Instant deadline) = 0;
  virtual Co<absl::StatusOr<ListPage>> list(const Resource& of, ListOptions options, Instant deadline) = 0;
  // Returns once the server has taken the watch. InvalidArgument where it knows no streaming list.
  virtual Co<absl::StatusOr<std::unique_ptr<Watch>>> watch(const Resource& of, WatchOptions options,
                                                           Instant deadline) = 0;
  virtual Co<absl::StatusOr<ObjectPtr>> create(const Resource& of, ObjectPtr object, Instant deadline) = 0;
  // The object's resourceVersion, where it has one, must be the server's. `subresource`: empty or "status".
  virtual Co<absl::StatusOr<ObjectPtr>> update(const Resource& of, ObjectPtr object, std::string subresource,
                                               Instant deadline) = 0;
  // `patch` is JSON.
  virtual Co<absl::StatusOr<ObjectPtr>> patch(const Resource& of, ObjectKey key, PatchKind kind, std::string patch,
                                              std::string subresource, Instant deadline) = 0;
  // OK as soon as the server has accepted; a pod with grace is still there then.
  virtual Co<absl::Status> remove(const Resource& of, ObjectKey key, DeleteOptions options, Instant deadline) = 0;
  // POST of a message that asks rather than is stored (TokenRequest, TokenReview, SubjectAccessReview): `path` is
  // "/api/v1/namespaces/ns/serviceaccounts/x/token". The answer is of the same type.
  virtual Co<absl::StatusOr<ObjectPtr>> ask(std::string path, api::TypeMeta type, ObjectPtr question,
                                            Instant deadline) = 0;

  // Connections are closed, and what is in flight on them ends with Unavailable: for one that may be half dead.
  virtual void reconnect() = 0;
};

// Typed forms.
template <class T>
Co<absl::StatusOr<std::shared_ptr<const T>>> get(ApiServer& server, ObjectKey key, Instant deadline) {
  auto found = co_await server.get(resource_of<T>(), std::move(key), deadline);
  if (!found.ok()) co_return found.status();
  co_return as<T>(*found);
}

template <class T>
Co<absl::StatusOr<std::shared_ptr<const T>>> create(ApiServer& server, T object, Instant deadline) {
  ObjectPtr wanted = std::make_shared<const T>(std::move(object));
  auto made = co_await server.create(resource_of<T>(), std::move(wanted), deadline);
  if (!made.ok()) co_return made.status();
  co_return as<T>(*made);
}

template <class T>
Co<absl::StatusOr<std::shared_ptr<const T>>> update(ApiServer& server, T object, Instant deadline) {
  ObjectPtr wanted = std::make_shared<const T>(std::move(object));
  auto made = co_await server.update(resource_of<T>(), std::move(wanted), std::string(), deadline);
  if (!made.ok()) co_return made.status();
  co_return as<T>(*made);
}

template <class T>
Co<absl::StatusOr<std::shared_ptr<const T>>> patch_status(ApiServer& server, ObjectKey key, std::string patch,
                                                          Instant deadline) {
  auto made = co_await server.patch(resource_of<T>(), std::move(key), PatchKind::kStrategic, std::move(patch),
                                    std::string("status"), deadline);
  if (!made.ok()) co_return made.status();
  co_return as<T>(*made);
}

}  // namespace podwright::kube
