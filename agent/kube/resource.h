// Resources: the kinds of objects of the API server that the agent deals with, their places in its paths, and what all
// objects have in common. Objects are protobuf messages; one that came from the server is never changed.
#pragma once

#include <google/protobuf/message.h>

#include <compare>
#include <memory>
#include <string>
#include <string_view>

#include "api/codec.h"
#include "api/types.h"
#include "k8s/coordination/v1.pb.h"

namespace podwright::kube {

using google::protobuf::Message;
using ObjectPtr = std::shared_ptr<const Message>;

// An object's name within its kind. `ns` is empty for objects without a namespace.
struct ObjectKey {
  std::string ns;
  std::string name;
  auto operator<=>(const ObjectKey&) const = default;
  // "ns/name", or the name alone.
  std::string text() const { return ns.empty() ? name : ns + "/" + name; }
};

// One kind of objects. The values live as long as the program; compare by address.
struct Resource {
  std::string group;  // empty: the core group
  std::string version;
  std::string plural;
  std::string kind;
  bool namespaced = true;
  const Message* object = nullptr;  // the default instances of an object and of a list
  const Message* list = nullptr;

  // "v1", "coordination.k8s.io/v1".
  std::string api_version() const { return group.empty() ? version : group + "/" + version; }
  api::TypeMeta type() const { return {api_version(), kind}; }
  // "leases.coordination.k8s.io", for people.
  std::string text() const { return group.empty() ? plural : plural + "." + group; }
};

// The Resource of a message type: Pod, Node, ConfigMap, Secret, Service, Event, ServiceAccount,
// PersistentVolume(Claim), Lease, RuntimeClass, CSIDriver, CSINode, VolumeAttachment,
// CertificateSigningRequest. Only these are defined; another type is an error of the linker.
template <class T>
const Resource& resource_of();

// The one with that name in paths, of any group and version that is known; null where there is none.
const Resource* find_resource(std::string_view group, std::string_view version, std::string_view plural);

// Of any object that has metadata; a message without aborts.
const meta::ObjectMeta& metadata_of(const Message& object);
meta::ObjectMeta* mutable_metadata_of(Message* object);
const meta::ListMeta& list_metadata_of(const Message& list);
ObjectKey key_of(const Message& object);

template <class T>
std::shared_ptr<const T> as(const ObjectPtr& object) {
  return std::static_pointer_cast<const T>(object);
}

// Bytes that are equal where the messages are, maps in order.
std::string canonical_bytes(const Message& message);

}  // namespace podwright::kube
